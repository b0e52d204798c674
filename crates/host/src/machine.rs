//! Facts about the machine that every measurement depends on.

use crate::files::{read_line, read_text};
use std::path::Path;

/// A machine's facts; a field is none if the kernel does not report it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Processors that this program may run on, hyper-threads counted.
    pub cores: usize,
    /// True if those include hyper-threads that share a core.
    pub smt: Option<bool>,
    /// The frequency governor of the first processor.
    pub governor: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The processor's name.
    pub cpu_model: Option<String>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The hypervisor or container runtime, if it can be detected: "KVM", "container".
    pub hypervisor: Option<String>,
}

impl Machine {
    /// Reads the facts below `root`, which is `/` except in tests.
    pub fn read(root: &Path) -> Machine {
        let cpus = root.join("sys/devices/system/cpu");
        let cpuinfo = read_text(&root.join("proc/cpuinfo")).unwrap_or_default();
        let meminfo = read_text(&root.join("proc/meminfo")).unwrap_or_default();
        Machine {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            smt: read_line(&cpus.join("smt/active")).map(|active| active == "1"),
            governor: read_line(&cpus.join("cpu0/cpufreq/scaling_governor")),
            kernel: read_line(&root.join("proc/sys/kernel/osrelease")),
            cpu_model: field(&cpuinfo, "model name").or_else(|| field(&cpuinfo, "Model")),
            memory_bytes: field(&meminfo, "MemTotal").and_then(|total| kibibytes(&total)),
            hypervisor: hypervisor(root, &cpuinfo),
        }
    }
}

fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

fn kibibytes(text: &str) -> Option<u64> {
    let number = text.strip_suffix("kB")?.trim();
    number.parse::<u64>().ok()?.checked_mul(1024)
}

fn hypervisor(root: &Path, cpuinfo: &str) -> Option<String> {
    let product = read_line(&root.join("sys/class/dmi/id/sys_vendor"));
    let by_flag = || {
        let flags = field(cpuinfo, "flags")?;
        let virtual_machine = flags.split_whitespace().any(|flag| flag == "hypervisor");
        virtual_machine.then(|| match product {
            Some(vendor) => format!("virtual machine ({vendor})"),
            None => "virtual machine".to_owned(),
        })
    };
    read_line(&root.join("sys/hypervisor/type")).or_else(by_flag)
}

#[cfg(test)]
mod tests {
    use super::Machine;
    use std::fs;
    use std::path::Path;

    #[test]
    fn facts_come_from_files_and_missing_files_are_unknown() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put(
            "proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Example 9000\nflags\t\t: fpu hypervisor sse\n",
        );
        put("proc/meminfo", "MemTotal:       1024 kB\nMemFree: 1 kB\n");
        put("sys/devices/system/cpu/smt/active", "1\n");
        let machine = Machine::read(root.path());
        assert_eq!(machine.cpu_model.as_deref(), Some("Example 9000"));
        assert_eq!(machine.memory_bytes, Some(1024 * 1024));
        assert_eq!(machine.smt, Some(true));
        assert_eq!(machine.hypervisor.as_deref(), Some("virtual machine"));
        assert_eq!((machine.governor, machine.kernel), (None, None));
    }

    #[test]
    fn this_machine_has_a_kernel_and_memory() {
        let machine = Machine::read(Path::new("/"));
        assert!(machine.cores > 0 && machine.kernel.is_some());
        assert!(machine.memory_bytes.is_some_and(|bytes| bytes > 1 << 20));
    }
}
