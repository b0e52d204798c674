//! `syncline verify durability --like`: a replica configuration of a live server, which is only read.

use crate::support::{folder, syncline};
use crate::unmanaged_server::{UnmanagedServer, with_password};
use std::process::Command;
use syncline_launcher::{LaunchSpec, PrivateServer, Product};
use tempfile::TempDir;

const SMALL: &str = "--images 20 --control-images 10 --kills 1 --load 400ms --no-faults --json";

#[test]
fn a_replica_has_the_live_server_s_settings_and_the_server_is_unchanged() {
    let (world, folder) = (UnmanagedServer::new(), folder());
    // A role's setting overrides that of the command line with which the server was started.
    world.ask("ALTER ROLE postgres SET synchronous_commit = off");
    world.ask("ALTER SYSTEM SET archive_command = 'touch /nowhere/at/all'");
    world.ask("SELECT pg_reload_conf()");
    let set = "SELECT setting FROM pg_settings WHERE name = 'synchronous_commit'";
    assert_eq!(world.ask(set), "off");
    let began = world.ask("SELECT pg_postmaster_start_time()");
    let line = format!("verify durability --like {} {SMALL}", world.url());
    let result = syncline(folder.path(), &line);
    assert_eq!(result.code, 0, "{result:?}");
    let record = result.json()["finding"].clone();
    let copied = record["like"]["copied"].to_string();
    assert!(copied.contains("synchronous_commit=off"), "{copied}");
    assert!(!result.out.contains("archive_command"), "{result:?}");
    assert_eq!(record["store"], "postgres", "{record}");
    assert!(record["verdict"]["promises_nothing"].is_string(), "{record}");

    assert_eq!(world.ask("SELECT pg_postmaster_start_time()"), began);
    let ours = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'syncline%'";
    assert_eq!(world.ask(ours), "0");
}

#[test]
fn a_live_server_itself_is_refused_and_only_servers_have_replicas() {
    let (world, folder) = (UnmanagedServer::new(), folder());
    let result = syncline(folder.path(), &format!("verify durability {}", world.url()));
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.err.contains("--like"), "{result:?}");
    let result = syncline(folder.path(), "verify durability --like sqlite");
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.err.contains("cannot be observed"), "{result:?}");
}

/// An unmanaged server, and its URL.
fn unmanaged_server(product: Product) -> (PrivateServer, String, TempDir) {
    let folder = folder();
    let server = PrivateServer::start(&LaunchSpec {
        directory: Some(folder.path().to_owned()),
        ..LaunchSpec::new(product)
    });
    let server = server.unwrap();
    let url = if server.urls()[0].contains("password-file=") {
        with_password(server.url())
    } else {
        server.url().to_owned()
    };
    (server, url, folder)
}

/// MariaDB's answer to a statement, unaligned.
fn ask_mariadb(url: &str, sql: &str) -> String {
    let password = url.split([':', '@']).nth(2).unwrap();
    let port = url.rsplit_once(':').unwrap().1.trim_end_matches('/');
    let mut client = Command::new("mariadb");
    client.args(["--no-defaults", "-h127.0.0.1", "-uroot", "-P", port]);
    client.env("MYSQL_PWD", password);
    let output = client.args(["-N", "-B", "-e", sql]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn mariadb_has_a_replica_of_its_version_with_its_settings() {
    let (_server, url, _folder) = unmanaged_server(Product::Mariadb);
    ask_mariadb(&url, "SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    ask_mariadb(&url, "SET GLOBAL innodb_max_dirty_pages_pct = 17");
    let databases = ask_mariadb(&url, "SHOW DATABASES");
    let folder = folder();
    let tiny = "--images 10 --control-images 1 --kills 1 --load 200ms --no-faults --json";
    let line = format!("verify durability --like {url} {tiny}");
    let result = syncline(folder.path(), &line);
    assert_eq!(result.code, 0, "{result:?}");
    let record = result.json()["finding"].clone();
    let copied = serde_json::json!(["innodb_flush_log_at_trx_commit=2"]);
    assert_eq!(record["like"]["copied"], copied, "{record}");
    assert_eq!(record["store"], "mariadb", "{record}");
    let version = ask_mariadb(&url, "SELECT VERSION()");
    assert_eq!(record["like"]["version"], version.as_str(), "{record}");
    assert_eq!(record["settings"]["version"], version.as_str(), "{record}");
    assert_eq!(record["settings"]["durability"], "os", "{record}");
    assert_eq!(record["images"]["images"], 10, "{record}");
    assert!(record["verdict"]["promises_nothing"].is_string(), "{record}");
    assert_eq!(ask_mariadb(&url, "SHOW DATABASES"), databases);
}

#[test]
fn servers_without_replicas_are_refused_by_name() {
    for (product, name) in [(Product::Redis, "Redis"), (Product::Etcd, "etcd")] {
        let (_server, url, _folder) = unmanaged_server(product);
        let folder = folder();
        let result = syncline(folder.path(), &format!("verify durability --like {url}"));
        assert_eq!(result.code, 2, "{result:?}");
        let words = format!("is {name}; --like makes replicas of PostgreSQL and MariaDB only");
        assert!(result.err.contains(&words), "{result:?}");
        assert_eq!(result.out, "", "{result:?}");
    }
}
