//! `syncline verify durability --like`: a twin of a live server, which is only looked at.

use crate::support::{folder, say};
use crate::world::World;

const SMALL: &str = "--images 20 --control-images 10 --kills 1 --load 400ms --no-faults --json";

#[test]
fn a_twin_has_the_live_servers_settings_and_the_server_is_left_alone() {
    let (world, folder) = (World::new(), folder());
    // A role's setting goes before one of the command line, by which the server was started.
    world.ask("ALTER ROLE postgres SET synchronous_commit = off");
    world.ask("ALTER SYSTEM SET archive_command = 'touch /nowhere/at/all'");
    world.ask("SELECT pg_reload_conf()");
    let set = "SELECT setting FROM pg_settings WHERE name = 'synchronous_commit'";
    assert_eq!(world.ask(set), "off");
    let began = world.ask("SELECT pg_postmaster_start_time()");
    let line = format!("verify durability --like {} {SMALL}", world.url());
    let said = say(folder.path(), &line);
    assert_eq!(said.code, 0, "{said:?}");
    let record = said.json();
    let copied = record["like"]["copied"].to_string();
    assert!(copied.contains("synchronous_commit=off"), "{copied}");
    assert!(!said.out.contains("archive_command"), "{said:?}");
    assert_eq!(record["store"], "postgres", "{record}");
    assert!(
        record["verdict"]["promises_nothing"].is_string(),
        "{record}"
    );

    assert_eq!(world.ask("SELECT pg_postmaster_start_time()"), began);
    let ours = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'syncline%'";
    assert_eq!(world.ask(ours), "0");
}

#[test]
fn a_live_server_itself_is_refused_and_only_servers_have_twins() {
    let (world, folder) = (World::new(), folder());
    let said = say(folder.path(), &format!("verify durability {}", world.url()));
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("--like"), "{said:?}");
    let said = say(folder.path(), "verify durability --like sqlite");
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("cannot be observed"), "{said:?}");
}
