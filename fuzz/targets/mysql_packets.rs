//! Packets of MySQL and MariaDB, under any bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_stores::fuzzing::mysql_packets(data));
