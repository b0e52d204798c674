//! Decodes arbitrary bytes as a frame of the log.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_engine::fuzzing::frame(data));
