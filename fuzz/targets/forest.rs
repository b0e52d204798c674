//! The list of trees that a checkpoint carries, under any bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_engine::fuzzing::forest(data));
