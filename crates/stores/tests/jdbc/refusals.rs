//! Unmanaged files are left alone, and errors are one sentence.

use crate::support::{DerbyServer, NativeServer, derby_jars, jars, open};
use std::fs;
use std::mem::ManuallyDrop;
use syncline_contract::conformance::{block_on, refuses_unmanaged};
use syncline_contract::{
    AccessPattern, FailureKind, Int, Kind, OperationId, Plan, Session, Stop, Table, Target, Value,
    Write,
};
use syncline_launcher::Product;

fn plan() -> Plan {
    let mut plan = Plan::new();
    let table = Table::new("rows").column("id", Kind::Int).column("n", Kind::Int);
    let table = plan.table(table.key(&["id"]));
    let _: Write<(Int, Int)> = plan.insert("insert row", table);
    plan
}

#[test]
fn an_unmanaged_directory_is_refused_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("theirs");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("database.mv.db"), "precious").unwrap();
    let jars = jars(&["h2"]);
    let target = open(&format!("jdbc:h2:{}?driver={jars}", place.display()));
    let findings = refuses_unmanaged(&target);
    assert!(findings.is_empty(), "{findings:?}");
    let refused = block_on(&(), target.preflight()).unwrap_err();
    assert!(refused.what.contains("database.mv.db"), "{refused}");
    assert_eq!(fs::read_to_string(place.join("database.mv.db")).unwrap(), "precious");
    // Not even the file in which H2 records that it could not open another one.
    let there = fs::read_dir(&place).unwrap();
    let there: Vec<_> = there.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(there, ["database.mv.db"]);
}

#[test]
fn a_database_that_cannot_be_started_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("ours");
    let (shown, jars) = (place.display(), jars(&["h2"]));
    let target = open(&format!("jdbc:h2:{shown};NO_SUCH_SETTING=1?driver={jars}"));
    for _ in 0..2 {
        let error = block_on(&(), target.create(&plan())).unwrap_err();
        assert!(error.what.contains("NO_SUCH_SETTING"), "{error}");
        assert!(!place.exists(), "{error}");
    }
    drop(target);
    assert!(!place.exists());
}

#[test]
fn a_missing_driver_is_reported() {
    let target = open("jdbc:x://h/y?driver=/nowhere/at/all.jar");
    let error = block_on(&(), target.preflight()).unwrap_err();
    assert!(error.what.contains("the driver jar /nowhere/at/all.jar does not exist"), "{error}");
    let other = open(&format!("jdbc:x://h/y?driver={}", jars(&["h2"])));
    let error = block_on(&(), other.preflight()).unwrap_err();
    assert!(error.what.contains("accepts this URL"), "{error}");
    let class = open(&format!("jdbc:x://h/y?driver={}&class=no.Such", jars(&["h2"])));
    let error = block_on(&(), class.preflight()).unwrap_err();
    assert!(error.what.contains("no.Such"), "{error}");
}

#[test]
fn unmanaged_schemas_stay_and_those_of_a_killed_run_are_cleaned() {
    let server = DerbyServer::start();
    // Like a run that was killed: nothing is removed.
    let left = ManuallyDrop::new(open(&server.url("")));
    block_on(&(), left.create(&plan())).unwrap();
    let jars = derby_jars();
    let mut theirs = Ij::of(&server, &jars);
    theirs.say("create table app.precious (id int); create schema \"syncline_theirs\";");
    let cleaned = block_on(&(), open(&server.url("")).clean()).unwrap();
    assert_eq!(cleaned.len(), 1, "{cleaned:?}");
    assert!(!cleaned[0].contains("theirs"), "{cleaned:?}");
    let again = block_on(&(), open(&server.url("")).clean()).unwrap();
    assert_eq!(again, Vec::<String>::new());
    let schemas = theirs.say("show schemas; show tables in app;");
    assert!(schemas.contains("syncline_theirs") && schemas.contains("PRECIOUS"), "{schemas}");
}

#[test]
fn a_schema_in_use_is_not_cleaned() {
    for product in [Product::Postgres, Product::Mariadb] {
        let server = NativeServer::start(product);
        let target = open(&server.url(""));
        let plan = plan();
        block_on(&(), target.create(&plan)).unwrap();
        let worker = target.worker().unwrap();
        let clean = || block_on(&(), open(&server.url("")).clean()).unwrap();
        block_on(&worker, async {
            let session = target.connect(&plan, &worker).await.unwrap();
            let kept = clean();
            assert!(kept.len() == 1 && kept[0].starts_with("kept schema syncline_"), "{kept:?}");
            drop(session);
        });
        let cleaned = clean();
        assert!(cleaned.len() == 1 && cleaned[0].starts_with("schema syncline_"), "{cleaned:?}");
    }
}

#[test]
fn a_server_that_stops_is_a_lost_connection_and_not_a_hang() {
    let server = DerbyServer::start();
    let target = open(&server.url(""));
    let plan = plan();
    block_on(&(), target.create(&plan)).unwrap();
    let worker = target.worker().unwrap();
    block_on(&worker, async {
        let mut session = target.connect(&plan, &worker).await.unwrap();
        session.begin(AccessPattern::Several);
        let row = [Value::Int(1), Value::Int(2)];
        session.send(OperationId(0), &row).unwrap();
        drop(server);
        let lost = session.commit().await.unwrap_err();
        assert!(
            matches!(&lost, Stop::Unknown(failure) if failure.kind == FailureKind::Connection),
            "{lost:?}"
        );
        session.abort().await;
    });
    let unreached = block_on(&(), target.remove()).unwrap_err();
    assert_eq!(unreached.kind, FailureKind::Connection, "{unreached}");
}

#[test]
fn no_password_is_shown() {
    let url = "jdbc:derby://127.0.0.1:1/x;user=a;password=secret?driver=/x.jar&password=secret2";
    for error in [
        format!("{:?}", syncline_stores::AnyTarget::open(&format!("{url}&speed=1"))),
        block_on(&(), open(url).preflight()).unwrap_err().what,
    ] {
        assert!(!error.contains("secret"), "{error}");
    }
}

/// Derby's own tool, as another user of the server.
struct Ij {
    jars: String,
    place: String,
}

impl Ij {
    fn of(server: &DerbyServer, jars: &str) -> Ij {
        Ij { jars: jars.to_owned(), place: format!("jdbc:derby://127.0.0.1:{}/bench", server.port) }
    }

    fn say(&mut self, text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        fs::write(&script, format!("connect '{}';\n{text}\nexit;\n", self.place)).unwrap();
        let ran = std::process::Command::new("java")
            .arg("-Dderby.stream.error.file=/dev/null")
            .args(["-cp", &self.jars, "org.apache.derby.tools.ij"])
            .arg(&script)
            .output()
            .unwrap();
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }
}
