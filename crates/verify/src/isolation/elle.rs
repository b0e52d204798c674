//! Histories in Elle's JSON form: one event a line, read and written.
//!
//! `{"type":"invoke","process":0,"index":0,"time":17,"f":"txn","value":[["append",1,5],["r",2,null]]}`,
//! then the same with `"type"` `ok`, `fail` or `info`, and answers in place of nulls. A client has one
//! transaction under way at a time. An invocation without an end ended unknown.

use super::history::{Ending, History, Operation, Transaction};
use crate::error::{Error, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};

/// Reads a history.
pub fn read(input: impl BufRead) -> Result<History> {
    let (mut history, mut open) = (History::default(), BTreeMap::new());
    let lines = input.lines().enumerate();
    for (event, line) in lines {
        let number = event + 1;
        let wrong = |why: &str| Error::cannot(format!("line {number} of the history: {why}"));
        let line = line.map_err(|error| wrong(&error.to_string()))?;
        if line.trim().is_empty() {
            continue;
        }
        let line: Value = serde_json::from_str(&line).map_err(|error| wrong(&error.to_string()))?;
        // Clients are numbers; others, as Elle's "nemesis", are events beside the transactions.
        let Some(process) = line["process"].as_i64() else {
            continue;
        };
        let operations = operations(&line["value"])
            .ok_or_else(|| wrong("its value is no list of appends and reads"))?;
        let ending = match line["type"].as_str() {
            Some("invoke") => {
                if open.insert(process, history.transactions.len()).is_some() {
                    return Err(wrong(
                        "a client asks for a second transaction before its first has ended",
                    ));
                }
                history.transactions.push(Transaction {
                    process,
                    invoked: event,
                    completed: None,
                    ending: Ending::Unknown,
                    operations,
                });
                continue;
            }
            Some("ok") => Ending::Committed,
            Some("fail") => Ending::Failed,
            Some("info") => Ending::Unknown,
            _ => return Err(wrong("its type is none of invoke, ok, fail, info")),
        };
        let asked = open.remove(&process);
        let asked = asked.ok_or_else(|| wrong("a transaction ends that was never asked for"))?;
        let transaction = &mut history.transactions[asked];
        transaction.ending = ending;
        if ending == Ending::Committed {
            transaction.operations = operations;
        }
        if ending != Ending::Unknown {
            transaction.completed = Some(event);
        }
    }
    Ok(history)
}

/// Writes a history; times are the positions of events, in nanoseconds.
pub fn write(history: &History, output: &mut impl Write) -> std::io::Result<()> {
    let mut events = BTreeMap::new();
    let last = history
        .transactions
        .iter()
        .map(|one| one.invoked.max(one.completed.unwrap_or(0)));
    let mut beyond = last.max().unwrap_or(0);
    for (number, transaction) in history.transactions.iter().enumerate() {
        events.insert(transaction.invoked, ("invoke", number));
        let word = match transaction.ending {
            Ending::Committed => "ok",
            Ending::Failed => "fail",
            Ending::Unknown => "info",
        };
        let completed = transaction.completed.unwrap_or_else(|| {
            beyond += 1;
            beyond
        });
        events.insert(completed, (word, number));
    }
    for (index, (word, number)) in events.into_values().enumerate() {
        let transaction = &history.transactions[number];
        let (process, answered) = (transaction.process, word == "ok");
        let event = event(word, process, index, &transaction.operations, answered);
        writeln!(output, "{event}")?;
    }
    Ok(())
}

/// One event; answers stand in it only where there were some.
pub(super) fn event(
    word: &str,
    process: i64,
    index: usize,
    operations: &[Operation],
    answered: bool,
) -> Value {
    let operations = operations.iter();
    let value: Vec<_> = operations.map(|one| json_of(one, answered)).collect();
    json!({
        "type": word, "process": process, "index": index, "time": index, "f": "txn", "value": value,
    })
}

fn json_of(operation: &Operation, answered: bool) -> Value {
    match operation {
        Operation::Append { key, value } => json!(["append", key, value]),
        Operation::Read { key, values } if answered => json!(["r", key, values]),
        Operation::Read { key, .. } => json!(["r", key, null]),
    }
}

fn operations(value: &Value) -> Option<Vec<Operation>> {
    let one = |operation: &Value| {
        let key = operation[1].as_i64()?;
        match operation[0].as_str()? {
            "append" => {
                let value = operation[2].as_i64()?;
                Some(Operation::Append { key, value })
            }
            "r" => {
                let values = match &operation[2] {
                    Value::Null => None,
                    list => Some(
                        list.as_array()?
                            .iter()
                            .map(Value::as_i64)
                            .collect::<Option<_>>()?,
                    ),
                };
                Some(Operation::Read { key, values })
            }
            _ => None,
        }
    };
    value.as_array()?.iter().map(one).collect()
}
