//! Messages of PostgreSQL, under any bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_stores::fuzzing::postgres_messages(data));
