//! Passwords are not in the process list, in records or in messages.

use crate::support::{ProgramOutput, folder, interrupt, program, records, start};
use crate::unmanaged_server::{UnmanagedServer, command_lines, first_interval};

/// Contains a character that is a delimiter elsewhere in a URL.
const PASSWORD: &str = "open;sesame-4711";

/// The server's URL, after its password has been set to [`PASSWORD`].
fn with_password(server: &UnmanagedServer) -> String {
    server.ask(&format!("ALTER ROLE postgres PASSWORD '{PASSWORD}'"));
    let old = server.password();
    server.url().replace(&old, PASSWORD)
}

#[test]
fn a_password_in_a_url_is_in_no_process_list_no_record_and_no_message() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    let url = with_password(&server);
    let line = format!("run insert --on {url} --duration 60s --warm-up 0 --line none");
    let child = start(folder.path(), &line);
    first_interval(folder.path());
    let ours = child.id().to_string();
    let listed = std::fs::read(format!("/proc/{ours}/cmdline")).unwrap();
    let listed = String::from_utf8_lossy(&listed).replace('\0', " ");
    assert!(listed.contains("run insert"), "{listed}");
    assert!(!listed.contains(PASSWORD), "{listed}");
    assert!(command_lines().iter().all(|line| !line.contains(PASSWORD)));
    interrupt(&child);
    let result = ProgramOutput::after(child);
    let record = std::fs::read_to_string(records(folder.path()).remove(0)).unwrap();
    for text in [&result.out, &result.err, &record] {
        assert!(!text.contains("sesame"), "{text}");
    }
    assert!(record.contains("postgres://postgres@127.0.0.1"), "{record}");
}

#[test]
fn sysbench_with_its_own_driver_options_keeps_its_tables_until_cleanup_and_hides_the_password() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    let port = server.port();
    let password = server.password();
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'syncline_sysbench'";
    for (command, left) in [("prepare", "1"), ("run", "1"), ("cleanup", "0")] {
        let line = format!(
            "sysbench oltp_point_select --pgsql-user=postgres --pgsql-host=127.0.0.1 --pgsql-port={port} \
             --pgsql-db=postgres --pgsql-password={password} --table-size=10 --events=10 --time=0 {command}"
        );
        let result = ProgramOutput::of(program(folder.path(), &line).output().unwrap());
        assert_eq!(result.code, 0, "{result:?}");
        assert_eq!(server.ask(schemas), left, "{command}");
        for text in [&result.out, &result.err] {
            assert!(!text.contains(&password), "{text}");
        }
    }
    let record = std::fs::read_to_string(records(folder.path()).remove(0)).unwrap();
    assert!(record.contains("--pgsql-password="), "{record}");
    assert!(!record.contains(&password), "{record}");
    assert!(record.contains("\"rows_kept\":true"), "{record}");
}

#[test]
fn a_refused_url_is_shown_without_its_password() {
    let folder = folder();
    for url in [
        format!("postgres://bob:{PASSWORD}@127.0.0.1:1/db"),
        format!("postgres://bob:?{PASSWORD}@127.0.0.1:1/db"),
        format!("postgres://bob:{PASSWORD}@127.0.0.1:99999/db"),
        format!("postgres://bob:{PASSWORD}@127.0.0.1:1/db?hue=red"),
        format!("nothing://bob:{PASSWORD}@127.0.0.1:1/db"),
        format!("mysql://127.0.0.1:1/?password={PASSWORD}"),
    ] {
        for line in [
            format!("run insert --on {url} --transactions 1"),
            format!("sysbench oltp_insert --on={url} prepare"),
            format!("pgbench -i --on {url}"),
            format!("ycsb load -P none --on {url}"),
        ] {
            let result = ProgramOutput::of(program(folder.path(), &line).output().unwrap());
            assert_eq!(result.code, 2, "{line}: {result:?}");
            let text = result.out.clone() + &result.err;
            assert!(!text.contains("sesame"), "{result:?}");
        }
    }
}
