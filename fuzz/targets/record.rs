//! Decodes arbitrary bytes as a transaction's log record.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_engine::fuzzing::record(data));
