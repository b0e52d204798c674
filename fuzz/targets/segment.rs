//! Decodes arbitrary bytes as a segment's header.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_engine::fuzzing::segment(data));
