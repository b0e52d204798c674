//! A transaction's log record, under any bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_engine::fuzzing::record(data));
