//! Private servers as they are: started, met, gone. What is not installed fails these tests: the whole
//! test of the house installs it first.

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

fn wanted(product: Product, folder: &tempfile::TempDir) -> LaunchSpec {
    // The server's own user must be able to enter.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    LaunchSpec { directory: Some(folder.path().to_owned()), ..LaunchSpec::new(product) }
}

/// A connection to a server, as its URL names it.
enum Talk {
    Port(TcpStream),
    Socket(UnixStream),
}

impl Talk {
    fn with(url: &str) -> Talk {
        let patience = Some(Duration::from_secs(20));
        if let Some(path) = url_option(url, "socket") {
            let stream = UnixStream::connect(path).unwrap();
            stream.set_read_timeout(patience).unwrap();
            Talk::Socket(stream)
        } else {
            let stream = TcpStream::connect(("127.0.0.1", port_of(url))).unwrap();
            stream.set_read_timeout(patience).unwrap();
            Talk::Port(stream)
        }
    }
}

impl Read for Talk {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Talk::Port(stream) => stream.read(room),
            Talk::Socket(stream) => stream.read(room),
        }
    }
}

impl Write for Talk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Talk::Port(stream) => stream.write(bytes),
            Talk::Socket(stream) => stream.write(bytes),
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

/// Its password is in a file that its user alone can read; neither its processes nor their supervisor show
/// it.
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
fn a_server_and_its_keeper_have_a_cleared_environment() {
    let folder = tempfile::tempdir().unwrap();
    let private = PrivateServer::start(&wanted(Product::Etcd, &folder)).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", private.pid())).unwrap();
    let keeper = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    let keeper: u32 = keeper.unwrap().trim().parse().unwrap();
    let own = environment(std::process::id());
    assert!(own.iter().any(|name| name.starts_with("CARGO")), "{own:?}");
    for process in [private.pid(), keeper] {
        let names = environment(process);
        assert!(names.iter().all(|name| !name.starts_with("CARGO")), "{names:?}");
        assert!(names.iter().any(|name| name == "PATH"), "{names:?}");
    }
}

// A.E1
#[test]
fn whoever_can_read_its_directory_logs_in_to_a_private_server_and_others_cannot() {
    for product in [Product::Postgres, Product::Mariadb, Product::Redis] {
        let folder = tempfile::tempdir().unwrap();
        let private = PrivateServer::start(&wanted(product, &folder)).unwrap();
        assert_eq!(private.urls().len(), 2, "{:?}", private.urls());
        for url in private.urls() {
            let met = AnyTarget::open(url).unwrap();
            syncline_contract::conformance::block_on(&(), syncline_contract::Target::meet(&met))
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
                let meeting = syncline_contract::Target::meet(&target);
                let met = syncline_contract::conformance::block_on(&(), meeting);
                assert!(met.is_err(), "{url} was let in");
            }
        }
    }
}

// A.E1
#[test]
fn a_private_etcd_is_reached_in_a_directory_with_a_long_path() {
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
    let meeting = syncline_contract::Target::meet(&target);
    syncline_contract::conformance::block_on(&(), meeting).unwrap();
    drop((target, private));
    assert!(!socket.parent().unwrap().exists(), "its sockets stay");
}

// A.E1
#[test]
fn a_private_mariadb_reads_and_writes_files_in_its_own_directory_alone() {
    let folder = tempfile::tempdir().unwrap();
    let private = PrivateServer::start(&wanted(Product::Mariadb, &folder)).unwrap();
    let password = std::fs::read_to_string(url_option(private.url(), "password-file").unwrap());
    let port = port_of(private.url()).to_string();
    let output = std::process::Command::new("mariadb")
        .args(["--no-defaults", "-h127.0.0.1", "-uroot", "-P", &port, "-N", "-B", "-e"])
        .arg("SELECT @@secure_file_priv")
        .env("MYSQL_PWD", password.unwrap().trim())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(Path::new(said.trim()).starts_with(private.directory()), "{said}");
}

/// The directory in place of the host in a URL.
fn sockets_of(url: &str) -> std::path::PathBuf {
    let (_, host) = url.split_once('@').unwrap();
    host.split('/').next().unwrap().replace("%2F", "/").into()
}

/// True if a process holds no listening socket of TCP.
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

/// Starts one, meets it, drops it: nothing is left.
fn lives_and_goes(product: Product, talk: impl Fn(&mut Talk, &str)) {
    let folder = tempfile::tempdir().unwrap();
    let private = PrivateServer::start(&wanted(product, &folder)).unwrap();
    assert_eq!(private.fallback(), None);
    let directory = private.directory().to_owned();
    assert!(directory.starts_with(folder.path()));
    let pid = private.pid();
    let owner =
        std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(format!("/proc/{pid}")).unwrap());
    assert_ne!(owner, 0, "a private server runs as root");
    talk(&mut Talk::with(private.url()), private.url());
    no_other_user_can_read_its_password(&private);
    drop(private);
    assert!(!is_running(pid), "the server outlives its private");
    assert!(!directory.exists(), "{} stays", directory.display());
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn postgresql_answers_as_one_that_is_ready() {
    lives_and_goes(Product::Postgres, |stream, _url| {
        // A startup message of protocol 3.0, user postgres.
        let body = b"\0\x03\0\0user\0postgres\0\0";
        let length = u32::try_from(body.len() + 4).unwrap();
        stream.write_all(&length.to_be_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut first = [0; 9];
        stream.read_exact(&mut first).unwrap();
        // It asks for SCRAM, and is no server that is starting up.
        assert_eq!((first[0], &first[5..]), (b'R', &b"\0\0\0\x0a"[..]));
    });
}

#[test]
fn mariadb_greets() {
    lives_and_goes(Product::Mariadb, |stream, _url| {
        let mut greeting = [0; 5];
        stream.read_exact(&mut greeting).unwrap();
        assert_eq!((greeting[3], greeting[4]), (0, 10), "protocol 10");
    });
}

#[test]
fn redis_answers_a_ping() {
    lives_and_goes(Product::Redis, |stream, _url| {
        stream.write_all(b"PING\r\n").unwrap();
        let mut answer = [0; 7];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"-NOAUTH");
    });
}

#[test]
fn etcd_says_its_version() {
    lives_and_goes(Product::Etcd, |stream, _url| {
        stream.write_all(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("etcdserver"), "{answer}");
    });
}

#[test]
fn a_directory_that_is_closed_to_the_servers_user_gives_way_to_the_named_fallback() {
    if !rustix::process::geteuid().is_root() {
        // Without root the server is ours, and no directory of ours is closed to it.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut wanted = wanted(Product::Redis, &folder);
    let shut = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(folder.path(), shut).unwrap();
    wanted.directory = Some(folder.path().to_owned());
    let private = PrivateServer::start(&wanted).unwrap();
    assert!(private.directory().starts_with(FALLBACK));
    assert!(private.fallback().is_some_and(|why| why.contains(FALLBACK)));
}

#[test]
fn a_server_on_a_lent_directory_is_killed_whole_and_starts_again_there() {
    let small = ["innodb_log_file_size", "innodb_buffer_pool_size"].map(str::to_owned);
    let small = small.map(|name| (name, "8M".to_owned()));
    for (product, settings) in [(Product::Postgres, &[][..]), (Product::Mariadb, &small)] {
        let folder = tempfile::tempdir().unwrap();
        drop(wanted(product, &folder));
        let place = folder.path().join("lent");
        std::fs::create_dir(&place).unwrap();
        AttachedInstance::make(product, &place, settings).unwrap();
        let mut killed = AttachedInstance::start(product, &place, settings).unwrap();
        // A.E1: it takes connections on a socket alone, where its own user alone can go.
        let sockets = sockets_of(killed.url());
        assert_eq!(mode(&sockets), 0o700);
        let listening: Vec<_> = std::fs::read_dir(&sockets).unwrap().flatten().collect();
        assert!(listening.iter().any(|entry| UnixStream::connect(entry.path()).is_ok()));
        assert!(listens_on_no_port(killed.pid()));
        killed.end(Ending::Killed).unwrap();
        assert!(!sockets.exists(), "{} stays", sockets.display());
        // The files of the one that was killed are not taken for signs of the next.
        let mut lent = AttachedInstance::start(product, &place, settings).unwrap();
        lent.end(Ending::InOrder).unwrap();
        let mut quit = AttachedInstance::start(product, &place, settings).unwrap();
        quit.end(Ending::AtOnce).unwrap();
        assert!(place.join("data").is_dir(), "whoever lends it removes it");
        let wrong = [("no_such_setting".to_owned(), "1".to_owned())];
        let why = AttachedInstance::start(product, &place, &wrong).unwrap_err();
        let NotStarted::Ended(words) = &why else { panic!("{why:?}") };
        assert!(words.contains("no_such_setting"), "{words}");
    }
}

#[test]
fn what_a_product_cannot_keep_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let mut full = wanted(Product::Redis, &folder);
    full.durability = syncline_contract::Durability::Full;
    let why = PrivateServer::start(&full).unwrap_err().to_string();
    assert!(why.contains("durability=full"), "{why}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
