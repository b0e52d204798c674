//! Whether a server is on this machine, its process and its log directory.
//!
//! A directory that a server names is its own word, in its own file system: of a server in a container
//! it may mean nothing here. So it is only taken if it is here, and if the server's process is.

use std::fs;
use std::net::{IpAddr, ToSocketAddrs, UdpSocket};
use std::os::fd::AsFd;
use std::path::Path;
use syncline_contract::{LogPlace, StoreProcess};

/// Where a server's log goes, by its own word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogWord {
    /// The directory.
    pub directory: String,
    /// How it said so: `SHOW data_directory`.
    pub said_by: &'static str,
}

/// True if a host's name or address means this machine.
pub(super) fn is_this_machine(host: &str) -> bool {
    let Ok(addresses) = (host, 0).to_socket_addrs() else {
        return false;
    };
    // An address is ours if a socket can be bound to it.
    let mut addresses = addresses.map(|address| address.ip());
    addresses.any(|ip: IpAddr| ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok())
}

/// The process at the other end of a connected Unix socket; none if the kernel does not say, or if that
/// process is not to be seen from here.
pub fn process_of_peer(socket: &impl AsFd) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(socket).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

/// The process of this machine that listens on a TCP port; none if none does, or if it is not ours to
/// see. Where several share the listening socket, the one that was there first: the parent.
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
        let mut links = files
            .flatten()
            .filter_map(|file| fs::read_link(file.path()).ok());
        links.any(|link| inodes.iter().any(|inode| link == Path::new(inode)))
    };
    pids.into_iter().find(holds)
}

/// The listening sockets of a port in a table of `/proc/net`, as links name them.
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

/// Where a server's log goes: the directory of its own word, if server and directory are here.
pub fn log_place(process: StoreProcess, server: &str, word: &LogWord) -> LogPlace {
    let LogWord { directory, said_by } = word;
    if process == StoreProcess::Unknown {
        return LogPlace::Nowhere(format!(
            "{server} is not known to run on this machine: its log goes to {directory} there ({said_by}); \
             --line RECORD names a probe made there"
        ));
    }
    match fs::canonicalize(directory) {
        Ok(here) if here.is_dir() => LogPlace::Directory(here),
        Ok(_) => LogPlace::Nowhere(format!("{directory} ({said_by}) is no directory here")),
        Err(error) => LogPlace::Nowhere(format!(
            "{directory}, where {server} keeps its log ({said_by}), cannot be looked at from here: {error}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{LogWord, is_this_machine, listener, listening, log_place, process_of_peer};
    use std::net::TcpListener;
    use std::os::unix::net::UnixStream;
    use syncline_contract::{LogPlace, StoreProcess};

    #[test]
    fn the_listener_of_a_port_is_found_and_one_of_no_port_is_not() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        assert_eq!(listener(port), Some(std::process::id()));
        drop(socket);
        assert_eq!(listener(port), None);
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
    fn a_directory_is_taken_only_where_the_server_is() {
        let folder = tempfile::tempdir().unwrap();
        let word = LogWord {
            directory: folder.path().display().to_string(),
            said_by: "SHOW data_directory",
        };
        let here = log_place(StoreProcess::Other(1), "the server", &word);
        assert_eq!(
            here,
            LogPlace::Directory(folder.path().canonicalize().unwrap())
        );
        let why = |place| match place {
            LogPlace::Nowhere(why) => why,
            LogPlace::Directory(path) => panic!("taken: {}", path.display()),
        };
        let remote = why(log_place(StoreProcess::Unknown, "db.example", &word));
        assert!(remote.contains("--line RECORD"), "{remote}");
        let gone = LogWord {
            directory: "/nowhere/at/all".to_owned(),
            ..word
        };
        let gone = why(log_place(StoreProcess::Other(1), "the server", &gone));
        assert!(gone.contains("cannot be looked at"), "{gone}");
    }
}
