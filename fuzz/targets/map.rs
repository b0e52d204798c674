//! Decodes arbitrary bytes as a map page of the data file.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_engine::fuzzing::map(data));
