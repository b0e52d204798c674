//! A witness that receives invalid bytes refuses them in one sentence and keeps serving others.

use super::harness::{Harness, plan, with_witness};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use syncline_vfs::simulated::Metadata;
use syncline_vfs::{SimulatedDisk, SyncMethod};

/// Sends bytes and returns everything that the witness answers until it closes the connection.
fn exchange(harness: &Harness, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(harness.address).unwrap();
    // Either call may fail: the witness closes at once after an invalid message.
    drop(stream.write_all(bytes));
    drop(stream.shutdown(Shutdown::Write));
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer));
    String::from_utf8(answer).unwrap()
}

const GREETING: &str = "syncline-witness 1\n";

const BEGIN: &str = r#"{"begin":{"subject":"a","run":"5","boot":"b","method":"fsync","block_bytes":512,"slots":8,"abandon":false}}"#;

/// Enough promises to keep a witness busy for a while.
const PROMISES: u64 = 30_000;

/// The witness lags behind what has arrived; a question over another connection must not overtake it.
#[test]
fn an_answer_covers_all_promises_sent_before_the_question() {
    with_witness(|harness| {
        let mut writer = TcpStream::connect(harness.address).unwrap();
        let begun = format!("{GREETING}\"begun\"\n");
        writer.write_all(format!("{GREETING}{BEGIN}\n").as_bytes()).unwrap();
        let mut answer = vec![0; begun.len()];
        writer.read_exact(&mut answer).unwrap();
        assert_eq!(String::from_utf8(answer).unwrap(), begun);
        let mut promises = Vec::new();
        for number in 0..PROMISES {
            writeln!(promises, "{{\"promise\":[{number},{number}]}}").unwrap();
        }
        let mut asking = harness.caller();
        writer.write_all(&promises).unwrap();
        let answer_of_ask = asking.ask("a").unwrap();
        assert_eq!((answer_of_ask.count, answer_of_ask.latest.len()), (PROMISES, 16));
    });
}

#[test]
fn invalid_messages_are_refused_in_a_sentence() {
    with_witness(|harness| {
        let begin = BEGIN;
        for (text, words) in [
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), "syncline-witness 1"),
            ("syncline-witness 2\n".to_owned(), "syncline-witness 1"),
            (format!("{GREETING}hello\n"), "not a message"),
            (format!("{GREETING}{{\"promise\":[0,1]}}\n"), "before its run began"),
            (format!("{GREETING}\"leave\"\n"), "before its run began"),
            (format!("{GREETING}{{\"ask\":\"nobody\"}}\n"), "has been promised for nobody"),
            (
                format!(
                    "{GREETING}{{\"judged\":{{\"kind\":\"plug_pull\",\"promised\":0,\"looked\":0,\"bad\":{{}},\"reordered\":0,\"controls\":0,\"controls_gone\":0,\"example\":null}}}}\n"
                ),
                "a judgement without a question",
            ),
            (format!("{GREETING}{begin}\n{begin}\n"), "a second run"),
            (format!("{GREETING}{begin}\n{{\"promise\":[1,1]}}\n"), "block 0 is next"),
            (format!("{GREETING}{}", "x".repeat(20_000)), "longer than"),
        ] {
            let answer = exchange(harness, text.as_bytes());
            assert!(answer.contains("refused") && answer.contains(words), "{text:.60}: {answer}");
        }
    });
}

#[test]
fn random_bytes_do_no_harm() {
    with_witness(|harness| {
        let mut random = fastrand::Rng::with_seed(23);
        for round in 0..60 {
            let mut bytes = vec![0; random.usize(0..3000)];
            random.fill(&mut bytes);
            let mut text = if round % 2 == 0 { GREETING.as_bytes().to_vec() } else { Vec::new() };
            text.extend(bytes);
            let answer = exchange(harness, &text);
            let greeted = answer.strip_prefix(GREETING).unwrap_or(&answer);
            assert!(greeted.is_empty() || greeted.contains("refused"), "{answer}");
        }
        let disk = SimulatedDisk::new(1, Metadata::Strict);
        let mut plan = plan(SyncMethod::Fsync);
        plan.limit.blocks = Some(5);
        assert_eq!(harness.written(&disk, &plan).blocks, 5);
    });
}

#[test]
fn silent_and_disconnected_writers_are_reported() {
    with_witness(|harness| {
        let disk = SimulatedDisk::new(1, Metadata::Strict);
        disk.crash_after(50);
        let silent = harness.cut_off(&disk, &plan(SyncMethod::Fsync));
        let noted = |words: &str| {
            let noted = harness.messages.lock().unwrap();
            noted.iter().any(|line| line.contains(words))
        };
        while !noted("host:/disk went silent after") {
            std::thread::yield_now();
        }
        drop(silent);
        while !noted("was cut off") {
            std::thread::yield_now();
        }
    });
}
