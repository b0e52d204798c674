//! A witness that hears nonsense: it refuses in one sentence, and goes on for others.

use super::harness::{Harness, plan, with_witness};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use syncline_vfs::simulated::Metadata;
use syncline_vfs::{SimulatedDisk, SyncMethod};

/// Says bytes, and hears all that is answered until the witness closes.
fn said(world: &Harness, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(world.address).unwrap();
    // Either may fail: a witness that has heard enough closes at once.
    drop(stream.write_all(bytes));
    drop(stream.shutdown(Shutdown::Write));
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer));
    String::from_utf8(answer).unwrap()
}

const GREETING: &str = "syncline-witness 1\n";

const BEGIN: &str = r#"{"begin":{"subject":"a","run":"5","boot":"b","method":"fsync","block_bytes":512,"slots":8,"abandon":false}}"#;

/// So many take a witness some time.
const PROMISES: u64 = 30_000;

/// A witness is behind with what has arrived; a question over another connection does not overtake it.
#[test]
fn whoever_asks_is_told_all_that_was_promised_before() {
    with_witness(|world| {
        let mut writer = TcpStream::connect(world.address).unwrap();
        let begun = format!("{GREETING}\"begun\"\n");
        writer.write_all(format!("{GREETING}{BEGIN}\n").as_bytes()).unwrap();
        let mut answer = vec![0; begun.len()];
        writer.read_exact(&mut answer).unwrap();
        assert_eq!(String::from_utf8(answer).unwrap(), begun);
        let mut promises = Vec::new();
        for number in 0..PROMISES {
            writeln!(promises, "{{\"promise\":[{number},{number}]}}").unwrap();
        }
        let mut asking = world.caller();
        writer.write_all(&promises).unwrap();
        let told = asking.ask("a").unwrap();
        assert_eq!((told.count, told.latest.len()), (PROMISES, 16));
    });
}

#[test]
fn what_does_not_fit_is_refused_in_a_sentence() {
    with_witness(|world| {
        let begin = BEGIN;
        for (text, words) in [
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), "syncline-witness 1 first"),
            ("syncline-witness 2\n".to_owned(), "syncline-witness 1 first"),
            (format!("{GREETING}hello\n"), "no message"),
            (format!("{GREETING}{{\"promise\":[0,1]}}\n"), "before its run began"),
            (format!("{GREETING}\"leave\"\n"), "before its run began"),
            (format!("{GREETING}{{\"ask\":\"nobody\"}}\n"), "ever promised for nobody"),
            (
                format!(
                    "{GREETING}{{\"judged\":{{\"kind\":\"plug_pull\",\"promised\":0,\"looked\":0,\"bad\":{{}},\"reordered\":0,\"controls\":0,\"controls_gone\":0,\"example\":null}}}}\n"
                ),
                "judged without asking",
            ),
            (format!("{GREETING}{begin}\n{begin}\n"), "a second run"),
            (format!("{GREETING}{begin}\n{{\"promise\":[1,1]}}\n"), "block 0 is next"),
            (format!("{GREETING}{}", "x".repeat(20_000)), "longer than"),
        ] {
            let answer = said(world, text.as_bytes());
            assert!(answer.contains("refused") && answer.contains(words), "{text:.60}: {answer}");
        }
    });
}

#[test]
fn random_bytes_harm_nobody() {
    with_witness(|world| {
        let mut random = fastrand::Rng::with_seed(23);
        for round in 0..60 {
            let mut bytes = vec![0; random.usize(0..3000)];
            random.fill(&mut bytes);
            let mut text = if round % 2 == 0 { GREETING.as_bytes().to_vec() } else { Vec::new() };
            text.extend(bytes);
            let answer = said(world, &text);
            let greeted = answer.strip_prefix(GREETING).unwrap_or(&answer);
            assert!(greeted.is_empty() || greeted.contains("refused"), "{answer}");
        }
        let disk = SimulatedDisk::new(1, Metadata::Strict);
        let mut plan = plan(SyncMethod::Fsync);
        plan.limit.blocks = Some(5);
        assert_eq!(world.written(&disk, &plan).blocks, 5);
    });
}

#[test]
fn a_writer_that_goes_silent_is_named_and_one_that_leaves_is_too() {
    with_witness(|world| {
        let disk = SimulatedDisk::new(1, Metadata::Strict);
        disk.crash_after(50);
        let silent = world.cut_off(&disk, &plan(SyncMethod::Fsync));
        let told = |words: &str| {
            let told = world.told.lock().unwrap();
            told.iter().any(|line| line.contains(words))
        };
        while !told("host:/disk went silent after") {
            std::thread::yield_now();
        }
        drop(silent);
        while !told("was cut off") {
            std::thread::yield_now();
        }
    });
}
