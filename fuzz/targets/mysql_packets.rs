//! Decodes arbitrary bytes as packets of MySQL and MariaDB.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_stores::fuzzing::mysql_packets(data));
