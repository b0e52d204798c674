//! The location of the drivers, and a Derby network server of the test's own.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use syncline_launcher::{LaunchSpec, Product};
use syncline_stores::AnyTarget;
use syncline_testkit::{TestServer, port_of, url_option};

/// The jar files of a product, with colons between them.
pub(crate) fn jars(names: &[&str]) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("jdbc-drivers");
    let jar = |name: &&str| -> PathBuf {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut paths = entries.map(|entry| entry.path());
        let found = paths.find(|path| {
            let file = path.file_name().unwrap().to_str().unwrap();
            let version = file.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
            version.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
        });
        found.unwrap_or_else(|| {
            let folder = folder.display();
            panic!("no {name} in {folder}: run scripts/fetch-jdbc-drivers first")
        })
    };
    let jars: Vec<_> = names.iter().map(jar).collect();
    let jars: Vec<_> = jars.iter().map(|jar| jar.to_str().unwrap()).collect();
    jars.join(":")
}

/// The jar files of Derby, with server and client.
pub(crate) fn derby_jars() -> String {
    jars(&["derby", "derbyshared", "derbytools", "derbynet", "derbyclient"])
}

/// The target of a URL.
pub(crate) fn open(url: &str) -> AnyTarget {
    AnyTarget::open(url).unwrap_or_else(|error| panic!("{url}: {error}"))
}

/// A private server of a product that is not written in Java, in a directory of its own.
pub(crate) struct NativeServer(TestServer);

impl NativeServer {
    pub(crate) fn start(product: Product) -> NativeServer {
        NativeServer(TestServer::start(LaunchSpec::new(product)))
    }

    /// The URL for its JDBC driver.
    pub(crate) fn url(&self, options: &str) -> String {
        let server = &self.0.private;
        let port = port_of(server.url());
        let login =
            format!("&password-file={}", url_option(server.url(), "password-file").unwrap());
        let (place, driver) = match server.product() {
            Product::Postgres => (
                format!("postgresql://127.0.0.1:{port}/postgres?user=postgres"),
                jars(&["postgresql"]),
            ),
            Product::Mariadb => {
                (format!("mariadb://127.0.0.1:{port}/?user=root"), jars(&["mariadb-java-client"]))
            }
            other => panic!("{} has no JDBC driver in these tests", other.word()),
        };
        format!("jdbc:{place}{login}&driver={driver}{options}")
    }
}

/// A Derby network server on a free loopback port, stopped when it is dropped.
pub(crate) struct DerbyServer {
    process: Child,
    pub(crate) port: u16,
    _folder: tempfile::TempDir,
}

impl DerbyServer {
    pub(crate) fn start() -> DerbyServer {
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut process = Command::new("java")
            .arg(format!("-Dderby.system.home={}", folder.path().display()))
            .args(["-cp", &derby_jars()])
            .arg("org.apache.derby.drda.NetworkServerControl")
            .args(["start", "-h", "127.0.0.1", "-p", &port.to_string()])
            .arg("-noSecurityManager")
            .stdout(Stdio::piped())
            .spawn()
            .expect("a java on the path");
        // It prints a line when it accepts connections; later output is discarded, so that it does not
        // fill the pipe.
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let ready = lines
            .by_ref()
            .map_while(Result::ok)
            .any(|line| line.contains("ready to accept connections"));
        assert!(ready, "the Derby network server ended before it was ready");
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        DerbyServer { process, port, _folder: folder }
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The URL of a database on it, created at the first connection.
    pub(crate) fn url(&self, options: &str) -> String {
        let (port, jars) = (self.port, derby_jars());
        format!("jdbc:derby://127.0.0.1:{port}/bench;create=true?driver={jars}{options}")
    }
}

impl Drop for DerbyServer {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
