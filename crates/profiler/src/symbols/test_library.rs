//! A small library for tests, compiled with the C++ compiler: a function with two others inlined into it, and
//! a plain one.

use super::elf_image::Image;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const SOURCE: &str = "
    namespace mine {
    __attribute__((always_inline)) inline int mix(int x) { return (x ^ (x >> 3)) * 77777; }
    __attribute__((always_inline)) inline int twice(int x) { return mix(x) + mix(x + 1); }
    }
    extern \"C\" int mine_plain(int x) { return x * 5 + 1; }
    extern \"C\" int mine_outer(int x) { return mine::twice(x) - 9; }
";

/// The library.
#[derive(Debug)]
pub(super) struct TestLibrary {
    pub path: PathBuf,
    /// Its code, by stated addresses, which equal its positions in the file.
    pub code: Range<u64>,
    /// Holds the library; removed when dropped.
    pub folder: TempDir,
}

/// Compiles it with debug information and additional compiler flags.
pub(super) fn library(flags: &[&str]) -> TestLibrary {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("mine.cpp");
    fs::write(&source, SOURCE).unwrap();
    let path = folder.path().join("libmine.so");
    let mut command = Command::new("c++");
    command.args(["-shared", "-fPIC", "-O1", "-g", "-Wl,--build-id=sha1"]);
    run(command.args(flags).arg("-o").arg(&path).arg(&source));
    let image = Image::read(&*fs::read(&path).unwrap()).unwrap();
    let code = image.text.clone().unwrap();
    assert_eq!(image.stated(code.start), Some(code.start));
    TestLibrary { path, code, folder }
}

/// A copy of a file by `objcopy`.
pub(super) fn copied(made: &TestLibrary, flag: &str) -> PathBuf {
    let path = made.folder.path().join(Path::new(&flag[2..]));
    run(Command::new("objcopy").arg(flag).arg(&made.path).arg(&path));
    path
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}
