//! Decodes arbitrary bytes as a row with its key.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_engine::fuzzing::row(data));
