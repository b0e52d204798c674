//! Decodes arbitrary bytes as messages of PostgreSQL.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_stores::fuzzing::postgres_messages(data));
