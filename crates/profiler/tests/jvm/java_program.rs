//! A Java program that does a known amount of work.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// The program, ended when it is dropped.
pub(crate) struct JavaProgram {
    process: Child,
    says: BufReader<ChildStdout>,
    _classes: TempDir,
}

/// The work it has done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) bytes: u64,
    pub(crate) objects: u64,
    pub(crate) waits: u64,
    pub(crate) waited_ns: u64,
    pub(crate) sleeps: u64,
}

impl JavaProgram {
    /// Compiles and starts it, and waits until it works.
    pub(crate) fn start(options: &[&str]) -> JavaProgram {
        let classes = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jvm/Known.java");
        let compiled = Command::new("javac")
            .arg("-d")
            .arg(classes.path())
            .arg(source)
            .status()
            .expect("javac is required: apt-get install default-jdk-headless");
        assert!(compiled.success());
        let mut process = Command::new("java")
            .args(options)
            .arg("-cp")
            .arg(classes.path())
            .arg("Known")
            .current_dir(classes.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let says = BufReader::new(process.stdout.take().unwrap());
        let mut known = JavaProgram { process, says, _classes: classes };
        known.after_waits(20);
        known
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Its work so far, after it has waited for its monitor `waits` more times, 20 ms each.
    pub(crate) fn after_waits(&mut self, waits: u64) -> Done {
        let stdin = self.process.stdin.as_mut().unwrap();
        writeln!(stdin, "{waits}").unwrap();
        let mut line = String::new();
        self.says.read_line(&mut line).unwrap();
        let numbers: Vec<u64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let [bytes, objects, waits, waited_ns, sleeps] = numbers[..] else {
            panic!("the program says {line:?}");
        };
        Done { bytes, objects, waits, waited_ns, sleeps }
    }
}

impl Done {
    pub(crate) fn since(self, before: Done) -> Done {
        Done {
            bytes: self.bytes - before.bytes,
            objects: self.objects - before.objects,
            waits: self.waits - before.waits,
            waited_ns: self.waited_ns - before.waited_ns,
            sleeps: self.sleeps - before.sleeps,
        }
    }
}

impl Drop for JavaProgram {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        self.process.wait().unwrap();
    }
}
