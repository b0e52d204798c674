//! Tests of the engine as a target: the contract's suite, reopening, kills, and refusals.

use crate::engine::{Engine, OpenedEngine, open};
use crate::url::Url;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use syncline_contract::conformance::{block_on, conforms, refuses_unmanaged};
use syncline_contract::{
    AccessPattern, By, Int, Kind, Limit, LogLocation, OperationId, Order, Plan, Range, Scan,
    Session, Set, Target, Text, Value,
};

/// The engine in a directory, with small files, since tests create many of them.
pub(super) fn engine(directory: &Path, options: &str) -> Engine {
    let url = format!("engine:{}?segment_kib=256&{options}", directory.display());
    match open(&Url::parse(&url).unwrap()).unwrap() {
        OpenedEngine::OnDisk(mut engine) => {
            engine.settings.options.extent_bytes = 256 << 10;
            engine
        }
        other @ OpenedEngine::Transient(_) => panic!("not the engine: {other:?}"),
    }
}

/// The number of cases for a target with all capabilities.
const CASES: usize = 32;

#[test]
fn it_conforms_in_everything_at_every_durability_client_model_and_isolation() {
    let folder = tempfile::tempdir().unwrap();
    let number = AtomicUsize::new(0);
    for durability in ["none", "data", "full"] {
        for more in [
            "client=futures",
            "client=threads",
            "client=futures&isolation=snapshot&page_kib=4",
            "client=threads&isolation=snapshot&page_kib=32&checkpoint_mib=1",
        ] {
            let options = format!("durability={durability}&{more}");
            let outcome = conforms(|| {
                let name = number.fetch_add(1, Ordering::Relaxed).to_string();
                engine(&folder.path().join(name), &options)
            });
            assert!(outcome.findings.is_empty(), "{options}: {outcome}");
            let counts = (outcome.tested.len(), outcome.skipped.len());
            assert_eq!(counts, (CASES, 0), "{options}: {outcome:?}");
        }
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A table of accounts: insert 0, add 1, delete 2, all 3.
pub(super) fn plan() -> Plan {
    let mut plan = Plan::new();
    let table = plan.table(
        syncline_contract::Table::new("accounts")
            .column("id", Kind::Int)
            .column("balance", Kind::Int)
            .text("body", 100)
            .key(&["id"]),
    );
    let _ = plan.insert::<(Int, Int, Text)>("insert", table);
    let _ = plan.update::<(Int, Int)>("add", table, &[("balance", Set::Add)]);
    let _ = plan.delete::<(Int,)>("delete", table);
    let path = syncline_contract::Path { table, by: By::Key, equal: 0, range: Range::All };
    let _ = plan.scan::<(), (Int, Int, Text)>(
        "all",
        Scan {
            path,
            order: Order::Ascending,
            limit: Limit::None,
            columns: &["id", "balance", "body"],
            lock: syncline_contract::Lock::None,
        },
    );
    plan
}

pub(super) const INSERT: OperationId = OperationId(0);
pub(super) const ADD: OperationId = OperationId(1);
pub(super) const DELETE: OperationId = OperationId(2);
pub(super) const ALL: OperationId = OperationId(3);

async fn commit(session: &mut impl Session, writes: &[(OperationId, &[Value<'_>])]) {
    session.begin(AccessPattern::Several);
    for (operation, values) in writes {
        session.send(*operation, values).unwrap();
    }
    session.commit().await.unwrap();
}

pub(super) async fn all(session: &mut impl Session) -> BTreeMap<i64, (i64, String)> {
    session.begin(AccessPattern::Single);
    session.send(ALL, &[]).unwrap();
    let rows = session.receive().await.unwrap();
    let rows = rows
        .iter()
        .map(|row| match (row.value(0), row.value(1), row.value(2)) {
            (Value::Int(id), Value::Int(balance), Value::Text(body)) => {
                (id, (balance, body.to_owned()))
            }
            other => panic!("wrong kinds: {other:?}"),
        })
        .collect();
    session.commit().await.unwrap();
    rows
}

fn body(id: i64) -> String {
    format!("the row of {id}, {}", "x".repeat(id as usize % 70))
}

#[test]
fn committed_changes_survive_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("store");
    let plan = plan();
    let mut expected = BTreeMap::new();
    for opening in 0..4_i64 {
        let target = engine(&directory, "durability=data");
        if opening == 0 {
            block_on(&(), target.create(&plan)).unwrap();
        } else {
            assert!(block_on(&(), target.reopen(&plan)).unwrap());
        }
        let worker = target.worker().unwrap();
        block_on(&worker, async {
            let mut session = target.connect(&plan, &worker).await.unwrap();
            assert_eq!(all(&mut session).await, expected, "opening {opening}");
            for id in opening * 100..opening * 100 + 100 {
                let body = body(id);
                let insert = [Value::Int(id), Value::Int(id), Value::Text(&body)];
                commit(&mut session, &[(INSERT, &insert), (ADD, &[Value::Int(id), Value::Int(5)])])
                    .await;
                expected.insert(id, (id + 5, body));
                if id % 3 == 0 {
                    commit(&mut session, &[(DELETE, &[Value::Int(id)])]).await;
                    expected.remove(&id);
                }
            }
            // An uncommitted transaction leaves nothing.
            session.begin(AccessPattern::Several);
            session.send(INSERT, &[Value::Int(-1), Value::Int(0), Value::Text("aborted")]).unwrap();
            session.abort().await;
        });
    }
    let other = engine(&directory, "durability=data");
    let mut different = Plan::new();
    different.table(syncline_contract::Table::new("others").column("id", Kind::Int).key(&["id"]));
    let refusal = block_on(&(), other.reopen(&different)).unwrap_err();
    assert!(refusal.what.contains("other tables"), "{refusal}");
}

/// The process that is killed: commits rows and prints each acknowledgement.
#[test]
fn child_that_commits_until_it_is_killed() {
    let Ok(parameters) = std::env::var("SYNCLINE_ENGINE_CHILD") else {
        return;
    };
    let (directory, options) = parameters.split_once('|').unwrap();
    let (target, plan) = (engine(Path::new(directory), options), plan());
    if Path::new(directory).exists() {
        assert!(block_on(&(), target.reopen(&plan)).unwrap());
    } else {
        block_on(&(), target.create(&plan)).unwrap();
    }
    let worker = target.worker().unwrap();
    block_on(&worker, async {
        let mut session = target.connect(&plan, &worker).await.unwrap();
        let first = all(&mut session).await.len() as i64;
        for id in first.. {
            let body = body(id);
            let insert = [Value::Int(id), Value::Int(id), Value::Text(&body)];
            commit(&mut session, &[(INSERT, &insert)]).await;
            println!("acknowledged {id}");
        }
    });
}

#[test]
fn a_killed_process_loses_nothing_that_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    for options in ["durability=data", "durability=full&client=threads"] {
        let directory = folder.path().join(options.replace(['&', '='], "-"));
        let mut acknowledged = -1;
        for _round in 0..6 {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    "engine::tests::lifecycle::child_that_commits_until_it_is_killed",
                    "--nocapture",
                ])
                .env("SYNCLINE_ENGINE_CHILD", format!("{}|{options}", directory.display()))
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let numbers = |line: std::io::Result<String>| {
                line.unwrap().strip_prefix("acknowledged ")?.parse::<i64>().ok()
            };
            let before = acknowledged;
            while acknowledged < before + 150 {
                let line = lines.next().expect("the child prints what it commits");
                acknowledged = numbers(line).unwrap_or(acknowledged);
            }
            child.kill().unwrap();
            // Acknowledgements printed before the kill count too; the last line may be truncated.
            let rest: Vec<i64> = lines.filter_map(numbers).collect();
            let whole = rest.len().saturating_sub(1);
            acknowledged = rest[..whole].last().copied().unwrap_or(acknowledged);
            child.wait().unwrap();

            let (target, plan) = (engine(&directory, options), plan());
            assert!(block_on(&(), target.reopen(&plan)).unwrap());
            let worker = target.worker().unwrap();
            let rows = block_on(&worker, async {
                all(&mut target.connect(&plan, &worker).await.unwrap()).await
            });
            assert!(rows.len() as i64 > acknowledged, "{} rows of {acknowledged}", rows.len());
            assert!(rows.keys().copied().eq(0..rows.len() as i64), "rows are a prefix");
            assert!(rows.iter().all(|(id, row)| *row == (*id, body(*id))));
        }
        assert!(acknowledged >= 6 * 150 - 1);
    }
}

#[test]
fn unmanaged_files_are_refused_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [
        ("notes.txt", "mine"),
        ("data", "somebody's"),
        ("data", ""),
        ("data.new", "x"),
        ("making", "x"),
        ("log", "a file"),
        ("segment-1.log", "SYNCLOG1 at the wrong place"),
        ("log/segment-1.log", "somebody's"),
        ("log/lock", "x"),
        ("log/notes.txt", "mine"),
        ("log/more/notes.txt", "mine"),
    ] {
        let directory =
            folder.path().join(format!("of-{}-{}", name.replace('/', "-"), content.len()));
        std::fs::create_dir_all(directory.join(name).parent().unwrap()).unwrap();
        std::fs::write(directory.join(name), content).unwrap();
        let target = engine(&directory, "durability=data");
        let findings = refuses_unmanaged(&target);
        assert!(findings.is_empty(), "{findings:?}");
        let refusal = block_on(&(), target.preflight()).unwrap_err();
        assert!(refusal.what.contains("not made by syncline"), "{name}: {refusal}");
        assert_eq!(std::fs::read_to_string(directory.join(name)).unwrap(), content);
    }
    let (first, second) = (
        engine(&folder.path().join("store"), "durability=data"),
        engine(&folder.path().join("store"), "durability=data"),
    );
    block_on(&(), first.create(&plan())).unwrap();
    let refusal = block_on(&(), second.create(&plan())).unwrap_err();
    assert!(refusal.what.contains("in use"), "{refusal}");
}

#[test]
fn a_log_elsewhere_is_used_reopened_and_removed_and_another_databases_log_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let with_log = |name: &str, log: &str| {
        engine(&at(name), &format!("log={}&log_limit_mib=257", at(log).display()))
    };
    let names = |name: &str| -> Vec<String> {
        let names = std::fs::read_dir(at(name)).unwrap();
        names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect()
    };
    let first = with_log("first", "first-log");
    block_on(&(), first.create(&plan())).unwrap();
    assert_eq!(first.log_location(), LogLocation::Directory(folder.path().to_owned()));
    assert!(names("first-log").iter().any(|name| name == "segment-0.log"));
    assert_eq!(names("first"), ["data"]);
    block_on(&(), first.keep()).unwrap();
    let again = with_log("first", "first-log");
    assert!(block_on(&(), again.reopen(&plan())).unwrap());
    block_on(&(), again.keep()).unwrap();

    std::fs::create_dir(at("second-log")).unwrap();
    let second = with_log("second", "second-log");
    assert_eq!(second.log_location(), LogLocation::Directory(at("second-log")));
    block_on(&(), second.create(&plan())).unwrap();
    block_on(&(), second.keep()).unwrap();
    let other = with_log("second", "first-log");
    let refusal = block_on(&(), other.reopen(&plan())).unwrap_err();
    assert!(refusal.what.contains("database"), "{refusal}");
    let refusal = block_on(&(), other.create(&plan())).unwrap_err();
    assert!(refusal.what.contains("belongs to another database"), "{refusal}");
    assert!(names("first-log").iter().any(|name| name == "segment-0.log"));

    for (target, database, log) in [
        (with_log("first", "first-log"), "first", "first-log"),
        (with_log("second", "second-log"), "second", "second-log"),
    ] {
        block_on(&(), target.create(&plan())).unwrap();
        block_on(&(), target.remove()).unwrap();
        assert!(!at(log).exists() || names(log).is_empty());
        assert!(!at(database).join("data").exists());
    }
    for (url, why) in [
        ("engine:x?log=/nowhere/at/all", "/nowhere/at"),
        ("engine:x?log_limit_mib=256", "four files of segment_kib"),
        ("engine?mode=transient&log=y", "stores no log"),
        ("engine?mode=transient&archive=y", "stores no log"),
        ("engine:x?archive=/nowhere/at/all", "/nowhere/at"),
    ] {
        let message = open(&Url::parse(url).unwrap()).unwrap_err().to_string();
        assert!(message.contains(why), "{url}: {message}");
    }
}

#[test]
fn an_archive_gets_log_files_and_is_removed_with_its_database_but_never_with_another() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let with_archive =
        |name: &str| engine(&at(name), &format!("archive={}", at("archive").display()));
    let first = with_archive("first");
    block_on(&(), first.create(&plan())).unwrap();
    let worker = first.worker().unwrap();
    block_on(&worker, async {
        let mut session = first.connect(&plan(), &worker).await.unwrap();
        for id in 0..200 {
            let body = body(id);
            let insert = [Value::Int(id), Value::Int(id), Value::Text(&body)];
            commit(&mut session, &[(INSERT, &insert)]).await;
        }
    });
    first.checkpoint().unwrap();
    block_on(&(), first.keep()).unwrap();
    let archived = || std::fs::read_dir(at("archive")).unwrap().count();
    assert!(archived() > 0);

    let other = with_archive("other");
    let refusal = block_on(&(), other.create(&plan())).unwrap_err();
    assert!(refusal.what.contains("belongs to another database"), "{refusal}");
    assert!(archived() > 0);

    let again = with_archive("first");
    block_on(&(), again.create(&plan())).unwrap();
    assert_eq!(archived(), 0, "a database that is made anew has another id");
    block_on(&(), again.remove()).unwrap();
    std::fs::write(at("archive").join("notes.txt"), "mine").unwrap();
    let refusal = block_on(&(), with_archive("first").preflight()).unwrap_err();
    assert!(refusal.what.contains("not made by syncline"), "{refusal}");
}

#[test]
fn it_reports_settings_in_force_and_refuses_invalid_ones() {
    let folder = tempfile::tempdir().unwrap();
    for durability in ["none", "data", "full"] {
        let directory = folder.path().join(durability);
        let target = engine(&directory, &format!("durability={durability}"));
        block_on(&(), target.create(&plan())).unwrap();
        let reported = block_on(&(), target.reported_settings()).unwrap();
        assert_eq!(reported.durability.word(), durability);
        assert_eq!(reported.isolation.words(), "serializable");
        assert_eq!(reported.product, "syncline-engine");
        assert_eq!(target.name(), "engine");
        assert_eq!(target.log_location(), LogLocation::Directory(folder.path().to_owned()));
        let value = |name: &str| {
            let found = reported.settings.iter().find(|setting| setting.name == name);
            found.unwrap().value.clone()
        };
        assert_eq!(value("segment_bytes"), (256 << 10).to_string());
        assert_eq!(value("page_bytes"), "8192");
        assert_eq!(value("mode"), "resident");
        assert_eq!(value("checkpoint_log_bytes"), (1 << 30).to_string());
        block_on(&(), target.remove()).unwrap();
        assert!(!directory.exists());
    }
    for (url, why) in [
        ("engine:x?durability=os", "cannot honour durability=os"),
        ("engine:x?client=queue", "takes futures or threads"),
        ("engine:x?segment_kib=65", "multiple of 4"),
        ("engine:x?checkpoint_kib=8", "from 16 to"),
        (
            "engine:x?checkpoint_mib=1&checkpoint_kib=64",
            "checkpoint_mib and checkpoint_kib at once",
        ),
        ("engine:x?page_kib=5", "takes 4, 8, 16 or 32"),
        ("engine:x?isolation=none", "takes serializable or snapshot"),
        (
            "engine?mode=transient&durability=data",
            "cannot honour mode=transient at this durability",
        ),
        ("engine:x?mode=transient", "has no path"),
        ("engine:", "does not name a directory"),
        ("engine:/no/such/place/log", "does not exist"),
    ] {
        let message = open(&Url::parse(url).unwrap()).unwrap_err().to_string();
        assert!(message.contains(why), "{url}: {message}");
    }
}

#[test]
fn a_log_without_its_data_file_is_refused_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("kept");
    let target = engine(&place, "durability=data");
    block_on(&(), target.create(&plan())).unwrap();
    block_on(&(), target.keep()).unwrap();
    drop(target);
    std::fs::remove_file(place.join("data")).unwrap();
    let log = || {
        let entries = std::fs::read_dir(place.join("log")).unwrap();
        let mut all: Vec<_> = entries
            .map(|entry| {
                let path = entry.unwrap().path();
                (path.clone(), std::fs::read(path).unwrap())
            })
            .collect();
        all.sort();
        all
    };
    let before = log();
    let again = engine(&place, "durability=data");
    assert!(!block_on(&(), again.reopen(&plan())).unwrap_or(false));
    let refused = block_on(&(), again.create(&plan())).unwrap_err();
    assert!(refused.what.contains("no data file"), "{refused}");
    drop(again);
    assert_eq!(log(), before);
}
