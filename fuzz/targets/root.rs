//! Decodes arbitrary bytes as a root of the data file.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_engine::fuzzing::root(data));
