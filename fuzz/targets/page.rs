//! A page: a leaf, an inner node, an overflow page, under any bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_engine::fuzzing::page(data));
