//! Runs through `PgBouncer`: an application that shares the pool finds its sessions unchanged.
//!
//! The pooler listens only on a Unix socket, in its own directory, as the user of the private server. If
//! `PgBouncer` is not installed, these tests print that they are skipped; `./test` installs it first.

use crate::support::{ProgramOutput, folder, program};
use crate::unmanaged_server::UnmanagedServer;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use syncline_instrument::clock;
use tempfile::TempDir;

/// The longest time until an impossible request is refused.
const REFUSED_WITHIN: Duration = Duration::from_secs(10);
/// A run that takes longer than this hangs; on a busy machine every case takes less.
const HANGS_AFTER: Duration = Duration::from_secs(90);
/// The number in the name of the pooler's socket, the only one in its directory.
const PORT: u16 = 6432;
/// The database that the pooler passes on.
const DATABASE: &str = "shop";

/// A `PgBouncer` in front of a server; ends with the test.
struct Pooler {
    process: Child,
    directory: TempDir,
}

impl Pooler {
    /// None if it is not installed.
    #[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
    fn start(world: &UnmanagedServer, settings: &str) -> Option<Pooler> {
        let Some(installed) = installed() else {
            println!("skipped: pgbouncer is not installed");
            return None;
        };
        let directory = tempfile::tempdir_in("/tmp").unwrap();
        let server = world.socket_directory();
        let configuration = format!(
            "[databases]\n\
             {DATABASE} = host={server} port={} dbname=postgres user=postgres password={}\n\
             [pgbouncer]\n\
             listen_addr =\n\
             listen_port = {PORT}\n\
             unix_socket_dir = {}\n\
             auth_type = any\n\
             {settings}\n",
            world.port(),
            world.password(),
            directory.path().display(),
        );
        let file = directory.path().join("pgbouncer.ini");
        fs::write(&file, configuration).unwrap();
        fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        let owner = fs::metadata(&server).unwrap();
        for path in [directory.path(), &file] {
            chown(path, Some(owner.uid()), Some(owner.gid())).unwrap();
        }
        let mut command = Command::new(installed);
        if owner.uid() != fs::metadata("/proc/self").unwrap().uid() {
            // When the user changes, the standard library clears the groups as well.
            command.uid(owner.uid()).gid(owner.gid());
        }
        let process = command
            .arg(&file)
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut pooler = Pooler { process: process.unwrap(), directory };
        let mut log = BufReader::new(pooler.process.stderr.take().unwrap()).lines();
        let mut read = Vec::new();
        let ready = log.by_ref().map_while(Result::ok).any(|line| {
            let ready = line.contains("process up");
            read.push(line);
            ready
        });
        assert!(ready, "PgBouncer ended before it was ready: {read:#?}");
        // Drains the pipe so that it never fills.
        std::thread::spawn(move || log.map_while(Result::ok).for_each(drop));
        Some(pooler)
    }

    fn socket(&self) -> String {
        self.directory.path().display().to_string()
    }

    /// The URL by which a run reaches the server through the pool.
    fn url(&self, options: &str) -> String {
        let socket = self.socket().replace('/', "%2F");
        format!("postgres://postgres@:{PORT}/{DATABASE}?socket={socket}{options}")
    }

    /// The application's answer to a statement, on any connection of the pool.
    fn application(&self, sql: &str) -> String {
        let output = Command::new("psql")
            .args(["-h", &self.socket(), "-p", &PORT.to_string()])
            .args(["-U", "postgres", "-X", "-A", "-t", "-q", "-c", sql, DATABASE])
            .env_remove("PGOPTIONS")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// What a run could leave on the pool's connections, with one answer per possible connection.
    fn sessions(&self) -> Vec<String> {
        let asked = "SELECT current_setting('search_path'), current_setting('synchronous_commit'), \
                     current_setting('default_transaction_isolation'), current_setting('lock_timeout'), \
                     current_setting('statement_timeout'), current_setting('application_name') LIKE \
                     'syncline%', (SELECT count(*) FROM pg_prepared_statements)";
        (0..6).map(|_| self.application(asked)).collect()
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn installed() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&paths).chain([PathBuf::from("/usr/sbin")]);
    folders.map(|folder| folder.join("pgbouncer")).find(|path| path.is_file())
}

/// Runs the program to its end, and returns how long that took.
fn ends(folder: &Path, line: &str, target: &str) -> (ProgramOutput, Duration) {
    let begun = clock::now();
    let passed = || Duration::from_nanos(clock::now() - begun);
    let mut process = program(folder, line)
        .args(["--on", target])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while process.try_wait().unwrap().is_none() {
        if passed() > HANGS_AFTER {
            process.kill().unwrap();
            panic!("{line}: {:?}", ProgramOutput::after(process));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let took = passed();
    (ProgramOutput::after(process), took)
}

const RUN: &str = "run insert --warm-up 0 --line none --transactions 40";

// B.F1
#[test]
fn a_pooler_that_shares_connections_is_refused_and_its_sessions_stay_unchanged() {
    let world = UnmanagedServer::new();
    world.ask("CREATE TABLE orders (id int); INSERT INTO orders VALUES (1)");
    let before = world.everything();
    for mode in ["transaction", "statement"] {
        let settings = format!("pool_mode = {mode}\ndefault_pool_size = 4");
        let Some(pooler) = Pooler::start(&world, &settings) else {
            return;
        };
        let folder = folder();
        let sessions = pooler.sessions();
        assert!(sessions[0].ends_with("|f|0"), "{sessions:?}");
        for (options, clients) in
            [("", 1), ("", 4), ("&durability=none&isolation=serializable", 2), ("&live=yes", 2)]
        {
            let line = format!("{RUN} --clients {clients}");
            let (result, took) = ends(folder.path(), &line, &pooler.url(options));
            assert_eq!(result.code, 2, "{mode} {options}: {result:?}");
            assert!(
                result.err.contains("is a pooler in transaction mode")
                    && result.err.contains("PgBouncer")
                    && result.err.contains("name the server's own port"),
                "{mode} {options}: {result:?}"
            );
            assert!(took < REFUSED_WITHIN, "{mode} {options}: {took:?}");
            assert_eq!(pooler.sessions(), sessions, "{mode} {options}");
            assert_eq!(pooler.application("SELECT count(*) FROM orders"), "1");
        }
        assert_eq!(world.everything(), before, "{mode}");
        assert!(crate::support::records(folder.path()).is_empty());
    }
}

// B.F1, B.F13: the connections of the last run, which the pool keeps, do not cause the next run to be
// refused.
#[test]
fn runs_through_a_pool_of_whole_sessions_work_and_leave_nothing() {
    let world = UnmanagedServer::new();
    world.ask("CREATE TABLE orders (id int); INSERT INTO orders VALUES (1)");
    let before = world.everything();
    let Some(pooler) = Pooler::start(&world, "pool_mode = session\ndefault_pool_size = 12") else {
        return;
    };
    let folder = folder();
    let sessions = pooler.sessions();
    for options in ["", "&durability=none&isolation=serializable"] {
        let line = format!("{RUN} --clients 2");
        let (result, _) = ends(folder.path(), &line, &pooler.url(options));
        assert_eq!(result.code, 0, "{options}: {result:?}");
        assert_eq!(pooler.sessions(), sessions, "{options}");
        assert_eq!(pooler.application("SELECT count(*) FROM orders"), "1");
        assert_eq!(world.everything(), before, "{options}");
    }
}

// B.F13
#[test]
fn more_clients_than_a_pool_has_connections_end_in_a_sentence() {
    let world = UnmanagedServer::new();
    let before = world.everything();
    for mode in ["session", "transaction"] {
        let settings = format!("pool_mode = {mode}\ndefault_pool_size = 5");
        let Some(pooler) = Pooler::start(&world, &settings) else {
            return;
        };
        let folder = folder();
        let line = format!("{RUN} --clients 16");
        let target = pooler.url("&connect_timeout_ms=1000");
        let (result, took) = ends(folder.path(), &line, &target);
        assert_eq!(result.code, 2, "{mode}: {result:?}");
        let reason = match mode {
            "session" => "a pooler there may have fewer connections than the run has clients",
            _ => "is a pooler in transaction mode",
        };
        assert!(result.err.contains(reason), "{mode}: {result:?}");
        assert!(took < REFUSED_WITHIN, "{mode}: {took:?}");
        assert_eq!(world.everything(), before, "{mode}");
        let sessions = pooler.sessions();
        assert!(sessions.iter().all(|one| one == &sessions[0]), "{sessions:?}");
        assert!(sessions[0].ends_with("|f|0"), "{sessions:?}");
    }
}
