//! The parent's side: starts children with a cleared environment, sends them tasks, waits up to a limit, and
//! kills them.

use super::child_protocol::{Answer, Task};
use crate::error::{Error, Result, doing};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;
use syncline_launcher::child_process;

/// How to start a process that calls [`child`](super::child).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildProgram {
    /// The path of this program.
    pub path: PathBuf,
    /// The arguments that make it a child.
    pub arguments: Vec<OsString>,
}

/// A child that waits for tasks. Dropping it kills it.
#[derive(Debug)]
pub(super) struct ChildProcess {
    process: Child,
    input: ChildStdin,
    answers: Receiver<Answer>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ChildFailure {
    /// The time limit has passed.
    Hangs,
    /// The process ended; the text says how.
    Ended(String),
}

impl ChildProgram {
    /// This program, run as a child by one argument.
    pub fn this(argument: &str) -> Result<ChildProgram> {
        let path = std::env::current_exe();
        Ok(ChildProgram {
            path: path.map_err(doing("find", std::path::Path::new("this program")))?,
            arguments: vec![argument.into()],
        })
    }

    /// The same program with additional environment variables.
    pub(super) fn under(&self, variables: &[(&str, &str)]) -> ChildProgram {
        if variables.is_empty() {
            return self.clone();
        }
        let pairs = variables.iter().map(|(name, value)| format!("{name}={value}").into());
        let mut arguments: Vec<OsString> = pairs.collect();
        arguments.push(self.path.clone().into());
        arguments.extend(self.arguments.iter().cloned());
        ChildProgram { path: "/usr/bin/env".into(), arguments }
    }

    pub(super) fn start(&self) -> Result<ChildProcess> {
        let started = child_process::command(&self.path)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Messages of a store whose disk fails are not part of our output.
            .stderr(Stdio::null())
            .spawn();
        let mut process = started.map_err(doing("start", &self.path))?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(Error::cannot("a child process has no pipes"));
        };
        let (sender, answers) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let answer = line.ok().and_then(|line| serde_json::from_str(&line).ok());
                let Some(answer) = answer else { break };
                if sender.send(answer).is_err() {
                    break;
                }
            }
        });
        Ok(ChildProcess { process, input, answers })
    }
}

impl ChildProcess {
    /// Sends a task.
    pub(super) fn send(&mut self, task: &Task) {
        let mut line = serde_json::to_vec(task).unwrap_or_default();
        line.push(b'\n');
        // If the child has ended, the next `answer` reports it.
        drop(self.input.write_all(&line).and_then(|()| self.input.flush()));
    }

    /// Waits for the next answer.
    pub(super) fn answer(&mut self, limit: Duration) -> std::result::Result<Answer, ChildFailure> {
        match self.answers.recv_timeout(limit) {
            Ok(answer) => Ok(answer),
            Err(RecvTimeoutError::Timeout) => Err(ChildFailure::Hangs),
            Err(RecvTimeoutError::Disconnected) => Err(ChildFailure::Ended(self.ending())),
        }
    }

    /// Kills the process, as `kill -9` does, and waits for its end.
    pub(super) fn kill(&mut self) -> Result<()> {
        let path = PathBuf::from("the child process");
        self.process.kill().map_err(doing("kill", &path))?;
        self.process.wait().map_err(doing("wait for", &path))?;
        Ok(())
    }

    fn ending(&mut self) -> String {
        match self.process.wait() {
            Ok(status) => format!("the process ended with {status}"),
            Err(error) => format!("the process is gone: {error}"),
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // Killing fails if the process has already ended, which is fine.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
