//! Histories in Elle's JSON form: one event a line, read and written; an array of them is read too.
//!
//! `{"type":"invoke","process":0,"index":0,"time":17,"f":"txn","value":[["append",1,5],["r",2,null]]}`,
//! then the same with `"type"` `ok`, `fail` or `info`, and answers in place of nulls. A client has one
//! transaction under way at a time. An invocation without an end ended unknown.
//!
//! What cannot be understood is refused and not passed over: of a history with gaps nothing can be said.
//! Only events beside the transactions are left out: those of the process `nemesis`, and those whose `f` is
//! another than `txn`.

use super::history::{Ending, History, Operation, Transaction};
use crate::error::{Error, Result};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, Read, Write};

/// Something of an event, or what is wrong with it.
type Understood<T> = std::result::Result<T, String>;

/// The most bytes of a history, and of one line of it: an event of ten thousand operations has half of that.
const BYTES_MAX: u64 = 1 << 30;
const LINE_MAX: u64 = 1 << 20;

/// Reads a history.
///
/// At most `BYTES_MAX` bytes are read, and `LINE_MAX` of one line: a device has no end.
pub fn read(input: impl BufRead) -> Result<History> {
    let mut reading = Reading::default();
    let mut input = input.take(BYTES_MAX + 1);
    if begins_an_array(&mut input)? {
        let events: serde_json::Result<Vec<Value>> = serde_json::from_reader(&mut input);
        if input.limit() == 0 {
            return Err(too_long());
        }
        let events = events.map_err(|error| Error::cannot(format!("the history: {error}")))?;
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
    Error::cannot(format!("the history has more than {BYTES_MAX} bytes"))
}

/// What is wrong, and where; people count from one.
fn at(what: &str, number: usize, why: &str) -> Error {
    Error::cannot(format!("{what} {} of the history: {why}", number + 1))
}

/// True if the first sign that is no space opens an array; spaces before it are taken.
fn begins_an_array(input: &mut impl BufRead) -> Result<bool> {
    let wrong = |error: std::io::Error| Error::cannot(format!("the history: {error}"));
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

/// A history as far as it is read.
#[derive(Default)]
struct Reading {
    history: History,
    /// The transaction that each client has under way.
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
            Some("ok") => Ending::Committed,
            Some("fail") => Ending::Failed,
            Some("info") => Ending::Unknown,
            _ => return Err("its type is none of invoke, ok, fail, info".to_owned()),
        };
        let asked = self.open.remove(&process);
        let asked = asked.ok_or("a transaction ends that was never asked for")?;
        let transaction = &mut self.history.transactions[asked];
        transaction.ending = ending;
        if ending == Ending::Committed {
            if !is_answer(&transaction.operations, &operations) {
                return Err("it ends with other operations than it was asked for with".to_owned());
            }
            transaction.operations = operations;
        }
        if ending != Ending::Unknown {
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
                    "it appends {value} to key {key} a second time, so who read it cannot be told"
                ));
            }
        }
        let number = self.history.transactions.len();
        if self.open.insert(process, number).is_some() {
            let why = "a client asks for a second transaction before its first has ended";
            return Err(why.to_owned());
        }
        self.history.transactions.push(Transaction {
            process,
            invoked: position,
            completed: None,
            ending: Ending::Unknown,
            operations,
        });
        Ok(())
    }
}

/// The client of an event; none of one beside the transactions.
fn client(event: &Value) -> Understood<Option<i64>> {
    if !event.is_object() {
        return Err("it is no event".to_owned());
    }
    let process = &event["process"];
    let nemesis = matches!(process.as_str(), Some("nemesis" | ":nemesis"));
    let is_other = !event["f"].is_null() && !matches!(event["f"].as_str(), Some("txn" | ":txn"));
    if nemesis || is_other {
        return Ok(None);
    }
    let number = process.as_i64();
    number.map(Some).ok_or_else(|| format!("its process {process} is no whole number"))
}

/// True if a transaction ended with what it was asked for, in that order. A client may have read more than
/// it was asked to, as one does that appends by reading a list and putting it back longer.
fn is_answer(asked: &[Operation], answered: &[Operation]) -> bool {
    let mut asked = asked.iter().peekable();
    let all_fit = answered.iter().all(|one| {
        let is_next = asked.next_if(|asked| match (asked, one) {
            (Operation::Read { key, .. }, Operation::Read { key: of, .. }) => key == of,
            (asked, one) => *asked == one,
        });
        is_next.is_some() || matches!(one, Operation::Read { .. })
    });
    all_fit && asked.peek().is_none()
}

/// Writes a history; times are the positions of events, in nanoseconds.
pub fn write(history: &History, output: &mut impl Write) -> std::io::Result<()> {
    let mut events = BTreeMap::new();
    let last = history.transactions.iter().map(|one| one.invoked.max(one.completed.unwrap_or(0)));
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

fn operations(value: &Value) -> Understood<Vec<Operation>> {
    let all = value.as_array();
    let all = all.ok_or("its value is no list of appends and reads")?;
    all.iter().map(operation).collect()
}

fn operation(one: &Value) -> Understood<Operation> {
    let whole = |value: &Value| {
        let number = value.as_i64();
        number.ok_or_else(|| {
            format!("{value} is no whole number of 64 bits, as keys and values are here")
        })
    };
    match one[0].as_str() {
        Some("append" | ":append") => {
            Ok(Operation::Append { key: whole(&one[1])?, value: whole(&one[2])? })
        }
        Some("r" | ":r") => {
            let values = match &one[2] {
                Value::Null => None,
                Value::Array(list) => Some(list.iter().map(whole).collect::<Understood<_>>()?),
                other => return Err(format!("a read is answered {other}, which is no list")),
            };
            Ok(Operation::Read { key: whole(&one[1])?, values })
        }
        _ => Err(format!("{one} is neither an append nor a read")),
    }
}
