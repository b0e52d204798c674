//! Recovers a log whose files were changed by arbitrary bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_engine::fuzzing::recovery(data));
