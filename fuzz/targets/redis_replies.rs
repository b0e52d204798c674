//! Decodes arbitrary bytes as replies of Redis.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_stores::fuzzing::redis_replies(data));
