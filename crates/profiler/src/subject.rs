//! The process that is profiled.

use super::metric_set::MetricSet;
use super::symbols::Symbols;
use std::fs;
use syncline_host::Process;

/// The runtime of the store's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// None: machine code.
    Native,
    /// A Java virtual machine.
    Jvm,
}

/// The store's process, as collectors need to know it.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The process, with its threads and children.
    pub process: Process,
    /// Its runtime.
    pub runtime: Runtime,
    /// The metrics owned by collectors that are already open.
    pub(crate) covered: MetricSet,
    /// The symbols read from its files, shared by the collectors.
    pub(crate) symbols: Symbols,
}

impl Subject {
    /// Determines the runtime of a process.
    pub fn of(process: Process) -> Subject {
        let maps = format!("/proc/{}/maps", pid(process));
        let is_jvm = fs::read_to_string(maps).is_ok_and(|maps| maps.contains("/libjvm.so"));
        Subject {
            process,
            runtime: if is_jvm { Runtime::Jvm } else { Runtime::Native },
            covered: MetricSet::default(),
            symbols: Symbols::new(),
        }
    }

    /// The number of its root process.
    pub fn pid(&self) -> u32 {
        pid(self.process)
    }
}

fn pid(process: Process) -> u32 {
    match process {
        Process::Own => std::process::id(),
        Process::Other(pid) => pid,
    }
}

#[cfg(test)]
mod tests {
    use super::{Runtime, Subject};
    use syncline_host::Process;

    #[test]
    fn this_test_is_not_a_java_virtual_machine() {
        let subject = Subject::of(Process::Own);
        assert_eq!(subject.runtime, Runtime::Native);
        assert_eq!(subject.pid(), std::process::id());
    }
}
