//! Reads a record back: its own file, or what `--json` printed.
//!
//! 1. A file of lines that ends without a newline was torn in its last line; that line is dropped,
//!    and the record says that it was cut short.
//! 2. A file without an end was cut short too; its figures are the sums of its intervals.
//! 3. Any other damage is refused with the line and the reason: a wrong figure is worse than none.
//! 4. A file that does not start like JSON is not read further, and at most [`LARGEST`] bytes are read, so
//!    that a disk image named by mistake does not fill the memory.

use super::any_record::Record;
use super::identity::{FORMAT_NAME, FORMAT_VERSION, Identity};
use super::interval::Interval;
use super::run::{RunEnd, RunHead, RunRecord};
use crate::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The most bytes of a record: a run of a week with an interval each second needs half of it.
const LARGEST: u64 = 1 << 30;

/// Reads the one record of a file.
pub fn read(path: &Path) -> Result<Record> {
    let mut records = read_all(path)?;
    match records.len() {
        1 => Ok(records.remove(0)),
        count => Err(Error::Several { path: path.to_owned(), count }),
    }
}

/// Reads every record of a file: one from a record's own file, any number from an array.
pub fn read_all(path: &Path) -> Result<Vec<Record>> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    // A device such as /dev/zero has no end to read to.
    if std::fs::metadata(path).map_err(failed)?.file_type().is_char_device() {
        return Err(Error::NotARecord { path: path.to_owned() });
    }
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    match opening(&mut file).map_err(failed)? {
        Opening::Json => {}
        Opening::Nothing => {
            return Err(Error::Empty { path: path.to_owned() });
        }
        Opening::Other => {
            return Err(Error::NotARecord { path: path.to_owned() });
        }
    }
    let mut bytes = Vec::new();
    let read = file.take(LARGEST + 1).read_to_end(&mut bytes);
    if read.map_err(failed)? as u64 > LARGEST {
        return Err(Error::NotARecord { path: path.to_owned() });
    }
    Source { path }.records(&bytes)
}

/// How a file starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    /// With an object or an array.
    Json,
    /// The file is empty or holds only white space and zeros.
    Nothing,
    /// With something else.
    Other,
}

/// Inspects the first character of a file without consuming it.
fn opening(file: &mut impl BufRead) -> io::Result<Opening> {
    let mut zeros = false;
    let mut passed = 0;
    while passed < LARGEST {
        let part = file.fill_buf()?;
        if part.is_empty() {
            return Ok(Opening::Nothing);
        }
        let blank = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
        let first = part.iter().position(|byte| !blank(byte));
        zeros |= part[..first.unwrap_or(part.len())].contains(&0);
        match first.map(|place| part[place]) {
            // Zeros may follow a record, but never precede one.
            Some(b'{' | b'[') if !zeros => return Ok(Opening::Json),
            Some(_) => return Ok(Opening::Other),
            None => {
                let length = part.len();
                file.consume(length);
                passed += length as u64;
            }
        }
    }
    Ok(Opening::Other)
}

/// A record file of a folder.
#[derive(Debug)]
pub struct RecordFile {
    /// The file.
    pub path: PathBuf,
    /// The record, or why it cannot be read.
    pub record: Result<Record>,
}

/// The record files of a folder, oldest first, with findings of an older `verify`, which are not records.
pub fn record_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |source| Error::Read { path: folder.to_owned(), source };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        let alone = || matches!(read(&path), Err(Error::VerifiedAlone { .. }));
        if ending == Some("jsonl") || (ending == Some("json") && alone()) {
            paths.push(path);
        }
    }
    // Names open with the time.
    paths.sort();
    Ok(paths)
}

/// Every record file of a folder, oldest first; files that cannot be read are listed with the reason.
pub fn list(folder: &Path) -> Result<Vec<RecordFile>> {
    let files = record_files(folder)?.into_iter();
    Ok(files.map(|path| RecordFile { record: read(&path), path }).collect())
}

const UNKNOWN_KIND: &str = "its kind is neither run nor probe nor observation nor verification";

/// Fields that identify a finding that an older `verify` wrote by itself.
const VERIFIED_ALONE: [&str; 4] = ["verdict", "judgement", "forbidden", "kills"];

/// Where the bytes come from, for error sentences.
struct Source<'a> {
    path: &'a Path,
}

impl Source<'_> {
    fn records(&self, bytes: &[u8]) -> Result<Vec<Record>> {
        // A crash of the machine can leave zeros where the last line should be.
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let bytes = &bytes[..end];
        let text = self.text(bytes)?;
        match serde_json::from_str(text) {
            Ok(Value::Array(values)) if !values.is_empty() => {
                values.into_iter().map(|value| self.folded(value)).collect()
            }
            Ok(value) if value.get("line").is_none() => Ok(vec![self.folded(value)?]),
            _ => Ok(vec![self.lines(text)?]),
        }
    }

    /// The bytes as text. A torn last line may end within a character; elsewhere that is damage.
    fn text<'b>(&self, bytes: &'b [u8]) -> Result<&'b str> {
        let error = match std::str::from_utf8(bytes) {
            Ok(text) => return Ok(text),
            Err(error) => error,
        };
        let (whole, rest) = bytes.split_at(error.valid_up_to());
        if rest.contains(&b'\n') {
            let line = whole.split(|byte| *byte == b'\n').count();
            return Err(self.damaged(line, "it holds bytes that are not UTF-8 text"));
        }
        Ok(std::str::from_utf8(whole).expect("valid UTF-8 up to there"))
    }

    /// A record that is already folded into one object.
    fn folded(&self, value: Value) -> Result<Record> {
        self.check_format(&value)?;
        self.check_figures(match value["kind"].as_str() {
            Some("run") => Record::Run(Box::new(self.typed(1, value)?)),
            Some("probe") => Record::Probe(Box::new(self.typed(1, value)?)),
            Some("observation") => Record::Observation(Box::new(self.typed(1, value)?)),
            Some("verification") => Record::Verification(Box::new(self.typed(1, value)?)),
            _ => return Err(self.damaged(1, UNKNOWN_KIND)),
        })
    }

    fn lines(&self, text: &str) -> Result<Record> {
        let torn = !text.ends_with('\n');
        let mut lines: Vec<&str> = text.lines().collect();
        let mut cut_short = None;
        // The last line counts if only its newline is missing.
        if torn && lines.last().is_some_and(|last| serde_json::from_str::<Value>(last).is_err()) {
            lines.pop();
            cut_short = Some("its last line was torn and is left out");
        }
        let mut values = Vec::with_capacity(lines.len());
        for (index, line) in lines.iter().enumerate() {
            match serde_json::from_str::<Value>(line) {
                Ok(value) => values.push(value),
                Err(_) if index == 0 => return Err(self.not_a_record()),
                Err(error) => return Err(self.damaged(index + 1, &format!("{error}"))),
            }
        }
        let Some(head) = values.first().filter(|head| head["line"] == "head") else {
            return Err(self.not_a_record());
        };
        self.check_format(head)?;
        match head["kind"].as_str() {
            Some("run") => self.run(values, cut_short),
            Some("probe") => {
                let end = self.only_end(values, "probe")?;
                Ok(Record::Probe(Box::new(self.typed(2, end)?)))
            }
            Some("observation") => {
                let end = self.only_end(values, "observation")?;
                Ok(Record::Observation(Box::new(self.typed(2, end)?)))
            }
            Some("verification") => {
                let end = self.only_end(values, "verification")?;
                Ok(Record::Verification(Box::new(self.typed(2, end)?)))
            }
            _ => Err(self.damaged(1, UNKNOWN_KIND)),
        }
    }

    fn run(&self, values: Vec<Value>, torn: Option<&str>) -> Result<Record> {
        let count = values.len();
        let mut intervals = Vec::new();
        let mut head = None;
        let mut end = None;
        for (index, value) in values.into_iter().enumerate() {
            let line = index + 1;
            match value["line"].as_str() {
                Some("head") if line == 1 => head = Some(self.opening(line, value)?),
                Some("interval") => intervals.push(self.typed::<Interval>(line, value)?),
                Some("end") if line == count => {
                    head = Some(self.opening(line, value.clone())?);
                    end = Some(self.typed::<RunEnd>(line, value)?);
                }
                _ => return Err(self.damaged(line, "a run has no such line here")),
            }
        }
        let (identity, head) = head.ok_or_else(|| self.not_a_record())?;
        let end = end.unwrap_or_else(|| {
            let reason =
                torn.unwrap_or("it has no end: the program was stopped, or is still running");
            RunEnd::from_intervals(&intervals, &format!("the record was cut short: {reason}"))
        });
        self.check_figures(Record::Run(Box::new(RunRecord { identity, head, end, intervals })))
    }

    fn opening(&self, line: usize, value: Value) -> Result<(Identity, RunHead)> {
        Ok((self.typed(line, value.clone())?, self.typed(line, value)?))
    }

    /// The end of a record that has a head, an end and nothing between them.
    fn only_end(&self, mut values: Vec<Value>, kind: &str) -> Result<Value> {
        let count = values.len();
        match values.pop() {
            Some(end) if count == 2 && end["line"] == "end" => Ok(end),
            Some(_) if count == 1 => Err(self.damaged(
                2,
                &format!("the {kind} was cut short before its figures were written; repeat it"),
            )),
            _ => {
                Err(self
                    .damaged(count, &format!("this {kind} has a line that does not belong here")))
            }
        }
    }

    fn check_format(&self, value: &Value) -> Result<()> {
        let format = &value["format"];
        // An older verify wrote findings by themselves, before they were records.
        if format.is_u64() && VERIFIED_ALONE.iter().any(|field| value.get(field).is_some()) {
            return Err(Error::VerifiedAlone { path: self.path.to_owned() });
        }
        if format["name"] != FORMAT_NAME {
            return Err(self.not_a_record());
        }
        match format["version"].as_u64() {
            Some(version) if version > FORMAT_VERSION => {
                Err(Error::Newer { path: self.path.to_owned(), version, newest: FORMAT_VERSION })
            }
            Some(1..) => Ok(()),
            _ => Err(self.damaged(1, "its format has no version")),
        }
    }

    fn check_figures(&self, record: Record) -> Result<Record> {
        let adds_up = |run: &RunRecord| {
            run.end.outcomes.adds_up()
                && run.end.repetitions.iter().all(|one| one.outcomes.adds_up())
        };
        match &record {
            Record::Run(run) if !adds_up(run) => {
                Err(self.damaged(run.intervals.len() + 2, "its outcomes do not add up"))
            }
            _ => Ok(record),
        }
    }

    fn typed<T: DeserializeOwned>(&self, line: usize, value: Value) -> Result<T> {
        serde_json::from_value(value).map_err(|error| self.damaged(line, &format!("{error}")))
    }

    fn damaged(&self, line: usize, what: &str) -> Error {
        Error::Damaged { path: self.path.to_owned(), line, what: what.to_owned() }
    }

    fn not_a_record(&self) -> Error {
        Error::NotARecord { path: self.path.to_owned() }
    }
}
