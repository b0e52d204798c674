//! Decodes arbitrary bytes as a page: a leaf, an inner node, an overflow page.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_engine::fuzzing::page(data));
