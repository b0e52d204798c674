//! Decodes arbitrary bytes as answers of etcd's gateway: HTTP and JSON.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_stores::fuzzing::etcd_answers(data));
