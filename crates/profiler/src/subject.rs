//! Whose time is looked at.

use super::metric_set::MetricSet;
use super::symbols::Symbols;
use std::fs;
use syncline_host::Process;

/// What runs the store's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// The processor alone.
    Native,
    /// A Java virtual machine.
    Jvm,
}

/// The store's process, as far as a collector must know it.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Which process, with its threads and children.
    pub process: Process,
    /// What runs its code.
    pub runtime: Runtime,
    /// What collectors that were opened before take of it.
    pub(crate) taken: MetricSet,
    /// What was read of its files, by whichever collector.
    pub(crate) symbols: Symbols,
}

impl Subject {
    /// Looks what a process is.
    pub fn of(process: Process) -> Subject {
        let maps = format!("/proc/{}/maps", pid(process));
        let is_jvm = fs::read_to_string(maps).is_ok_and(|maps| maps.contains("/libjvm.so"));
        Subject {
            process,
            runtime: if is_jvm { Runtime::Jvm } else { Runtime::Native },
            taken: MetricSet::default(),
            symbols: Symbols::new(),
        }
    }

    /// The number of its first process.
    pub fn pid(&self) -> u32 {
        pid(self.process)
    }
}

fn pid(process: Process) -> u32 {
    match process {
        Process::Ours => std::process::id(),
        Process::Other(pid) => pid,
    }
}

#[cfg(test)]
mod tests {
    use super::{Runtime, Subject};
    use syncline_host::Process;

    #[test]
    fn this_test_is_no_java_virtual_machine() {
        let subject = Subject::of(Process::Ours);
        assert_eq!(subject.runtime, Runtime::Native);
        assert_eq!(subject.pid(), std::process::id());
    }
}
