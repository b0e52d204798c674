//! Decodes arbitrary bytes as a patch with the row to which it is applied.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_engine::fuzzing::patch(data));
