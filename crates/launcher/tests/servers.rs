//! Private servers: start, connect, removal. These tests fail if a product is not installed; `./test`
//! installs all of them first.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use syncline_launcher::{
    AttachedInstance, Ending, FALLBACK, LaunchSpec, NotStarted, PrivateServer, Product,
};
use syncline_stores::AnyTarget;
use syncline_testkit::{port_of, url_option};

fn spec(product: Product, folder: &tempfile::TempDir) -> LaunchSpec {
    // The server's own user must be able to enter.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    LaunchSpec { directory: Some(folder.path().to_owned()), ..LaunchSpec::new(product) }
}

/// A connection to the address in a server's URL.
enum Connection {
    Port(TcpStream),
    Socket(UnixStream),
}

impl Connection {
    fn open(url: &str) -> Connection {
        let timeout = Some(Duration::from_secs(20));
        if let Some(path) = url_option(url, "socket") {
            let stream = UnixStream::connect(path).unwrap();
            stream.set_read_timeout(timeout).unwrap();
            Connection::Socket(stream)
        } else {
            let stream = TcpStream::connect(("127.0.0.1", port_of(url))).unwrap();
            stream.set_read_timeout(timeout).unwrap();
            Connection::Port(stream)
        }
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Connection::Port(stream) => stream.read(buffer),
            Connection::Socket(stream) => stream.read(buffer),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Connection::Port(stream) => stream.write(bytes),
            Connection::Socket(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The bits of a file's mode.
fn mode(path: &Path) -> u32 {
    std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).unwrap()) & 0o777
}

/// The password is in a file that only the server's user can read, and neither the server's processes nor
/// their supervisor show it.
fn no_other_user_can_read_its_password(private: &PrivateServer) {
    assert_eq!(mode(private.directory()), 0o700);
    let Some(file) = url_option(private.url(), "password-file") else {
        let socket = url_option(private.url(), "socket").expect("a password or a socket");
        assert!(Path::new(socket).starts_with(private.directory()));
        return;
    };
    assert_eq!(mode(Path::new(file)), 0o600);
    let password = std::fs::read_to_string(file).unwrap();
    let password = password.trim();
    assert!(password.len() >= 32, "{password}");
    assert!(private.urls().iter().all(|url| !url.contains(password)));
    let shows = |path: &Path| {
        let bytes = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(password)
    };
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        for file in ["cmdline", "environ"] {
            let path = process.path().join(file);
            assert!(!shows(&path), "{}", path.display());
        }
    }
}

/// The variables of a process's environment.
fn environment(process: u32) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{process}/environ")).unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    text.split('\0')
        .filter_map(|pair| pair.split_once('=').map(|(name, _)| name.to_owned()))
        .collect()
}

// A.E2
#[test]
fn a_server_and_its_supervisor_have_a_cleared_environment() {
    let folder = tempfile::tempdir().unwrap();
    let private = PrivateServer::start(&spec(Product::Etcd, &folder)).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", private.pid())).unwrap();
    let supervisor = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    let supervisor: u32 = supervisor.unwrap().trim().parse().unwrap();
    let own = environment(std::process::id());
    assert!(own.iter().any(|name| name.starts_with("CARGO")), "{own:?}");
    for process in [private.pid(), supervisor] {
        let names = environment(process);
        assert!(names.iter().all(|name| !name.starts_with("CARGO")), "{names:?}");
        assert!(names.iter().any(|name| name == "PATH"), "{names:?}");
    }
}

// A.E1
#[test]
fn only_users_who_can_read_its_directory_can_log_in_to_a_private_server() {
    for product in [Product::Postgres, Product::Mariadb, Product::Redis] {
        let folder = tempfile::tempdir().unwrap();
        let private = PrivateServer::start(&spec(product, &folder)).unwrap();
        assert_eq!(private.urls().len(), 2, "{:?}", private.urls());
        for url in private.urls() {
            let target = AnyTarget::open(url).unwrap();
            let check = syncline_contract::Target::meet(&target);
            syncline_contract::conformance::block_on(&(), check)
                .unwrap_or_else(|why| panic!("{url}: {why}"));
            let Some(file) = url_option(url, "password-file") else {
                let socket = url_option(url, "socket").expect("a password or a socket");
                assert!(Path::new(socket).starts_with(private.directory()));
                continue;
            };
            let without = url.replace(&format!("&password-file={file}"), "");
            let wrong = folder.path().join("wrong");
            std::fs::write(&wrong, "guessed").unwrap();
            let guessed = format!("{without}&password-file={}", wrong.display());
            for url in [without, guessed] {
                let target = AnyTarget::open(&url).unwrap();
                let check = syncline_contract::Target::meet(&target);
                let login = syncline_contract::conformance::block_on(&(), check);
                assert!(login.is_err(), "{url} could log in");
            }
        }
    }
}

// A.E1
#[test]
fn a_private_etcd_accepts_connections_in_a_directory_with_a_long_path() {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path| {
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, open).unwrap();
    };
    open(folder.path());
    let deep = folder.path().join("d".repeat(100));
    std::fs::create_dir(&deep).unwrap();
    open(&deep);
    let private = PrivateServer::start(&LaunchSpec {
        directory: Some(deep),
        ..LaunchSpec::new(Product::Etcd)
    });
    let private = private.unwrap();
    let socket = std::path::PathBuf::from(url_option(private.url(), "socket").unwrap());
    assert_eq!(mode(socket.parent().unwrap()), 0o700);
    let target = AnyTarget::open(private.url()).unwrap();
    let check = syncline_contract::Target::meet(&target);
    syncline_contract::conformance::block_on(&(), check).unwrap();
    drop((target, private));
    assert!(!socket.parent().unwrap().exists(), "the directory of its sockets still exists");
}

// A.E1
#[test]
fn a_private_mariadb_reads_and_writes_files_only_in_its_own_directory() {
    let folder = tempfile::tempdir().unwrap();
    let private = PrivateServer::start(&spec(Product::Mariadb, &folder)).unwrap();
    let password = std::fs::read_to_string(url_option(private.url(), "password-file").unwrap());
    let port = port_of(private.url()).to_string();
    let output = std::process::Command::new("mariadb")
        .args(["--no-defaults", "-h127.0.0.1", "-uroot", "-P", &port, "-N", "-B", "-e"])
        .arg("SELECT @@secure_file_priv")
        .env("MYSQL_PWD", password.unwrap().trim())
        .output()
        .unwrap();
    let directory = String::from_utf8_lossy(&output.stdout);
    assert!(Path::new(directory.trim()).starts_with(private.directory()), "{directory}");
}

/// The directory that is the host of a URL.
fn sockets_of(url: &str) -> std::path::PathBuf {
    let (_, host) = url.split_once('@').unwrap();
    host.split('/').next().unwrap().replace("%2F", "/").into()
}

/// True if a process has no listening TCP socket.
fn listens_on_no_port(process: u32) -> bool {
    let tables = ["tcp", "tcp6"].map(|name| format!("/proc/net/{name}"));
    let tables = tables.map(|table| std::fs::read_to_string(table).unwrap_or_default());
    let listening: Vec<String> = tables
        .iter()
        .flat_map(|table| table.lines().skip(1))
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields.get(3) == Some(&"0A"))
        .filter_map(|fields| fields.get(9).map(|inode| format!("socket:[{inode}]")))
        .collect();
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let mut links = files.flatten().filter_map(|file| std::fs::read_link(file.path()).ok());
    !links.any(|link| listening.iter().any(|inode| link == Path::new(inode)))
}

fn is_running(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Starts a server, connects to it, drops it, and checks that nothing is left.
fn starts_and_leaves_nothing(product: Product, talk: impl Fn(&mut Connection, &str)) {
    let folder = tempfile::tempdir().unwrap();
    let private = PrivateServer::start(&spec(product, &folder)).unwrap();
    assert_eq!(private.fallback(), None);
    let directory = private.directory().to_owned();
    assert!(directory.starts_with(folder.path()));
    let pid = private.pid();
    let owner =
        std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(format!("/proc/{pid}")).unwrap());
    assert_ne!(owner, 0, "a private server runs as root");
    talk(&mut Connection::open(private.url()), private.url());
    no_other_user_can_read_its_password(&private);
    drop(private);
    assert!(!is_running(pid), "the server still runs after it was dropped");
    assert!(!directory.exists(), "{} still exists", directory.display());
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn postgresql_answers_a_startup_message() {
    starts_and_leaves_nothing(Product::Postgres, |stream, _url| {
        // A startup message of protocol 3.0, user postgres.
        let body = b"\0\x03\0\0user\0postgres\0\0";
        let length = u32::try_from(body.len() + 4).unwrap();
        stream.write_all(&length.to_be_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut first = [0; 9];
        stream.read_exact(&mut first).unwrap();
        // It requests SCRAM, so it is past its startup.
        assert_eq!((first[0], &first[5..]), (b'R', &b"\0\0\0\x0a"[..]));
    });
}

#[test]
fn mariadb_greets() {
    starts_and_leaves_nothing(Product::Mariadb, |stream, _url| {
        let mut greeting = [0; 5];
        stream.read_exact(&mut greeting).unwrap();
        assert_eq!((greeting[3], greeting[4]), (0, 10), "protocol 10");
    });
}

#[test]
fn redis_answers_a_ping() {
    starts_and_leaves_nothing(Product::Redis, |stream, _url| {
        stream.write_all(b"PING\r\n").unwrap();
        let mut answer = [0; 7];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"-NOAUTH");
    });
}

#[test]
fn etcd_reports_its_version() {
    starts_and_leaves_nothing(Product::Etcd, |stream, _url| {
        stream.write_all(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("etcdserver"), "{answer}");
    });
}

#[test]
fn a_server_whose_user_cannot_enter_the_directory_uses_the_fallback_and_reports_it() {
    if !rustix::process::geteuid().is_root() {
        // Without root the server runs as the user of this test, who can enter its own directories.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec(Product::Redis, &folder);
    let shut = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(folder.path(), shut).unwrap();
    spec.directory = Some(folder.path().to_owned());
    let private = PrivateServer::start(&spec).unwrap();
    assert!(private.directory().starts_with(FALLBACK));
    assert!(private.fallback().is_some_and(|why| why.contains(FALLBACK)));
}

#[test]
fn an_attached_instance_is_killed_with_all_processes_and_starts_again() {
    let small = ["innodb_log_file_size", "innodb_buffer_pool_size"].map(str::to_owned);
    let small = small.map(|name| (name, "8M".to_owned()));
    for (product, settings) in [(Product::Postgres, &[][..]), (Product::Mariadb, &small)] {
        let folder = tempfile::tempdir().unwrap();
        drop(spec(product, &folder));
        let directory = folder.path().join("attached");
        std::fs::create_dir(&directory).unwrap();
        AttachedInstance::make(product, &directory, settings).unwrap();
        let mut killed = AttachedInstance::start(product, &directory, settings).unwrap();
        // A.E1: it listens only on a socket, in a directory that only its own user can enter.
        let sockets = sockets_of(killed.url());
        assert_eq!(mode(&sockets), 0o700);
        let listening: Vec<_> = std::fs::read_dir(&sockets).unwrap().flatten().collect();
        assert!(listening.iter().any(|entry| UnixStream::connect(entry.path()).is_ok()));
        assert!(listens_on_no_port(killed.pid()));
        killed.end(Ending::Killed).unwrap();
        assert!(!sockets.exists(), "{} still exists", sockets.display());
        // The files of the killed server must not pass for those of the next one.
        let mut next = AttachedInstance::start(product, &directory, settings).unwrap();
        next.end(Ending::InOrder).unwrap();
        let mut quit = AttachedInstance::start(product, &directory, settings).unwrap();
        quit.end(Ending::AtOnce).unwrap();
        assert!(directory.join("data").is_dir(), "the caller's directory was removed");
        let wrong = [("no_such_setting".to_owned(), "1".to_owned())];
        let why = AttachedInstance::start(product, &directory, &wrong).unwrap_err();
        let NotStarted::Ended(words) = &why else { panic!("{why:?}") };
        assert!(words.contains("no_such_setting"), "{words}");
    }
}

#[test]
fn an_unsupported_durability_is_refused_before_anything_is_created() {
    let folder = tempfile::tempdir().unwrap();
    let mut full = spec(Product::Redis, &folder);
    full.durability = syncline_contract::Durability::Full;
    let why = PrivateServer::start(&full).unwrap_err().to_string();
    assert!(why.contains("durability=full"), "{why}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
