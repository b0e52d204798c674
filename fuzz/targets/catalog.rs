//! The catalogue's rows, under any bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_engine::fuzzing::catalog(data));
