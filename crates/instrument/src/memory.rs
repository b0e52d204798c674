//! How much memory this process may use, as reported by the system.
//!
//! The least of: the machine's memory (`MemTotal`), and the limits of the control groups that the process is
//! in and of their parents, by version 2 (`memory.max`) and version 1 (`memory.limit_in_bytes`). Within a
//! container the path of the process's group may not be visible; then the limit at the root of the mount is
//! the container's. An unreadable value counts as no limit.

use std::fs;
use std::path::{Path, PathBuf};

/// The memory that the process may use, in bytes; none if the system does not report it.
pub fn limit() -> Option<u64> {
    limit_below(Path::new("/"))
}

/// The same, read below another root.
fn limit_below(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let of_groups = groups.lines().filter_map(|line| group_limit(root, line)).min();
    let meminfo = fs::read_to_string(root.join("proc/meminfo")).unwrap_or_default();
    let of_machine = meminfo.lines().find_map(|line| {
        let kib = line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?;
        kib.trim().parse::<u64>().ok()?.checked_mul(1024)
    });
    of_groups.into_iter().chain(of_machine).min()
}

/// The least limit of a group, named by a line of `cgroup`, and of its parents.
fn group_limit(root: &Path, line: &str) -> Option<u64> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let (mount, name) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max"),
        _ if controllers.split(',').any(|one| one == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return None,
    };
    let mount = root.join(mount);
    let mut group: PathBuf = mount.join(path.trim_start_matches('/'));
    let mut least = None;
    while group.starts_with(&mount) {
        // "max" is not a number, so it sets no limit.
        let limit = fs::read_to_string(group.join(name)).ok();
        let limit = limit.and_then(|limit| limit.trim().parse::<u64>().ok());
        least = least.into_iter().chain(limit).min();
        if !group.pop() {
            break;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::limit_below;
    use std::fs;
    use std::path::{Path, PathBuf};

    /// A directory with files as the system has them; removed when dropped.
    struct System(PathBuf);

    impl System {
        fn new(name: &str, files: &[(&str, &str)]) -> System {
            let root = std::env::temp_dir().join(format!("memory-{name}-{}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().expect("a file has a directory")).unwrap();
                fs::write(path, text).unwrap();
            }
            System(root)
        }

        fn limit(&self) -> Option<u64> {
            limit_below(&self.0)
        }
    }

    impl Drop for System {
        fn drop(&mut self) {
            let _removed = fs::remove_dir_all(&self.0);
        }
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\n");

    #[test]
    fn without_groups_it_is_the_machines_memory() {
        assert_eq!(System::new("plain", &[MEMINFO]).limit(), Some(2 << 20));
        assert_eq!(limit_below(Path::new("/nowhere")), None);
    }

    #[test]
    fn the_least_limit_of_a_group_and_its_parents_applies() {
        let system = System::new(
            "v2",
            &[
                MEMINFO,
                ("proc/self/cgroup", "0::/outer/inner\n"),
                ("sys/fs/cgroup/outer/inner/memory.max", "max\n"),
                ("sys/fs/cgroup/outer/memory.max", "1000000\n"),
                ("sys/fs/cgroup/memory.max", "9000000\n"),
            ],
        );
        assert_eq!(system.limit(), Some(1_000_000));
    }

    #[test]
    fn version_1_and_a_container_that_sees_only_its_root_are_supported() {
        let groups = "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n";
        let system = System::new(
            "v1",
            &[
                MEMINFO,
                ("proc/self/cgroup", groups),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "500000\n"),
            ],
        );
        assert_eq!(system.limit(), Some(500_000));
        let unlimited = System::new(
            "none",
            &[
                MEMINFO,
                ("proc/self/cgroup", groups),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ],
        );
        assert_eq!(unlimited.limit(), Some(2 << 20));
    }
}
