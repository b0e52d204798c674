//! A MariaDB server of a test's own: a temporary directory, a socket and a free port, an unprivileged
//! user; it ends with the test process.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// Debian's unprivileged user, which a server runs as if the test is root.
const NOBODY: u32 = 65_534;

/// How often, and at which interval, to check whether a server accepts connections.
const CHECKS: usize = 3_000;
const BETWEEN_CHECKS: Duration = Duration::from_millis(20);

/// A running server.
pub(crate) struct Server {
    directory: TempDir,
    pub(crate) port: u16,
    process: Child,
}

impl Server {
    /// Starts a server with further arguments; panics with the server's output if it does not come up.
    pub(crate) fn start(arguments: &[&str]) -> Server {
        let directory = tempfile::tempdir().expect("a folder for the server");
        let data = directory.path().join("data");
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("a mode");
        if is_root() {
            chown(directory.path(), Some(NOBODY), Some(NOBODY)).expect("an owner");
        }
        let mut install = unprivileged("mariadb-install-db");
        install.args(["--no-defaults", "--auth-root-authentication-method=normal"]);
        install.arg("--skip-test-db").arg(option("datadir", &data));
        // Two concurrent installations in a common directory disturb each other.
        install.env("TMPDIR", directory.path());
        let installed =
            install.output().expect("mariadb-install-db, of Debian's package mariadb-server");
        let output = String::from_utf8_lossy(&installed.stderr);
        assert!(installed.status.success(), "no data directory: {output}");
        let port = free_port();
        let mut command = unprivileged("mariadbd");
        command
            .arg("--no-defaults")
            .arg(option("datadir", &data))
            .arg(option("socket", &socket_in(directory.path())))
            .arg(option("pid-file", &directory.path().join("pid")))
            .arg(option("tmpdir", directory.path()))
            .arg(option("log-error", &directory.path().join("log")))
            .arg(option("secure-file-priv", &data))
            .args(["--bind-address=127.0.0.1", "--innodb-log-file-size=16M"])
            .arg(format!("--port={port}"))
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = spawn(command);
        let mut server = Server { directory, port, process };
        server.wait_until_up();
        server
    }

    /// One server for all tests that do not disturb others and look only at what is their own.
    pub(crate) fn shared() -> &'static Server {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(|| {
            Server::start(&["--max-connections=100", "--plugin-load-add=auth_ed25519"])
        })
    }

    fn wait_until_up(&mut self) {
        let log = self.directory.path().join("log");
        let log = || fs::read_to_string(&log).unwrap_or_default();
        for _ in 0..CHECKS {
            let ended = self.process.try_wait().expect("a child's state");
            assert!(ended.is_none(), "the server ended: {}", log());
            if self.try_query("SELECT 1").is_ok_and(|output| output.trim() == "1") {
                return;
            }
            thread::sleep(BETWEEN_CHECKS);
        }
        panic!("the server does not come up: {}", log());
    }

    /// The file of its socket.
    pub(crate) fn socket(&self) -> PathBuf {
        socket_in(self.directory.path())
    }

    /// The data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// The process of the server itself.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The URL through its socket, with options.
    pub(crate) fn by_socket(&self, options: &str) -> String {
        {
            let url = format!("mariadb://root@?socket={}", self.socket().display());
            if options.is_empty() { url } else { format!("{url}&{options}") }
        }
    }

    /// The URL through TCP, with options.
    pub(crate) fn by_tcp(&self, options: &str) -> String {
        format!("mariadb://root@127.0.0.1:{}?{options}", self.port)
    }

    /// The answer that the product's own client gets.
    pub(crate) fn try_query(&self, statement: &str) -> Result<String, String> {
        let output = Command::new("mariadb")
            .args(["--no-defaults", "-uroot", "-N", "-B"])
            .arg(option("socket", &self.socket()))
            .args(["-e", statement])
            .output()
            .expect("mariadb, of Debian's package mariadb-client");
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    /// As [`Server::try_query`], for a statement that must succeed.
    pub(crate) fn query(&self, statement: &str) -> String {
        self.try_query(statement).unwrap_or_else(|output| panic!("{statement}: {output}"))
    }

    /// Kills it like a crash.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("a child that can be killed");
        self.process.wait().expect("a child that ends");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that a test has killed is gone already.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn socket_in(directory: &Path) -> PathBuf {
    directory.join("s")
}

fn option(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}

/// A loopback port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0)
}

/// A program that drops root's rights first, if it has them, and ends when the thread that started it
/// ends.
fn unprivileged(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]);
    if is_root() {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    }
    command.arg(program).current_dir("/");
    command
}

/// Starts a server on a thread that runs as long as the process: the parent-death signal refers to the
/// thread that started it.
fn spawn(mut command: Command) -> Child {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let child = command.spawn();
        let sent = sender.send(child);
        sent.expect("the receiver waits for the server");
        loop {
            thread::park();
        }
    });
    let child = receiver.recv().expect("the thread sends the child");
    child.expect("mariadbd, of Debian's package mariadb-server")
}
