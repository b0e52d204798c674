//! The insert workload on SQLite: its check holds for acknowledged rows, and finds each kind of damage
//! to the database.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

#[path = "shared/checked_run.rs"]
mod checked_run;

use checked_run::{CLIENTS, CheckedRun};
use syncline_contract::conformance::block_on;
use syncline_contract::{
    Check, CheckOutcome, Client, Ending, RequestTracker, Session, Stop, Transaction, Workload,
};
use syncline_stores::AnySession;
use syncline_workloads::AnyTally;

const PRESENT: &str = "every acknowledged row is there";
const INTACT: &str = "every row is there once, with the bytes that were sent";
const NOTHING_ELSE: &str = "no row is there that was neither acknowledged nor unfinished";
const WHOLE: &str = "transactions of unknown outcome are there whole or not at all";

impl CheckedRun {
    /// Each client performs that many transactions; every seventh of those is aborted, and those that
    /// `unknown` selects are reported to the client as unknown, although they were committed.
    fn perform(&self, transactions: u64, unknown: impl Fn(u64) -> bool) -> Vec<AnyTally> {
        let clients = (0..CLIENTS).map(|number| {
            block_on(&self.worker, async {
                let mut session = self.connect().await;
                let mut client = self.workload.client(number, CLIENTS, 42);
                for round in 0..transactions {
                    let committed = one(&mut session, &mut client, round % 7 == 6).await.unwrap();
                    client.ended(
                        0,
                        match committed {
                            false => Ending::Undone,
                            true if unknown(round) => Ending::Unknown,
                            true => Ending::Committed,
                        },
                    );
                }
                client.tally()
            })
        });
        clients.collect()
    }

    /// Performs transactions, damages the database, and returns the checks that found it.
    fn finds(options: &[(&str, &str)], damage: &str) -> Vec<(String, String)> {
        let run = CheckedRun::new("client=threads", "insert", options);
        let tallies = run.perform(1_000, |_| false);
        run.damage_store(damage);
        let checks = run.check(tallies);
        let violated = checks.into_iter().filter_map(|check| match check.outcome {
            CheckOutcome::Violated(what) => Some((check.name, what)),
            CheckOutcome::Held | CheckOutcome::NotApplicable(_) => None,
        });
        violated.collect()
    }
}

async fn one<C: Client>(
    session: &mut AnySession,
    client: &mut C,
    aborts: bool,
) -> Result<bool, Stop> {
    let kind = client.draw();
    let mut asked = RequestTracker::default();
    session.begin(if aborts {
        syncline_contract::AccessPattern::Several
    } else {
        client.access_pattern(kind)
    });
    client.perform(kind, &mut Transaction::new(session, &mut asked)).await?;
    if aborts {
        session.abort().await;
    } else {
        session.commit().await?;
    }
    Ok(!aborts)
}

fn names(found: &[(String, String)]) -> Vec<&str> {
    found.iter().map(|(name, _)| name.as_str()).collect()
}

const ALL_KEYS: [&str; 3] = ["ascending", "random", "server"];

#[test]
fn it_holds_for_what_was_acknowledged() {
    for keys in ALL_KEYS {
        for (client, every) in [("threads", "1"), ("queue", "1"), ("threads", "5"), ("queue", "5")]
        {
            let run = CheckedRun::new(
                &format!("client={client}"),
                "insert",
                &[("keys", keys), ("commit_every", every)],
            );
            let tallies = run.perform(500, |round| round % 10 == 1);
            let checks = run.check(tallies);
            let held = checks.iter().all(|check| check.outcome == CheckOutcome::Held);
            assert!(held, "{keys} {client} {every}: {checks:?}");
            assert_eq!(
                checks.iter().map(|check| check.name.as_str()).collect::<Vec<_>>(),
                run.workload.check_names()
            );
        }
    }
}

#[test]
fn a_missing_row_is_found() {
    for keys in ALL_KEYS {
        let damage = "DELETE FROM inserts WHERE id IN (SELECT id FROM inserts LIMIT 1 OFFSET 777)";
        let found = CheckedRun::finds(&[("keys", keys)], damage);
        assert_eq!(names(&found), [PRESENT], "{keys}: {found:?}");
        assert!(found[0].1.contains("was acknowledged but is gone"), "{found:?}");
    }
}

#[test]
fn every_missing_row_is_counted() {
    let found = CheckedRun::finds(&[], "DELETE FROM inserts");
    let rows = CLIENTS * 1_000 * 6 / 7 + 3;
    assert_eq!(names(&found), [PRESENT]);
    let count: usize = found[0].1.split(' ').next().unwrap().parse().unwrap();
    assert!(count.abs_diff(rows) <= CLIENTS, "{count} of {rows}");
}

#[test]
fn an_altered_row_is_found() {
    for keys in ALL_KEYS {
        let damage = "UPDATE inserts SET body = substr(body, 1, 99) || 'x' \
                      WHERE id IN (SELECT id FROM inserts LIMIT 1 OFFSET 55)";
        let found = CheckedRun::finds(&[("keys", keys)], damage);
        let (_, what) = found.iter().find(|(name, _)| name == INTACT).expect("it is found");
        assert!(what.contains("bytes"), "{keys}: {what}");
        // Where the store assigned the key, only the text identifies the row's owner.
        let expected: &[&str] = if keys == "server" { &[PRESENT, INTACT] } else { &[INTACT] };
        assert_eq!(names(&found), expected, "{keys}");
    }
}

#[test]
fn swapped_texts_are_found() {
    let damage = "CREATE TABLE two AS SELECT id, body FROM inserts LIMIT 2; \
                  UPDATE inserts SET body = (SELECT body FROM two WHERE two.id <> inserts.id) \
                  WHERE id IN (SELECT id FROM two); DROP TABLE two";
    let found = CheckedRun::finds(&[], damage);
    assert_eq!(names(&found), [INTACT], "{found:?}");
}

#[test]
fn an_extra_row_is_found() {
    for (keys, expected) in
        [("ascending", NOTHING_ELSE), ("random", NOTHING_ELSE), ("server", INTACT)]
    {
        let damage = "INSERT INTO inserts (id, body) VALUES (9000000, 'nobody sent this')";
        let found = CheckedRun::finds(&[("keys", keys)], damage);
        assert!(names(&found).contains(&expected), "{keys}: {found:?}");
        let negative = "INSERT INTO inserts (id, body) VALUES (-5, 'nobody sent this')";
        let found = CheckedRun::finds(&[("keys", keys)], negative);
        assert!(names(&found).contains(&expected), "{keys}, key -5: {found:?}");
    }
}

#[test]
fn a_row_that_was_rolled_back_but_stayed_is_found() {
    for keys in ALL_KEYS {
        let run = CheckedRun::new("client=threads", "insert", &[("keys", keys)]);
        let tallies = run.perform(5, |_| false);
        // One client continues, commits, and gets the outcome that nothing of it remains.
        block_on(&run.worker, async {
            let mut session = run.connect().await;
            let mut client = run.workload.client(1, CLIENTS, 42);
            for _ in 0..5 {
                client.draw();
                client.ended(0, Ending::Committed);
            }
            one(&mut session, &mut client, false).await.unwrap();
        });
        let checks = run.check(tallies);
        let of = checks.iter().find(|check| check.name == NOTHING_ELSE).unwrap();
        assert!(
            matches!(&of.outcome, CheckOutcome::Violated(what)
            if what.contains("row 5 of client 1")),
            "{keys}: {checks:?}"
        );
    }
}

#[test]
fn a_duplicate_is_found() {
    let damage = "INSERT INTO inserts (body) SELECT body FROM inserts LIMIT 1 OFFSET 3";
    let found = CheckedRun::finds(&[("keys", "server")], damage);
    assert_eq!(names(&found), [INTACT], "{found:?}");
    assert!(found[0].1.contains("exists twice"), "{found:?}");
    let found = CheckedRun::finds(&[], damage);
    assert!(names(&found).contains(&INTACT), "a copy under another client's key: {found:?}");
}

#[test]
fn an_unknown_transaction_may_be_there_or_not_but_whole() {
    let of_unknown = |damage: &str| {
        let run = CheckedRun::new("client=threads", "insert", &[("commit_every", "4")]);
        let tallies = run.perform(5, |round| round == 4);
        run.damage_store(damage);
        run.check(tallies)
    };
    // Transaction 4 of client 0 has rows 16 to 19, at keys 48, 51, 54 and 57.
    let held = |checks: Vec<Check>| checks.iter().all(|check| check.outcome == CheckOutcome::Held);
    assert!(held(of_unknown("SELECT 1")));
    assert!(held(of_unknown("DELETE FROM inserts WHERE id IN (48, 51, 54, 57)")));
    let torn = of_unknown("DELETE FROM inserts WHERE id = 51");
    let whole = torn.iter().find(|check| check.name == WHOLE).unwrap();
    assert!(matches!(&whole.outcome, CheckOutcome::Violated(what) if what.contains("3 of 4")));
}

#[test]
fn a_check_by_get_finds_its_damage_and_reports_its_limits() {
    let found = CheckedRun::finds(&[("check", "get")], "DELETE FROM inserts WHERE id = 30");
    assert_eq!(names(&found), [PRESENT], "{found:?}");
    let found =
        CheckedRun::finds(&[("check", "get"), ("keys", "random")], "UPDATE inserts SET body = 'x'");
    assert_eq!(names(&found), [INTACT], "{found:?}");
    let run = CheckedRun::new("client=threads", "insert", &[("check", "get")]);
    let tallies = run.perform(10, |_| false);
    let checks = run.check(tallies);
    assert!(
        matches!(&checks[2].outcome, CheckOutcome::NotApplicable(why) if why.contains("check=get"))
    );
}
