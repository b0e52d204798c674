//! Each anomaly in its smallest history; random histories compared with another checker; a hundred thousand
//! transactions within a time limit.

use super::{
    Anomaly, History, Kind, Operation, Order, Transaction, TransactionStatus, check, elle, known,
};
use std::collections::BTreeMap;
use syncline_contract::Isolation;
use syncline_instrument::clock;

/// A history from lines like `0 ok a1.5 r2.[1 2]`: client, ending, appends and reads. Transactions joined by
/// `|` overlap; those separated by `;` run one after another.
fn history(text: &str) -> History {
    let (mut history, mut event) = (History::default(), 0);
    for line in text.split(';') {
        let first = history.transactions.len();
        for one in line.split('|') {
            history.transactions.push(transaction(one.trim(), event));
            event += 1;
        }
        for one in &mut history.transactions[first..] {
            if one.ending != TransactionStatus::Unknown {
                one.completed = Some(event);
            }
            event += 1;
        }
    }
    history
}

fn transaction(text: &str, invoked: usize) -> Transaction {
    let mut words = text.splitn(3, ' ');
    let process = words.next().unwrap().parse().unwrap();
    let ending = match words.next().unwrap() {
        "ok" => TransactionStatus::Committed,
        "fail" => TransactionStatus::Failed,
        _ => TransactionStatus::Unknown,
    };
    let operations = words.next().unwrap_or_default().split(", ").map(operation);
    Transaction { process, invoked, completed: None, ending, operations: operations.collect() }
}

fn operation(text: &str) -> Operation {
    let (key, value) = text[1..].split_once('.').unwrap();
    let key = key.parse().unwrap();
    if text.starts_with('a') {
        let value = value.parse().unwrap();
        return Operation::Append { key, value };
    }
    let values = value.trim_matches(['[', ']']).split_whitespace();
    let values = Some(values.map(|value| value.parse().unwrap()).collect());
    Operation::Read { key, values }
}

fn kinds(text: &str) -> Vec<(Kind, Order)> {
    let found = check(&history(text)).into_iter();
    found.map(|one| (one.kind, one.order)).collect()
}

#[test]
fn each_smallest_history_shows_exactly_its_anomaly() {
    for (text, expected) in [
        ("0 ok a1.1, a2.1 | 1 ok a1.2, a2.2 ; 2 ok r1.[1 2], r2.[2 1]", Kind::G0),
        ("0 fail a1.1 ; 1 ok r1.[1]", Kind::G1a),
        ("0 ok a1.1, r2.[2] | 1 ok a2.2, r1.[1]", Kind::G1c),
        ("0 ok a1.1 ; 1 ok a1.2, r1.[1]", Kind::Internal),
        (
            "0 ok a1.1 | 1 ok a1.2 | 2 ok a1.3 | 3 ok r1.[1 2] | 4 ok r1.[1 3]",
            Kind::IncompatibleOrder,
        ),
        ("0 ok a1.1 ; 1 ok r1.[7 1]", Kind::Unasked),
        ("0 ok a1.1 ; 1 ok r1.[1 1]", Kind::Repeated),
        ("0 ok a1.1, a2.2 | 1 ok r1.[1], r2.[] ; 2 ok r2.[2]", Kind::GSingle),
        ("0 ok r1.[], r2.[], a1.1 | 1 ok r1.[], r2.[], a2.2", Kind::G2Item),
        ("0 ok a1.1 | 1 ok a2.2 | 2 ok r1.[1], r2.[] | 3 ok r1.[], r2.[2]", Kind::GNonadjacent),
    ] {
        assert_eq!(kinds(text), [(expected, Order::Plain)], "{text}");
    }
    let middle = kinds("0 ok a1.1, a1.2 | 1 ok r1.[1] ; 2 ok r1.[1 2]");
    assert_eq!(middle, [(Kind::G1b, Order::Plain), (Kind::GSingle, Order::Plain)]);
    let lost = kinds("0 ok r1.[], a1.1 | 1 ok r1.[], a1.2 ; 2 ok r1.[1 2]");
    assert_eq!(lost, [(Kind::LostUpdate, Order::Plain), (Kind::GSingle, Order::Plain)]);
}

/// Client 0 is the pivot, client 1 overwrites what it read, client 2 sees that and not the pivot's append.
const SKEW: &str = "0 ok r25.[], r24.[], a24.1 | 1 ok r25.[], a25.2";

#[test]
fn a_skew_through_the_commit_window_is_known_only_of_postgresql() {
    let found = |text: &str| {
        let found = check(&history(text)).into_iter();
        let forbidden: Vec<_> =
            found.filter(|one| one.kind.is_forbidden(Isolation::Serializable, one.order)).collect();
        let [anomaly] = &forbidden[..] else {
            panic!("{forbidden:?}");
        };
        let known = ["PostgreSQL", "MariaDB", ""].map(|product| known(product, anomaly).is_some());
        assert_eq!(anomaly.kind, Kind::G2Item);
        (anomaly.count, anomaly.in_window, known)
    };
    // Client 2 requested its transaction before client 1 was answered.
    let within = format!("{SKEW} | 2 ok r25.[2], r24.[], a28.3 ; 3 ok r24.[1]");
    assert_eq!(found(&within), (1, 1, [true, false, false]));
    // It was requested after the answers, so the commit window is not the cause.
    let behind = format!("{SKEW} ; 2 ok r25.[2], r24.[], a28.3 ; 3 ok r24.[1]");
    assert_eq!(found(&behind), (1, 0, [false; 3]));
    // A cycle of two: the second commit must have been refused.
    let two = "0 ok r1.[], r2.[], a1.1 | 1 ok r1.[], r2.[], a2.2";
    assert_eq!(found(two), (1, 0, [false; 3]));
    // One of each: the known behaviour does not explain the other.
    let both = format!("{within} ; {two}");
    assert_eq!(found(&both), (2, 1, [false; 3]));
}

#[test]
fn a_key_with_an_overwritten_value_has_no_known_order() {
    // In key 1 the value 1 was overwritten, so its place relative to 2 is unknown.
    let gone =
        "0 ok r1.[], a1.1, r2.[2], a2.3 | 1 ok r1.[], a1.2, r2.[], a2.2 ; 2 ok r1.[2], r2.[2 3]";
    assert_eq!(kinds(gone), [(Kind::LostUpdate, Order::Plain)]);
    // Reads of key 1 that do not fit one list.
    let forked =
        "0 ok a1.1, a2.1 | 1 ok a1.2, a2.2 ; 2 ok r1.[2], r2.[1 2] | 3 ok r1.[1 2], r2.[1 2]";
    assert_eq!(kinds(forked), [(Kind::IncompatibleOrder, Order::Plain)]);
}

#[test]
fn anomalies_that_need_an_order_of_time_are_marked() {
    // A client does not see its own earlier append.
    let session = kinds("0 ok a1.1 ; 0 ok r1.[] ; 1 ok r1.[1]");
    assert_eq!(session, [(Kind::GSingle, Order::Session)]);
    // A client does not see another's append that had ended.
    let real_time = kinds("0 ok a1.1 ; 1 ok r1.[] ; 2 ok r1.[1]");
    assert_eq!(real_time, [(Kind::GSingle, Order::RealTime)]);
    // If they overlap, it need not see it.
    assert!(kinds("0 ok a1.1 | 1 ok r1.[] ; 2 ok r1.[1]").is_empty());
}

#[test]
fn an_unknown_ending_may_have_committed_or_not() {
    assert!(kinds("0 info a1.1 ; 1 ok r1.[1]").is_empty());
    assert!(kinds("0 info a1.1 ; 1 ok r1.[]").is_empty());
    let later = kinds("0 info a1.1 ; 1 ok r1.[1] ; 2 ok r1.[]");
    assert_eq!(later, [(Kind::GSingle, Order::RealTime)]);
}

#[test]
fn the_smallest_cycle_is_explained() {
    let found = check(&history("0 ok r1.[], r2.[], a1.1 | 1 ok r1.[], r2.[], a2.2"));
    let [Anomaly { example, .. }] = &found[..] else {
        panic!("expected one anomaly: {found:?}");
    };
    assert_eq!(example[0], "T0 (client 0): read key 1: [], read key 2: [], appended 1 to key 1");
    assert_eq!(example[2], "T0 came before T1, whose append to key 2 it did not see");
    assert_eq!(example[3], "T1 came before T0, whose append to key 1 it did not see");
}

/// The history of a store of lists. With `skew`, some reads return an older state of a key.
fn random_history(seed: u64, transactions: usize, skew: bool) -> History {
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut lists, mut old): (BTreeMap<i64, Vec<i64>>, BTreeMap<i64, Vec<i64>>) =
        Default::default();
    let (mut history, mut event, mut value) = (History::default(), 0, 0);
    for number in 0..transactions {
        let first = number as i64 / 40;
        let mut operations = Vec::new();
        if random.u8(0..4) == 0 {
            old.clone_from(&lists);
        }
        let writes = random.bool();
        for _ in 0..random.usize(1..=4) {
            let key = first + random.i64(0..4);
            if writes && random.bool() {
                value += 1;
                lists.entry(key).or_default().push(value);
                operations.push(Operation::Append { key, value });
            } else {
                let stale = skew && !writes && random.u8(0..6) == 0;
                let from = if stale { &old } else { &lists };
                let values = Some(from.get(&key).cloned().unwrap_or_default());
                operations.push(Operation::Read { key, values });
            }
        }
        history.transactions.push(Transaction {
            process: number as i64 % 8,
            invoked: event,
            completed: Some(event + 1),
            ending: TransactionStatus::Committed,
            operations,
        });
        event += 2;
    }
    history
}

fn written(history: &History) -> String {
    let mut text = Vec::new();
    elle::write(history, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_history_survives_a_round_trip() {
    for seed in 0..20 {
        let mut history = random_history(seed, 50, true);
        history.transactions[7].ending = TransactionStatus::Failed;
        let read = elle::read(written(&history).as_bytes()).unwrap();
        assert_eq!(read.transactions.len(), 50);
        for (one, other) in history.transactions.iter().zip(&read.transactions) {
            assert_eq!((one.ending, one.process), (other.ending, other.process));
            if one.ending == TransactionStatus::Committed {
                assert_eq!(one, other);
            }
        }
    }
}

/// An event of client 1 with this type and value.
fn event_of(kind: &str, value: &str) -> String {
    format!(r#"{{"type":"{kind}","process":1,"f":"txn","value":{value}}}"#)
}

#[test]
fn an_invalid_history_is_refused_with_its_place() {
    let invoked = event_of("invoke", r#"[["append",1,2],["r",3,null]]"#);
    let of_text = invoked.replace("\"process\":1", "\"process\":\"1\"");
    let other_end = event_of("ok", r#"[["append",1,9],["r",3,[]]]"#);
    let again = invoked.replace("\"process\":1", "\"process\":2");
    for (text, why) in [
        ("{", "line 1"),
        (&event_of("ok", "[]"), "never invoked"),
        (&event_of("invoke", r#"[["x",1,2]]"#), "neither an append nor a read"),
        (&event_of("invoke", "7"), "not a list of appends"),
        (&event_of("invoke", r#"[["append","a",2]]"#), "\"a\" is not a 64-bit integer"),
        (&event_of("invoke", r#"[["append",1,1.5]]"#), "1.5 is not a 64-bit integer"),
        (&event_of("invoke", r#"[["r",1,7]]"#), "is not a list"),
        (&event_of("begin", "[]"), "not one of invoke"),
        (&of_text, "its process \"1\" is not an integer"),
        (&format!("{invoked}\n{invoked}"), "line 2 of the history: it appends 2 to key 1"),
        (&format!("{invoked}\n{again}"), "a second time"),
        (&format!("{invoked}\n{other_end}"), "differ from those of its invocation"),
        (&format!("[{invoked}, 7]"), "event 2 of the history: it is not a JSON object"),
        (&format!("[{invoked}"), "the history:"),
    ] {
        let error = elle::read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn arrays_of_events_are_read_and_other_events_are_skipped() {
    let events = [
        event_of("invoke", r#"[["append",1,2]]"#),
        r#"{"type":"info","process":"nemesis","f":"kill","value":null}"#.to_owned(),
        r#"{"type":"info","process":0,"f":"start","value":"all"}"#.to_owned(),
        event_of("ok", r#"[["append",1,2]]"#),
    ];
    let lines = elle::read(events.join("\n").as_bytes()).unwrap();
    let array = elle::read(format!("  [{}]", events.join(",\n")).as_bytes()).unwrap();
    assert_eq!(lines, array);
    assert_eq!(lines.count(TransactionStatus::Committed), 1);
    assert_eq!(lines.transactions.len(), 1);
    // A client may read more than its invocation contains.
    let invoked = event_of("invoke", r#"[["append",1,2]]"#);
    let answered = event_of("ok", r#"[["r",1,[]],["append",1,2]]"#);
    let more = elle::read(format!("{invoked}\n{answered}").as_bytes()).unwrap();
    assert_eq!(more.transactions[0].operations.len(), 2);
}

/// The verdict of the other checker for a model.
fn adya_accepts(history: &History, model: &str) -> bool {
    let text = written(history);
    let history = adya::History::from_json(&text).unwrap();
    let options = adya::Opts { models: vec![model.into()], ..adya::Opts::default() };
    let report = adya::check(&history, adya::Workload::ListAppend, &options);
    assert_ne!(report.valid, adya::Valid::Unknown, "{text}");
    report.valid == adya::Valid::True
}

#[test]
fn another_checker_agrees_on_random_histories() {
    let mut invalid = 0;
    for seed in 0..300 {
        let history = random_history(seed, 30 + seed as usize % 60, seed % 3 != 0);
        let found = check(&history);
        let plain = found.iter().filter(|one| one.order == Order::Plain);
        let plain: Vec<_> = plain.map(|one| one.kind).collect();
        assert_eq!(
            plain.is_empty(),
            adya_accepts(&history, "serializable"),
            "seed {seed}: {plain:?}"
        );
        let snapshot = plain.iter().all(|kind| *kind == Kind::G2Item);
        assert_eq!(
            snapshot,
            adya_accepts(&history, "snapshot-isolation"),
            "seed {seed}: {plain:?}"
        );
        assert_eq!(
            found.is_empty(),
            adya_accepts(&history, "strict-serializable"),
            "seed {seed}: {found:?}"
        );
        invalid += usize::from(!plain.is_empty());
        if seed % 3 == 0 {
            assert!(found.is_empty(), "seed {seed}: {found:?}");
        }
    }
    assert!(invalid > 30, "only {invalid} of 300 histories show anomalies");
}

#[test]
fn a_hundred_thousand_transactions_are_checked_in_five_seconds() {
    let history = random_history(1, 100_000, false);
    let before = clock::thread_cpu();
    assert!(check(&history).is_empty());
    let spent = clock::thread_cpu() - before;
    assert!(spent < 5 * clock::SECOND, "{spent} ns of processor time");
}
