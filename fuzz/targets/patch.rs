//! A patch and the row that it is applied to, under any bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_engine::fuzzing::patch(data));
