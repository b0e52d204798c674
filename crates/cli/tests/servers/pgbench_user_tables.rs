//! `syncline pgbench` with the user's own data: tables that the real pgbench made, libpq's environment,
//! connection strings, and scripts whose clients define one object at the same time.

use crate::support::{ProgramOutput, folder, program};
use crate::unmanaged_server::UnmanagedServer;
use std::path::Path;
use std::process::Command;

/// The options that name a server, as in pgbench.
fn flags(server: &UnmanagedServer) -> String {
    format!("-h 127.0.0.1 -p {} -U postgres", server.port())
}

/// The program with the password of the server in its environment.
fn syncline(server: &UnmanagedServer, folder: &Path, line: &str) -> ProgramOutput {
    let mut program = program(folder, line);
    program.env("PGPASSWORD", server.password());
    ProgramOutput::of(program.output().unwrap())
}

/// Runs the program with the password and the given variables as its only libpq environment.
fn under(
    server: &UnmanagedServer,
    folder: &Path,
    line: &str,
    variables: &[(&str, &str)],
) -> ProgramOutput {
    let mut program = program(folder, line);
    without_libpq(&mut program)
        .env("PGPASSWORD", server.password())
        .envs(variables.iter().copied());
    ProgramOutput::of(program.output().unwrap())
}

fn without_libpq(program: &mut Command) -> &mut Command {
    let set = std::env::vars().map(|(name, _)| name);
    for name in set.filter(|name| name.starts_with("PG")) {
        program.env_remove(name);
    }
    program
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap();
}

/// f02: tables that pgbench itself made are measured, and nothing is created next to them.
#[test]
fn tables_that_pgbench_made_are_used_as_they_are() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    let flags = flags(&server);
    server.pgbench(&["-i", "-q", "-s", "2", "postgres"]);
    server.ask("ALTER TABLE pgbench_accounts ADD seen_at timestamptz");
    let everything = server.everything();
    write(
        folder.path(),
        "own.sql",
        "\\set aid random(1, 100000 * :scale)\n\
         UPDATE pgbench_accounts SET seen_at = now() WHERE aid = :aid;\n",
    );
    let own =
        syncline(&server, folder.path(), &format!("pgbench -n -t 5 -f own.sql {flags} postgres"));
    assert_eq!(own.code, 0, "{own:?}");
    assert!(own.out.contains("actually processed: 5/5"), "{own:?}");
    assert!(own.out.contains("scaling factor: 1\n"), "as pgbench: of no -s it is 1: {own:?}");
    let seen = server
        .ask("SELECT count(*) BETWEEN 1 AND 5 FROM pgbench_accounts WHERE seen_at IS NOT NULL");
    assert_eq!(seen, "t");
    for (more, warned) in [("-S -n", ""), ("-n -s 7", "scale option ignored"), ("", "as with -n")] {
        let line = format!("pgbench {more} -c 2 -t 20 --max-tries 50 {flags} postgres");
        let result = syncline(&server, folder.path(), &line);
        assert_eq!(result.code, 0, "{result:?}");
        assert!(result.out.contains("scaling factor: 2\n"), "{result:?}");
        assert!(result.err.contains(warned), "{more}: {result:?}");
    }
    assert_eq!(server.ask("SELECT count(*) FROM pgbench_history"), "80");
    assert_eq!(server.everything(), everything, "nothing is left without -i");
    let on = syncline(&server, folder.path(), &format!("pgbench -n -S -t 5 --on {}", server.url()));
    assert_eq!(on.code, 0, "{on:?}");
    assert!(on.out.contains("scaling factor: 2\n"), "{on:?}");
    let filling = syncline(&server, folder.path(), &format!("pgbench -i -q {flags} postgres"));
    assert_eq!(filling.code, 2, "{filling:?}");
    assert!(
        filling.err.contains("public.pgbench_accounts is at") && filling.err.contains("omit -i"),
        "{filling:?}"
    );
    assert_eq!(server.everything(), everything);
    // Tables with a similar name are not used.
    write(folder.path(), "alike.sql", "CREATE TEMP TABLE pgbench_accounts_copy (n int);\n");
    let alike =
        syncline(&server, folder.path(), &format!("pgbench -n -t 1 -f alike.sql {flags} postgres"));
    assert_eq!(alike.code, 0, "{alike:?}");
}

/// f02: without -i nothing is created where tables stay, and if both kinds of tables exist, neither is
/// chosen.
#[test]
fn without_i_nothing_is_created_and_two_kinds_of_tables_are_refused() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    let flags = flags(&server);
    let everything = server.everything();
    let missing = syncline(&server, folder.path(), &format!("pgbench -S -t 1 {flags} postgres"));
    assert_eq!(missing.code, 2, "{missing:?}");
    assert!(missing.err.contains("create them with -i first"), "{missing:?}");
    assert_eq!(server.everything(), everything);
    let made = syncline(&server, folder.path(), &format!("pgbench -i -q {flags} postgres"));
    assert_eq!(made.code, 0, "{made:?}");
    let ours = syncline(&server, folder.path(), &format!("pgbench -t 5 {flags} postgres"));
    assert_eq!(ours.code, 0, "{ours:?}");
    // A script creates its objects where it would without Syncline.
    write(folder.path(), "make.sql", "CREATE TABLE made (a int);\n");
    let make =
        syncline(&server, folder.path(), &format!("pgbench -n -t 1 -f make.sql {flags} postgres"));
    assert_eq!(make.code, 0, "{make:?}");
    assert_eq!(server.ask("SELECT to_regclass('public.made') IS NOT NULL"), "t");
    server.pgbench(&["-i", "-q", "postgres"]);
    let both = syncline(&server, folder.path(), &format!("pgbench -S -t 1 {flags} postgres"));
    assert_eq!(both.code, 2, "{both:?}");
    assert!(
        both.err.contains("public.pgbench_accounts is at")
            && both.err.contains("so are tables that"),
        "{both:?}"
    );
}

/// f03, f04, f05, f06, f12: the environment and connection strings take effect.
#[test]
fn libpq_s_environment_and_connection_strings_take_effect() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    server.ask("CREATE TABLE kept (word text)");
    write(
        folder.path(),
        "kept.sql",
        "SELECT current_setting('synchronous_commit') AS word \\gset\nINSERT INTO kept VALUES (':word');\n",
    );
    write(folder.path(), "one.sql", "SELECT 1;\n");
    let port = server.port();
    let flags = flags(&server);
    let kept = |variables: &[(&str, &str)]| {
        server.ask("TRUNCATE kept");
        let line = format!("pgbench -n -t 1 -f kept.sql {flags} postgres");
        let result = under(&server, folder.path(), &line, variables);
        assert_eq!(result.code, 0, "{result:?}");
        (server.ask("SELECT word FROM kept"), result)
    };
    assert_eq!(kept(&[]).0, "on");
    let (word, result) = kept(&[("PGOPTIONS", "-c synchronous_commit=off")]);
    assert_eq!(word, "off", "f03");
    assert!(result.err.contains("durability=none"), "{result:?}");
    server.ask("ALTER ROLE postgres SET synchronous_commit = off");
    assert_eq!(kept(&[]).0, "off", "f03: the role's own setting holds too");
    server.ask("ALTER ROLE postgres RESET synchronous_commit");
    let one = format!("pgbench -n -t 1 -f one.sql {flags} postgres");
    let plain = under(&server, folder.path(), &one, &[("PGSSLMODE", "require")]);
    assert_eq!(plain.code, 2, "f04: {plain:?}");
    assert!(plain.err.contains("does not encrypt"), "{plain:?}");
    let alone = [
        ("PGHOST", "127.0.0.1"),
        ("PGPORT", port.as_str()),
        ("PGUSER", "postgres"),
        ("PGDATABASE", "postgres"),
    ];
    let result = under(&server, folder.path(), "pgbench -n -t 1 -f one.sql", &alone);
    assert_eq!(result.code, 0, "f05: {result:?}");
    let password = server.password();
    for name in [
        format!("postgresql://postgres@127.0.0.1:{port}/postgres"),
        format!("host=127.0.0.1 port={port} user=postgres dbname=postgres password={password}"),
        format!("postgres://127.0.0.1/postgres?port={port}&user=postgres&application_name=x"),
    ] {
        let mut program = program(folder.path(), "pgbench -n -t 1 -f one.sql");
        without_libpq(&mut program).env("PGPASSWORD", server.password());
        let result = ProgramOutput::of(program.arg(&name).output().unwrap());
        assert_eq!(result.code, 0, "f06: {name}: {result:?}");
        assert!(!result.err.contains(&password), "{result:?}");
    }
    let records = crate::support::records(folder.path());
    let newest = std::fs::read_to_string(records.last().unwrap()).unwrap();
    assert!(!newest.contains(&password) && newest.contains("application_name"), "{newest}");
    let url = format!("postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=prefer");
    let pasted = syncline(
        &server,
        folder.path(),
        &format!("run insert --on {url} --transactions 5 --warm-up 0 --line none"),
    );
    assert_eq!(pasted.code, 0, "D14: {pasted:?}");
    // f12: both clients define the table at once; the loser counts a failed transaction and continues.
    write(
        folder.path(),
        "define.sql",
        "CREATE TABLE IF NOT EXISTS made_here (a INT);\nINSERT INTO made_here VALUES (:client_id);\n",
    );
    for _ in 0..3 {
        server.ask("DROP TABLE IF EXISTS made_here");
        let line = format!("pgbench -n -c 4 -j 4 -t 5 -f define.sql {flags} postgres");
        let result = syncline(&server, folder.path(), &line);
        assert_eq!(result.code, 0, "{result:?}");
        let rows: u64 = server.ask("SELECT count(*) FROM made_here").parse().unwrap();
        assert!(
            result.out.contains(&format!("actually processed: {rows}/20")),
            "{rows}: {result:?}"
        );
        assert!(rows >= 17, "each client loses at most its first: {result:?}");
        let again = syncline(&server, folder.path(), &format!("{line} --max-tries 10"));
        assert!(again.out.contains("actually processed: 20/20"), "{again:?}");
    }
}
