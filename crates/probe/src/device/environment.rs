//! Detects the environment of the disk: a virtual machine, a container, or neither.

use super::tree::{Tree, fact, said_by};
use std::path::Path;
use syncline_record::Fact;

/// The environment of this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// The hypervisor's name, or "unnamed hypervisor", if this is a virtual machine.
    pub(crate) virtual_machine: Option<String>,
    /// The kind of container, if this is one.
    pub(crate) container: Option<String>,
    /// The facts with their sources.
    pub(crate) facts: Vec<Fact>,
}

/// Checks for signs of both.
pub(crate) fn environment(tree: &Tree, root_file_system: Option<&str>) -> Environment {
    let (machine, machine_by) = virtual_machine(tree);
    let (container, container_by) = container(tree, root_file_system);
    let words =
        |found: &Option<String>| Some(found.clone().unwrap_or_else(|| "no sign".to_owned()));
    let facts = vec![
        fact("virtual machine", words(&machine), machine_by),
        fact("container", words(&container), container_by),
        tree.fact("kernel", Path::new("proc/sys/kernel/osrelease")),
    ];
    Environment { virtual_machine: machine, container, facts }
}

/// Names of hypervisors and clouds in the firmware's tables.
const VIRTUAL_NAMES: [(&str, &str); 12] = [
    ("QEMU", "QEMU"),
    ("KVM", "KVM"),
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("innotek", "VirtualBox"),
    ("Amazon EC2", "Amazon EC2"),
    ("Google Compute", "Google Compute Engine"),
    ("Virtual Machine", "Hyper-V"),
    ("Xen", "Xen"),
    ("Parallels", "Parallels"),
    ("BHYVE", "bhyve"),
    ("OpenStack", "OpenStack"),
];

fn virtual_machine(tree: &Tree) -> (Option<String>, String) {
    let cpu_flag = Path::new("proc/cpuinfo");
    let flagged = tree.text(cpu_flag).is_some_and(|text| has_hypervisor_flag(&text));
    let named = dmi_name(tree);
    match named {
        // Bare metal machines also report "Amazon EC2", but lack the flag.
        Some((name, path)) if flagged || name != "Amazon EC2" => (Some(name), path),
        _ if flagged => {
            let by = format!("the hypervisor flag of {}", said_by(cpu_flag));
            (Some("unnamed hypervisor".to_owned()), by)
        }
        _ => match tree.text(Path::new("sys/hypervisor/type")) {
            Some(kind) => (Some(kind), "/sys/hypervisor/type".to_owned()),
            None if tree.has(Path::new("proc/device-tree/hypervisor")) => {
                (Some("unnamed hypervisor".to_owned()), "/proc/device-tree/hypervisor".to_owned())
            }
            None => (None, "/proc/cpuinfo, /sys/class/dmi/id, /sys/hypervisor".to_owned()),
        },
    }
}

fn has_hypervisor_flag(cpuinfo: &str) -> bool {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
}

fn dmi_name(tree: &Tree) -> Option<(String, String)> {
    ["sys_vendor", "product_name", "board_vendor"].into_iter().find_map(|file| {
        let path = Path::new("sys/class/dmi/id").join(file);
        let text = tree.text(&path)?;
        let (_, name) = VIRTUAL_NAMES.iter().find(|(sign, _)| text.contains(sign))?;
        Some(((*name).to_owned(), said_by(&path)))
    })
}

/// Words in the control group of the first process, and the container kinds that they identify.
const GROUP_WORDS: [(&str, &str); 6] = [
    ("kubepods", "Kubernetes"),
    ("docker", "Docker"),
    ("libpod", "Podman"),
    ("containerd", "containerd"),
    ("lxc", "LXC"),
    ("machine.slice", "systemd-nspawn"),
];

fn container(tree: &Tree, root_file_system: Option<&str>) -> (Option<String>, String) {
    for (file, kind) in [(".dockerenv", "Docker"), ("run/.containerenv", "Podman")] {
        if tree.has(Path::new(file)) {
            return (Some(kind.to_owned()), format!("/{file}"));
        }
    }
    if let Some(kind) = tree.text(Path::new("run/systemd/container")) {
        return (Some(kind), "/run/systemd/container".to_owned());
    }
    let groups = tree.text(Path::new("proc/1/cgroup")).unwrap_or_default();
    if let Some((_, kind)) = GROUP_WORDS.iter().find(|(word, _)| groups.contains(word)) {
        return (Some((*kind).to_owned()), "/proc/1/cgroup".to_owned());
    }
    if root_file_system == Some("overlay") {
        let by = "/proc/self/mountinfo: / is an overlay";
        return (Some("container of unknown kind".to_owned()), by.to_owned());
    }
    (None, "/.dockerenv, /run/.containerenv, /proc/1/cgroup, the root mount".to_owned())
}
