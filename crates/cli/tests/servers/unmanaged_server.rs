//! An unmanaged server with other users' tables and sessions.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use syncline_launcher::{LaunchSpec, PrivateServer, Product};
use syncline_testkit::{password_of, port_of, public_directory, url_option};
use tempfile::TempDir;

/// A PostgreSQL server that belongs to the test and is unmanaged for the program.
pub(crate) struct UnmanagedServer {
    server: PrivateServer,
    _folder: TempDir,
}

impl UnmanagedServer {
    pub(crate) fn new() -> UnmanagedServer {
        let folder = crate::support::folder();
        let server = PrivateServer::start(&LaunchSpec {
            directory: Some(folder.path().to_owned()),
            ..LaunchSpec::new(Product::Postgres)
        });
        UnmanagedServer { server: server.unwrap(), _folder: folder }
    }

    /// The URL with a password and without options.
    pub(crate) fn url(&self) -> String {
        with_password(self.server.url())
    }

    /// The port on which it listens.
    pub(crate) fn port(&self) -> String {
        port_of(self.server.url()).to_string()
    }

    /// The directory of its Unix socket.
    pub(crate) fn socket_directory(&self) -> String {
        url_option(&self.server.urls()[1], "socket").unwrap().replace("%2F", "/")
    }

    /// The password of its superuser.
    pub(crate) fn password(&self) -> String {
        password_of(self.server.url())
    }

    fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(["-h", "127.0.0.1", "-U", "postgres", "-p", &self.port()]);
        command.env("PGPASSWORD", self.password());
        command.stdin(Stdio::null());
        command
    }

    /// The answer to a statement, unaligned.
    pub(crate) fn ask(&self, sql: &str) -> String {
        let mut psql = self.client("psql");
        let output = psql.args(["-X", "-A", "-t", "-q", "-c", sql, "postgres"]).output();
        answered(&output.unwrap())
    }

    /// A session that stays in the middle of a transaction.
    pub(crate) fn other_session(&self) -> OtherSession {
        self.session_named("psql")
    }

    /// The same, with a given name.
    pub(crate) fn session_named(&self, name: &str) -> OtherSession {
        let mut psql = self.client("psql");
        psql.env("PGAPPNAME", name);
        let sql = "BEGIN; SELECT 1; SELECT pg_sleep(60)";
        psql.args(["-X", "-q", "-c", sql, "postgres"]).stdout(Stdio::null());
        let session = OtherSession(psql.stderr(Stdio::null()).spawn().unwrap());
        let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        while self.ask(sleeping) != "1" {
            std::thread::yield_now();
        }
        session
    }

    /// Waits while a condition holds for the other sessions (`other`, from `pg_stat_activity`). It uses a
    /// single transaction, so that the polling itself does not affect the result.
    pub(crate) fn wait_while(&self, condition: &str) {
        let others = "SELECT * FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> \
                      pg_backend_pid()";
        self.ask(&format!(
            "DO $$ BEGIN WHILE (WITH other AS ({others}) SELECT {condition} FROM other) LOOP PERFORM \
             pg_sleep(0.02); PERFORM pg_stat_clear_snapshot(); END LOOP; END $$"
        ));
    }

    /// Runs pgbench to its end.
    pub(crate) fn pgbench(&self, arguments: &[&str]) -> String {
        answered(&self.client("pgbench").args(arguments).output().unwrap())
    }

    /// Runs pgbench, however it ends.
    pub(crate) fn try_pgbench(&self, folder: &Path, arguments: &[&str]) -> Output {
        let mut pgbench = self.client("pgbench");
        pgbench.current_dir(folder).args(arguments).output().unwrap()
    }

    /// A text with everything that the server contains.
    pub(crate) fn everything(&self) -> String {
        let names = self.ask(
            "SELECT nspname || '.' || relname || ':' || relkind::text FROM pg_class JOIN pg_namespace n ON \
             n.oid = relnamespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' \
             UNION ALL SELECT 'schema ' || nspname FROM pg_namespace WHERE nspname !~ '^pg_' \
             UNION ALL SELECT 'database ' || datname FROM pg_database ORDER BY 1",
        );
        let set = self.ask(
            "SELECT name, setting FROM pg_settings WHERE source = 'configuration file' \
             OR source = 'database' OR source = 'user' ORDER BY 1",
        );
        format!("{names}\n{set}")
    }

    /// The schemas that Syncline manages.
    pub(crate) fn managed_schemas(&self) -> Vec<String> {
        let names = self.ask("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'syncline\\_%'");
        names.lines().map(str::to_owned).collect()
    }
}

/// A private server's URL with its password and without options.
pub(crate) fn with_password(url: &str) -> String {
    let place = url.split('?').next().unwrap();
    let (user, host) = place.split_once('@').unwrap_or((place, ""));
    match place.split_once("://") {
        Some((name, host)) if !place.contains('@') => {
            format!("{name}://:{}@{host}", password_of(url))
        }
        _ => format!("{user}:{}@{host}", password_of(url)),
    }
}

/// Another user's session; ends with the test.
pub(crate) struct OtherSession(Child);

impl Drop for OtherSession {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn answered(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout.clone()).unwrap().trim().to_owned()
}

/// The command lines of all visible processes.
pub(crate) fn command_lines() -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.map(|entry| entry.path().join("cmdline"));
    lines
        .filter_map(|path: PathBuf| std::fs::read(path).ok())
        .map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " "))
        .collect()
}

/// Waits until a run in the directory has measured something.
pub(crate) fn first_interval(folder: &Path) {
    let lines = || {
        let record = crate::support::records(folder).pop()?;
        Some(std::fs::read_to_string(record).ok()?.lines().count())
    };
    while lines().is_none_or(|lines| lines < 2) {
        std::thread::yield_now();
    }
}

/// A directory on a disk that every user may enter, wherever the repository is.
pub(crate) fn open_folder() -> TempDir {
    public_directory(Path::new(syncline_launcher::FALLBACK))
}
