//! Private servers as they are: started, met, gone. What is not installed fails these tests: the whole
//! test of the house installs it first.

use super::{Ending, Lent, NotStarted, Private, Product, Wanted};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

fn wanted(product: Product, folder: &tempfile::TempDir) -> Wanted {
    // The server's own user must be able to enter.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    Wanted {
        directory: Some(folder.path().to_owned()),
        ..Wanted::new(product)
    }
}

fn port(url: &str) -> u16 {
    let (_, rest) = url.rsplit_once("127.0.0.1:").unwrap();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

fn is_running(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Starts one, meets it, drops it: nothing is left.
fn lives_and_goes(product: Product, talk: impl Fn(&mut TcpStream)) {
    let folder = tempfile::tempdir().unwrap();
    let private = Private::start(&wanted(product, &folder)).unwrap();
    assert_eq!(private.fallback(), None);
    let directory = private.directory().to_owned();
    assert!(directory.starts_with(folder.path()));
    let pid = private.pid();
    let owner =
        std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(format!("/proc/{pid}")).unwrap());
    assert_ne!(owner, 0, "a private server runs as root");
    let mut stream = TcpStream::connect(("127.0.0.1", port(private.url()))).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    talk(&mut stream);
    drop(private);
    assert!(!is_running(pid), "the server outlives its private");
    assert!(!directory.exists(), "{} stays", directory.display());
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn postgresql_answers_as_one_that_is_ready() {
    lives_and_goes(Product::Postgres, |stream| {
        // A startup message of protocol 3.0, user postgres.
        let body = b"\0\x03\0\0user\0postgres\0\0";
        let length = u32::try_from(body.len() + 4).unwrap();
        stream.write_all(&length.to_be_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut first = [0; 9];
        stream.read_exact(&mut first).unwrap();
        // AuthenticationOk, not the error of a server that is starting up.
        assert_eq!(first, *b"R\0\0\0\x08\0\0\0\0");
    });
}

#[test]
fn mariadb_greets() {
    lives_and_goes(Product::Mariadb, |stream| {
        let mut greeting = [0; 5];
        stream.read_exact(&mut greeting).unwrap();
        assert_eq!((greeting[3], greeting[4]), (0, 10), "protocol 10");
    });
}

#[test]
fn redis_answers_a_ping() {
    lives_and_goes(Product::Redis, |stream| {
        stream.write_all(b"PING\r\n").unwrap();
        let mut answer = [0; 7];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"+PONG\r\n");
    });
}

#[test]
fn etcd_says_its_version() {
    lives_and_goes(Product::Etcd, |stream| {
        stream
            .write_all(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            .unwrap();
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
    let private = Private::start(&wanted).unwrap();
    assert!(private.directory().starts_with(super::FALLBACK));
    assert!(
        private
            .fallback()
            .is_some_and(|why| why.contains(super::FALLBACK))
    );
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
        Lent::make(product, &place, settings).unwrap();
        let mut killed = Lent::start(product, &place, settings).unwrap();
        TcpStream::connect(("127.0.0.1", port(killed.url()))).unwrap();
        killed.end(Ending::Killed).unwrap();
        assert!(TcpStream::connect(("127.0.0.1", port(killed.url()))).is_err());
        // The files of the one that was killed are not taken for signs of the next.
        let mut lent = Lent::start(product, &place, settings).unwrap();
        lent.end(Ending::InOrder).unwrap();
        let mut quit = Lent::start(product, &place, settings).unwrap();
        quit.end(Ending::AtOnce).unwrap();
        assert!(place.join("data").is_dir(), "whoever lends it removes it");
        let wrong = [("no_such_setting".to_owned(), "1".to_owned())];
        let why = Lent::start(product, &place, &wrong).unwrap_err();
        let NotStarted::Ended(words) = &why else {
            panic!("{why:?}")
        };
        assert!(words.contains("no_such_setting"), "{words}");
    }
}

#[test]
fn what_a_product_cannot_keep_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let mut full = wanted(Product::Redis, &folder);
    full.durability = syncline_contract::Durability::Full;
    let why = Private::start(&full).unwrap_err().to_string();
    assert!(why.contains("durability=full"), "{why}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
