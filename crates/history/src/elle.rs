//! Reads and writes histories in Elle's JSON format: one event per line; an array of events can be read too.
//!
//! `{"type":"invoke","process":0,"index":0,"time":17,"f":"txn","value":[["append",1,5],["r",2,null]]}`, then
//! the same with `"type"` `ok`, `fail` or `info`, and answers instead of nulls. A client has at most one
//! transaction in flight. An invocation without an end has an unknown ending.
//!
//! Input that is not understood is an error and never skipped: a history with gaps proves nothing. Only
//! events that are not transactions are skipped: those of the process `nemesis`, and those whose `f` is not
//! `txn`.

use crate::error::Error;
use crate::history::{History, Operation, Transaction, TransactionStatus};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, Read, Write};

/// A part of an event, or what is wrong with it.
type Understood<T> = Result<T, String>;

/// Limits for a history and for one line; an event of ten thousand operations needs half of the latter.
const BYTES_MAX: u64 = 1 << 30;
const LINE_MAX: u64 = 1 << 20;

/// Reads a history.
///
/// Reads at most `BYTES_MAX` bytes, and `LINE_MAX` bytes per line, because a device may be endless.
pub fn read(input: impl BufRead) -> Result<History, Error> {
    let mut reading = Reading::default();
    let mut input = input.take(BYTES_MAX + 1);
    if begins_an_array(&mut input)? {
        let events: serde_json::Result<Vec<Value>> = serde_json::from_reader(&mut input);
        if input.limit() == 0 {
            return Err(too_long());
        }
        let events = events.map_err(|error| Error(format!("the history: {error}")))?;
        for (number, event) in events.iter().enumerate() {
            reading.event(number, event).map_err(|why| at("event", number, &why))?;
        }
        return Ok(reading.history);
    }
    for number in 0.. {
        let wrong = |why: &str| at("line", number, why);
        let mut line = String::new();
        let read = (&mut input).take(LINE_MAX + 1).read_line(&mut line);
        let read = read.map_err(|error| wrong(&error.to_string()))?;
        if read as u64 > LINE_MAX {
            return Err(wrong(&format!("it has more than {LINE_MAX} bytes")));
        }
        if input.limit() == 0 {
            return Err(too_long());
        }
        if read == 0 {
            break;
        }
        if line.trim().is_empty() {
            continue;
        }
        let event: Value =
            serde_json::from_str(&line).map_err(|error| wrong(&error.to_string()))?;
        reading.event(number, &event).map_err(|why| wrong(&why))?;
    }
    Ok(reading.history)
}

fn too_long() -> Error {
    Error(format!("the history has more than {BYTES_MAX} bytes"))
}

/// An error with its place, counted from one.
fn at(what: &str, number: usize, why: &str) -> Error {
    Error(format!("{what} {} of the history: {why}", number + 1))
}

/// True if the first character other than a space opens an array; consumes the spaces before it.
fn begins_an_array(input: &mut impl BufRead) -> Result<bool, Error> {
    let wrong = |error: std::io::Error| Error(format!("the history: {error}"));
    loop {
        let bytes = input.fill_buf().map_err(wrong)?;
        let spaces = bytes.iter().take_while(|byte| byte.is_ascii_whitespace() && **byte != b'\n');
        let (spaces, end) = (spaces.count(), bytes.len());
        if spaces < end || end == 0 {
            return Ok(bytes.get(spaces) == Some(&b'['));
        }
        input.consume(end);
    }
}

/// The part of a history that has been read.
#[derive(Default)]
struct Reading {
    history: History,
    /// The transaction in flight of each client.
    open: BTreeMap<i64, usize>,
    /// Keys and values that were appended.
    appended: HashSet<(i64, i64)>,
}

impl Reading {
    fn event(&mut self, position: usize, event: &Value) -> Understood<()> {
        let Some(process) = client(event)? else {
            return Ok(());
        };
        let operations = operations(&event["value"])?;
        let ending = match event["type"].as_str() {
            Some("invoke") => return self.invoked(position, process, operations),
            Some("ok") => TransactionStatus::Committed,
            Some("fail") => TransactionStatus::Failed,
            Some("info") => TransactionStatus::Unknown,
            _ => return Err("its type is not one of invoke, ok, fail, info".to_owned()),
        };
        let invoked = self.open.remove(&process);
        let invoked = invoked.ok_or("a transaction ends that was never invoked")?;
        let transaction = &mut self.history.transactions[invoked];
        transaction.ending = ending;
        if ending == TransactionStatus::Committed {
            if !is_answer(&transaction.operations, &operations) {
                return Err("its operations differ from those of its invocation".to_owned());
            }
            transaction.operations = operations;
        }
        if ending != TransactionStatus::Unknown {
            transaction.completed = Some(position);
        }
        Ok(())
    }

    fn invoked(
        &mut self,
        position: usize,
        process: i64,
        operations: Vec<Operation>,
    ) -> Understood<()> {
        for operation in &operations {
            if let Operation::Append { key, value } = operation
                && !self.appended.insert((*key, *value))
            {
                return Err(format!(
                    "it appends {value} to key {key} a second time, so its readers cannot be determined"
                ));
            }
        }
        let number = self.history.transactions.len();
        if self.open.insert(process, number).is_some() {
            let why = "a client invokes a second transaction before its first has ended";
            return Err(why.to_owned());
        }
        self.history.transactions.push(Transaction {
            process,
            invoked: position,
            completed: None,
            ending: TransactionStatus::Unknown,
            operations,
        });
        Ok(())
    }
}

/// The client of an event; none if the event is not part of a transaction.
fn client(event: &Value) -> Understood<Option<i64>> {
    if !event.is_object() {
        return Err("it is not a JSON object".to_owned());
    }
    let process = &event["process"];
    let nemesis = matches!(process.as_str(), Some("nemesis" | ":nemesis"));
    let is_other = !event["f"].is_null() && !matches!(event["f"].as_str(), Some("txn" | ":txn"));
    if nemesis || is_other {
        return Ok(None);
    }
    let number = process.as_i64();
    number.map(Some).ok_or_else(|| format!("its process {process} is not an integer"))
}

/// True if a transaction ended with its invoked operations, in that order. It may contain additional reads: a
/// client that appends reads the list first and writes it back longer.
fn is_answer(invoked: &[Operation], answered: &[Operation]) -> bool {
    let mut invoked = invoked.iter().peekable();
    let all_fit = answered.iter().all(|one| {
        let is_next = invoked.next_if(|invoked| match (invoked, one) {
            (Operation::Read { key, .. }, Operation::Read { key: of, .. }) => key == of,
            (invoked, one) => *invoked == one,
        });
        is_next.is_some() || matches!(one, Operation::Read { .. })
    });
    all_fit && invoked.peek().is_none()
}

/// Writes a history; times are the positions of events, as nanoseconds.
pub fn write(history: &History, output: &mut impl Write) -> std::io::Result<()> {
    let mut events = BTreeMap::new();
    let last = history.transactions.iter().map(|one| one.invoked.max(one.completed.unwrap_or(0)));
    let mut beyond = last.max().unwrap_or(0);
    for (number, transaction) in history.transactions.iter().enumerate() {
        events.insert(transaction.invoked, ("invoke", number));
        let word = match transaction.ending {
            TransactionStatus::Committed => "ok",
            TransactionStatus::Failed => "fail",
            TransactionStatus::Unknown => "info",
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

/// One event; `answered` says whether reads have their answers.
pub fn event(
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

fn operations(value: &Value) -> Understood<Vec<Operation>> {
    let all = value.as_array();
    let all = all.ok_or("its value is not a list of appends and reads")?;
    all.iter().map(operation).collect()
}

fn operation(one: &Value) -> Understood<Operation> {
    let whole = |value: &Value| {
        let number = value.as_i64();
        number.ok_or_else(|| format!("{value} is not a 64-bit integer, as keys and values must be"))
    };
    match one[0].as_str() {
        Some("append" | ":append") => {
            Ok(Operation::Append { key: whole(&one[1])?, value: whole(&one[2])? })
        }
        Some("r" | ":r") => {
            let values = match &one[2] {
                Value::Null => None,
                Value::Array(list) => Some(list.iter().map(whole).collect::<Understood<_>>()?),
                other => return Err(format!("the answer {other} of a read is not a list")),
            };
            Ok(Operation::Read { key: whole(&one[1])?, values })
        }
        _ => Err(format!("{one} is neither an append nor a read")),
    }
}
