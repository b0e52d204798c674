//! Decodes arbitrary bytes as the tree directory in a checkpoint.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| syncline_engine::fuzzing::tree_directory(data));
