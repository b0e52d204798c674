//! Whether a server is on this machine, its process and its log directory.
//!
//! Invariants:
//! 1. The process that listens on a server's port counts as the server only if it runs the server's
//!    program or is the parent of our own session's process: it may be a forwarder (`docker-proxy`,
//!    `ssh -L`, a pooler).
//! 2. A directory that a server names is a path in the server's own mount namespace. It is used only if
//!    the server's process sees the same files as this one: in a container the path means another
//!    directory, or none.

use std::fs;
use std::net::{IpAddr, ToSocketAddrs, UdpSocket};
use std::os::fd::AsFd;
use std::path::Path;
use syncline_contract::{LogLocation, StoreProcess};

/// The directory of a server's log, as the server reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSetting {
    /// The directory.
    pub directory: String,
    /// The source of the value, such as `SHOW data_directory`.
    pub source: &'static str,
}

/// Why a server's process is not known although a process on this machine listens on its port.
pub(crate) const FORWARDER: &str = "the process that listens on this machine is a forwarder, so the server's own process is not known";

/// The process if it runs one of those programs; any other is a forwarder.
pub(crate) fn verified_process(process: u32, programs: &[&str]) -> StoreProcess {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    if programs.contains(&name.trim()) {
        StoreProcess::Other(process)
    } else {
        StoreProcess::Unknown(FORWARDER)
    }
}

/// True if a process has a child whose id is `child` in the child's own PID namespace.
pub(crate) fn is_parent_of(process: u32, child: u32) -> bool {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let statuses = entries.filter_map(|entry| fs::read_to_string(entry.path().join("status")).ok());
    statuses.into_iter().any(|status| is_status_of_child(&status, process, child))
}

/// True if a `/proc/PID/status` describes a child of `parent` whose own id is `own`.
fn is_status_of_child(status: &str, parent: u32, own: u32) -> bool {
    let last = |key: &str| -> Option<u32> {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().last()?.parse().ok()
    };
    // The last number in `NSpid` is the one in the innermost namespace.
    last("PPid:") == Some(parent) && last("NSpid:").or_else(|| last("Pid:")) == Some(own)
}

/// Why paths of a process may mean other files in this one; `None` if they mean the same.
fn sees_other_files(process: u32) -> Option<String> {
    let of = |link: &str, of: &str| fs::read_link(format!("/proc/{of}/{link}"));
    let process = process.to_string();
    match (of("ns/mnt", &process), of("ns/mnt", "self")) {
        (Ok(theirs), Ok(ours)) if theirs != ours => {
            return Some(format!(
                "process {process} runs in another mount namespace, for example in a container"
            ));
        }
        (Ok(_), Ok(_)) => {}
        _ => {
            return Some(format!("the mount namespace of process {process} cannot be read"));
        }
    }
    match (of("root", &process), of("root", "self")) {
        (Ok(theirs), Ok(ours)) if theirs == ours => None,
        _ => Some(format!("process {process} runs with another root directory")),
    }
}

/// True if a host's name or address means this machine.
pub(super) fn is_this_machine(host: &str) -> bool {
    let Ok(addresses) = (host, 0).to_socket_addrs() else {
        return false;
    };
    // A socket can be bound to an address only if it belongs to this machine.
    let mut addresses = addresses.map(|address| address.ip());
    addresses.any(|ip: IpAddr| ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok())
}

/// The process at the other end of a connected Unix socket; `None` if the kernel does not report it, or
/// if it is not visible here.
pub fn process_of_peer(socket: &impl AsFd) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(socket).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

/// The process on this machine that listens on a TCP port; `None` if there is none, or if it is not
/// visible to this user. If several share the listening socket, the one with the lowest id, which is
/// usually the parent.
pub fn listener(port: u16) -> Option<u32> {
    let inodes: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| listening(&table, port))
        .collect();
    let mut pids: Vec<u32> = fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    let holds = |pid: &u32| {
        let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else {
            return false;
        };
        let mut links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
        links.any(|link| inodes.iter().any(|inode| link == Path::new(inode)))
    };
    pids.into_iter().find(holds)
}

/// The listening sockets of a port in a table of `/proc/net`, in the form of `/proc/PID/fd` links.
fn listening(table: &str, port: u16) -> Vec<String> {
    const LISTENS: &str = "0A";
    let of = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (_, own) = fields.get(1)?.rsplit_once(':')?;
        let here = u16::from_str_radix(own, 16) == Ok(port) && *fields.get(3)? == LISTENS;
        here.then(|| fields.get(9).map(|inode| format!("socket:[{inode}]")))?
    };
    table.lines().skip(1).filter_map(of).collect()
}

/// The location of a server's log: the directory that it reports, if server and directory are on this
/// machine.
pub fn log_location(process: StoreProcess, server: &str, word: &LogSetting) -> LogLocation {
    let LogSetting { directory, source } = word;
    match process {
        StoreProcess::Unknown(_) => {
            return LogLocation::Nowhere(format!(
                "{server} is not known to run on this machine: its log goes to {directory} there ({source}); \
                 --line RECORD names a probe made there"
            ));
        }
        StoreProcess::Other(process) => {
            if let Some(why) = sees_other_files(process) {
                return LogLocation::Nowhere(format!(
                    "{server} keeps its log in {directory} ({source}), which is not known to be the directory \
                     of that name here: {why}; --line RECORD names a probe made on its disk"
                ));
            }
        }
        StoreProcess::InProcess => {}
    }
    match fs::canonicalize(directory) {
        Ok(here) if here.is_dir() => LogLocation::Directory(here),
        Ok(_) => LogLocation::Nowhere(format!(
            "{directory} ({source}) is not a directory on this machine"
        )),
        Err(error) => LogLocation::Nowhere(format!(
            "{directory}, where {server} keeps its log ({source}), cannot be read from here: {error}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        FORWARDER, LogSetting, is_parent_of, is_status_of_child, is_this_machine, listener,
        listening, log_location, process_of_peer, verified_process,
    };
    use std::net::TcpListener;
    use std::os::unix::net::UnixStream;
    use std::process::{Command, Stdio};
    use syncline_contract::{LogLocation, StoreProcess};

    #[test]
    fn the_listener_of_a_port_is_found() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        assert_eq!(listener(port), Some(std::process::id()));
        drop(socket);
        assert_eq!(listener(port), None);
    }

    // B.F2
    #[test]
    fn a_listener_is_the_server_only_if_it_runs_its_program() {
        let own = std::process::id();
        let name = std::fs::read_to_string("/proc/self/comm").unwrap();
        assert_eq!(verified_process(own, &[name.trim()]), StoreProcess::Other(own));
        let forwarder = verified_process(own, &["mariadbd", "mysqld"]);
        assert_eq!(forwarder, StoreProcess::Unknown(FORWARDER));
    }

    // B.F2
    #[test]
    fn a_postmaster_is_recognized_as_the_parent_of_our_backend() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert!(is_parent_of(std::process::id(), child.id()));
        assert!(!is_parent_of(child.id(), std::process::id()));
        drop(child.stdin.take());
        child.wait().unwrap();
        let inside = "Name:\tpostgres\nPid:\t4711\nPPid:\t4700\nNSpid:\t4711\t38\n";
        assert!(is_status_of_child(inside, 4700, 38));
        assert!(!is_status_of_child(inside, 4700, 4711) && !is_status_of_child(inside, 1, 38));
    }

    // B.F4
    #[test]
    fn a_directory_in_another_mount_namespace_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let mut contained = match Command::new("unshare")
            .args(["--mount", "sh", "-c", "echo ready; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
        {
            Ok(child) => child,
            Err(error) => return println!("skipped: unshare cannot be run: {error}"),
        };
        let mut ready = String::new();
        let mut answer = std::io::BufReader::new(contained.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut answer, &mut ready).unwrap();
        if ready.is_empty() {
            contained.wait().unwrap();
            return println!("skipped: a new mount namespace needs root");
        }
        let word = LogSetting {
            directory: folder.path().display().to_string(),
            source: "SHOW data_directory",
        };
        let place = log_location(StoreProcess::Other(contained.id()), "the server", &word);
        drop(contained.stdin.take());
        contained.wait().unwrap();
        let LogLocation::Nowhere(why) = place else {
            panic!("taken: {place:?}");
        };
        assert!(why.contains("another mount namespace"), "{why}");
    }

    #[test]
    fn only_listening_sockets_of_that_port_count() {
        let table = "  sl  local_address rem_address   st tx rx tr tm->when retrnsmt uid timeout inode\n\
            0: 0100007F:1538 00000000:0000 0A 0:0 00:0 0 0 0 111 1\n\
            1: 0100007F:1538 0100007F:9999 01 0:0 00:0 0 0 0 222 1\n\
            2: 0100007F:1539 00000000:0000 0A 0:0 00:0 0 0 0 333 1\n";
        assert_eq!(listening(table, 0x1538), ["socket:[111]"]);
    }

    #[test]
    fn the_peer_of_a_socket_is_its_process() {
        let (one, _two) = UnixStream::pair().unwrap();
        assert_eq!(process_of_peer(&one), Some(std::process::id()));
    }

    #[test]
    fn loopback_is_here_and_a_documentation_address_is_not() {
        assert!(is_this_machine("127.0.0.1"));
        assert!(is_this_machine("localhost"));
        assert!(!is_this_machine("192.0.2.7"));
    }

    #[test]
    fn a_directory_is_used_only_on_the_servers_machine() {
        let folder = tempfile::tempdir().unwrap();
        let word = LogSetting {
            directory: folder.path().display().to_string(),
            source: "SHOW data_directory",
        };
        let own = StoreProcess::Other(std::process::id());
        let here = log_location(own, "the server", &word);
        assert_eq!(here, LogLocation::Directory(folder.path().canonicalize().unwrap()));
        let why = |place| match place {
            LogLocation::Nowhere(why) => why,
            LogLocation::Directory(path) => panic!("taken: {}", path.display()),
        };
        let remote = why(log_location(StoreProcess::REMOTE, "db.example", &word));
        assert!(remote.contains("--line RECORD"), "{remote}");
        let gone = LogSetting { directory: "/nowhere/at/all".to_owned(), ..word };
        let gone = why(log_location(own, "the server", &gone));
        assert!(gone.contains("cannot be read from here"), "{gone}");
    }
}
