//! Private servers are started, used and removed. The tests fail if a product is not installed; the
//! complete test run installs all products first.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use syncline_launcher::{
    AttachedInstance, FALLBACK, LaunchSpec, NotStarted, PrivateServer, Product, ShutdownMode,
};
use syncline_stores::AnyTarget;
use syncline_testkit::{port_of, url_option};

/// A server in that folder.
fn spec_in(product: Product, folder: &tempfile::TempDir) -> LaunchSpec {
    // The server's own user must be able to enter it.
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
    fn with(url: &str) -> Connection {
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

/// The permission bits of a file.
fn mode(path: &Path) -> u32 {
    std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).unwrap()) & 0o777
}

/// Its password is in a file that only its user can read, and in no command line or environment of any
/// process.
fn assert_no_other_user_can_read_its_password(private: &PrivateServer) {
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
    let contains_password = |path: &Path| {
        let bytes = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(password)
    };
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        for file in ["cmdline", "environ"] {
            let path = process.path().join(file);
            assert!(!contains_password(&path), "{}", path.display());
        }
    }
}

/// The names of the variables in a process's environment.
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
    let private = PrivateServer::start(&spec_in(Product::Etcd, &folder)).unwrap();
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
fn only_users_who_can_read_its_directory_log_in_to_a_private_server() {
    for product in [Product::Postgres, Product::Mariadb, Product::Redis] {
        let folder = tempfile::tempdir().unwrap();
        let private = PrivateServer::start(&spec_in(product, &folder)).unwrap();
        assert_eq!(private.urls().len(), 2, "{:?}", private.urls());
        for url in private.urls() {
            let target = AnyTarget::open(url).unwrap();
            syncline_contract::conformance::block_on(
                &(),
                syncline_contract::Target::preflight(&target),
            )
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
                let preflight = syncline_contract::Target::preflight(&target);
                let result = syncline_contract::conformance::block_on(&(), preflight);
                assert!(result.is_err(), "{url} was accepted");
            }
        }
    }
}

// A.E1
#[test]
fn a_private_etcd_can_be_reached_in_a_directory_with_a_long_path() {
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
    let preflight = syncline_contract::Target::preflight(&target);
    syncline_contract::conformance::block_on(&(), preflight).unwrap();
    drop((target, private));
    assert!(!socket.parent().unwrap().exists(), "its sockets remain");
}

// A.E1
#[test]
fn a_private_mariadb_accesses_files_only_in_its_own_directory() {
    let folder = tempfile::tempdir().unwrap();
    let private = PrivateServer::start(&spec_in(Product::Mariadb, &folder)).unwrap();
    let password = std::fs::read_to_string(url_option(private.url(), "password-file").unwrap());
    let port = port_of(private.url()).to_string();
    let output = std::process::Command::new("mariadb")
        .args(["--no-defaults", "-h127.0.0.1", "-uroot", "-P", &port, "-N", "-B", "-e"])
        .arg("SELECT @@secure_file_priv")
        .env("MYSQL_PWD", password.unwrap().trim())
        .output()
        .unwrap();
    let answer = String::from_utf8_lossy(&output.stdout);
    assert!(Path::new(answer.trim()).starts_with(private.directory()), "{answer}");
}

/// The directory in the place of the host in a URL.
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

/// Starts a server, exchanges messages with it and drops it; nothing remains.
fn answers_and_is_removed(product: Product, exchange: impl Fn(&mut Connection, &str)) {
    let folder = tempfile::tempdir().unwrap();
    let private = PrivateServer::start(&spec_in(product, &folder)).unwrap();
    assert_eq!(private.fallback(), None);
    let directory = private.directory().to_owned();
    assert!(directory.starts_with(folder.path()));
    let pid = private.pid();
    let owner =
        std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(format!("/proc/{pid}")).unwrap());
    assert_ne!(owner, 0, "a private server runs as root");
    exchange(&mut Connection::with(private.url()), private.url());
    assert_no_other_user_can_read_its_password(&private);
    drop(private);
    assert!(!is_running(pid), "the server outlives its PrivateServer");
    assert!(!directory.exists(), "{} remains", directory.display());
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn postgresql_is_ready_and_asks_for_a_password() {
    answers_and_is_removed(Product::Postgres, |stream, _url| {
        // A startup message of protocol 3.0, user postgres.
        let body = b"\0\x03\0\0user\0postgres\0\0";
        let length = u32::try_from(body.len() + 4).unwrap();
        stream.write_all(&length.to_be_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut first = [0; 9];
        stream.read_exact(&mut first).unwrap();
        // It requests SCRAM authentication, and does not report that it is starting up.
        assert_eq!((first[0], &first[5..]), (b'R', &b"\0\0\0\x0a"[..]));
    });
}

#[test]
fn mariadb_sends_its_greeting() {
    answers_and_is_removed(Product::Mariadb, |stream, _url| {
        let mut greeting = [0; 5];
        stream.read_exact(&mut greeting).unwrap();
        assert_eq!((greeting[3], greeting[4]), (0, 10), "protocol 10");
    });
}

#[test]
fn redis_answers_a_ping_with_noauth() {
    answers_and_is_removed(Product::Redis, |stream, _url| {
        stream.write_all(b"PING\r\n").unwrap();
        let mut answer = [0; 7];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"-NOAUTH");
    });
}

#[test]
fn etcd_reports_its_version() {
    answers_and_is_removed(Product::Etcd, |stream, _url| {
        stream.write_all(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("etcdserver"), "{answer}");
    });
}

#[test]
fn the_fallback_is_used_if_the_servers_user_may_not_enter_the_directory() {
    if !rustix::process::geteuid().is_root() {
        // Without root the server runs as this user, who may enter the directory.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec_in(Product::Redis, &folder);
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(folder.path(), closed).unwrap();
    spec.directory = Some(folder.path().to_owned());
    let private = PrivateServer::start(&spec).unwrap();
    assert!(private.directory().starts_with(FALLBACK));
    assert!(private.fallback().is_some_and(|why| why.contains(FALLBACK)));
}

#[test]
fn a_server_on_a_callers_directory_is_killed_completely_and_restarts_there() {
    let small = ["innodb_log_file_size", "innodb_buffer_pool_size"].map(str::to_owned);
    let small = small.map(|name| (name, "8M".to_owned()));
    for (product, settings) in [(Product::Postgres, &[][..]), (Product::Mariadb, &small)] {
        let folder = tempfile::tempdir().unwrap();
        drop(spec_in(product, &folder));
        let directory = folder.path().join("attached");
        std::fs::create_dir(&directory).unwrap();
        AttachedInstance::make(product, &directory, settings).unwrap();
        let mut killed = AttachedInstance::start(product, &directory, settings).unwrap();
        // A.E1: it accepts connections only on a socket, in a directory that only its own user can enter.
        let sockets = sockets_of(killed.url());
        assert_eq!(mode(&sockets), 0o700);
        let listening: Vec<_> = std::fs::read_dir(&sockets).unwrap().flatten().collect();
        assert!(listening.iter().any(|entry| UnixStream::connect(entry.path()).is_ok()));
        assert!(listens_on_no_port(killed.pid()));
        killed.end(ShutdownMode::Killed).unwrap();
        // The ready file that the killed server left is not taken for that of the next one.
        let mut restarted = AttachedInstance::start(product, &directory, settings).unwrap();
        restarted.end(ShutdownMode::InOrder).unwrap();
        let mut last = AttachedInstance::start(product, &directory, settings).unwrap();
        last.end(ShutdownMode::AtOnce).unwrap();
        assert!(directory.join("data").is_dir(), "the caller's directory remains");
        let invalid = [("no_such_setting".to_owned(), "1".to_owned())];
        let error = AttachedInstance::start(product, &directory, &invalid).unwrap_err();
        let NotStarted::Ended(lines) = &error else { panic!("{error:?}") };
        assert!(lines.contains("no_such_setting"), "{lines}");
    }
}

#[test]
fn an_unsupported_durability_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let mut full = spec_in(Product::Redis, &folder);
    full.durability = syncline_contract::Durability::Full;
    let error = PrivateServer::start(&full).unwrap_err().to_string();
    assert!(error.contains("durability=full"), "{error}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
