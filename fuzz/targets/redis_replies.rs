//! Replies of Redis, under any bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_stores::fuzzing::redis_replies(data));
