//! Decodes arbitrary bytes as rows of the catalogue.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_engine::fuzzing::catalog(data));
