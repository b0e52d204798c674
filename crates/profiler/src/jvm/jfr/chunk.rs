//! A chunk of a recording: its header, constants and events.

use super::bytes::{Bytes, ParseError};
use super::metadata::{self, Classes};
use super::value::{self, Value};
use std::collections::HashMap;
use syncline_instrument::Nanos;

const HEADER: usize = 68;
const METADATA: i64 = 0;
const CONSTANTS: i64 = 1;
/// The maximum length of a chain of constants: real recordings have one step.
const HOPS: usize = 4;
const SECOND: i128 = 1_000_000_000;

/// A chunk of a recording.
#[derive(Debug)]
pub(in crate::jvm) struct Chunk<'a> {
    classes: Classes,
    constants: HashMap<(i64, i64), Value>,
    /// Type and fields of each event that is neither metadata nor constants.
    events: Vec<(i64, Bytes<'a>)>,
    ticks_per_s: i128,
    /// Its begin, in nanoseconds of wall clock time and in ticks.
    start: (i128, i128),
}

/// An event of a chunk.
#[derive(Debug)]
pub(in crate::jvm) struct Event<'c> {
    chunk: &'c Chunk<'c>,
    value: Value,
}

/// The chunks of a recording, or the first error in it.
pub(super) fn chunks(bytes: &[u8]) -> Result<Vec<Chunk<'_>>, ParseError> {
    let (mut left, mut chunks) = (bytes, Vec::new());
    while !left.is_empty() {
        let (chunk, size) = Chunk::read(left)
            .map_err(|why| format!("the recording's chunk {} is broken: {why}", chunks.len()))?;
        chunks.push(chunk);
        left = &left[size..];
    }
    Ok(chunks)
}

/// The chunks of a recording that has these events: [`Chunk::check`] of each chunk.
pub(in crate::jvm) fn checked_chunks<'a>(
    bytes: &'a [u8],
    events: &[&str],
) -> Result<Vec<Chunk<'a>>, String> {
    let chunks = chunks(bytes)?;
    chunks.iter().try_for_each(|chunk| chunk.check(events))?;
    Ok(chunks)
}

impl<'a> Chunk<'a> {
    /// Reads a chunk, and returns its length in bytes.
    fn read(bytes: &'a [u8]) -> Result<(Chunk<'a>, usize), ParseError> {
        let mut header = Bytes::new(bytes, false);
        if header.take(4)? != b"FLR\0" {
            return Err("it has no chunk header".to_owned());
        }
        let (major, _minor) = (header.u16_fixed()?, header.u16_fixed()?);
        if !(1..=2).contains(&major) {
            return Err(format!("its version {major} is unknown"));
        }
        let size = header.u64_fixed()?;
        let (_constants, metadata) = (header.u64_fixed()?, header.u64_fixed()?);
        let (start_ns, _length_ns) = (header.u64_fixed()?, header.u64_fixed()?);
        let start = (i128::from(start_ns), i128::from(header.u64_fixed()?));
        let ticks_per_s = i128::from(header.u64_fixed()?).max(1);
        let compressed = header.u32_fixed()? & 1 == 1;
        let within = |size: &usize| (HEADER..=bytes.len()).contains(size);
        let size = usize::try_from(size)
            .ok()
            .filter(within)
            .ok_or_else(|| format!("its size is {size} bytes, but {} are left", bytes.len()))?;
        let (whole, metadata) = (&bytes[..size], usize::try_from(metadata).ok());
        let metadata = metadata.and_then(|start| whole.get(start..));
        let metadata = metadata.ok_or("its metadata is outside the chunk")?;
        let (kind, body, _) = event(Bytes::new(metadata, compressed))?;
        if kind != METADATA {
            return Err("its metadata event has another type".to_owned());
        }
        let mut chunk = Chunk {
            classes: metadata::read(body)?,
            constants: HashMap::new(),
            events: Vec::new(),
            ticks_per_s,
            start,
        };
        let mut left = Bytes::new(&whole[HEADER..], compressed);
        while left.len() > 0 {
            let (kind, body, rest) = event(left)?;
            match kind {
                METADATA => {}
                CONSTANTS => chunk.constants(body)?,
                kind => chunk.events.push((kind, body)),
            }
            left = rest;
        }
        Ok((chunk, size))
    }

    /// Constants: start, duration, the position of the previous constants, a mask, then for each type its
    /// number, its count, and the number and value of each constant.
    fn constants(&mut self, mut bytes: Bytes<'_>) -> Result<(), ParseError> {
        for _ in 0..3 {
            bytes.long()?;
        }
        bytes.byte()?;
        for _ in 0..bytes.count()? {
            let class = bytes.long()?;
            for _ in 0..bytes.count()? {
                let number = bytes.long()?;
                let value = value::read(&self.classes, class, &mut bytes, 0)?;
                self.constants.insert((class, number), value);
            }
        }
        Ok(())
    }

    /// True if the metadata contains events of that name, whether or not any occurred.
    pub(in crate::jvm) fn knows(&self, name: &str) -> bool {
        self.classes.values().any(|class| class.name == name)
    }

    /// The events of that name, in order; an invalid one is an error.
    pub(in crate::jvm) fn events<'c>(
        &'c self,
        name: &'c str,
    ) -> impl Iterator<Item = Result<Event<'c>, ParseError>> {
        let is_named = move |kind: &i64| {
            let class = self.classes.get(kind);
            class.is_some_and(|class| class.name == name)
        };
        let wanted = self.events.iter().filter(move |(kind, _)| is_named(kind));
        wanted.map(|(kind, bytes)| {
            let value = value::read(&self.classes, *kind, &mut bytes.clone(), 0)?;
            Ok(Event { chunk: self, value })
        })
    }

    /// Parses the events of these names once, so that an invalid one is found before half are counted.
    pub(in crate::jvm) fn check(&self, names: &[&str]) -> Result<(), ParseError> {
        for name in names {
            for event in self.events(name) {
                event?;
            }
        }
        Ok(())
    }

    /// The value that a constant refers to, or the value itself.
    fn resolve<'c>(&'c self, mut value: &'c Value) -> Option<&'c Value> {
        for _ in 0..HOPS {
            let Value::Constant(class, number) = value else {
                return Some(value);
            };
            value = self.constants.get(&(*class, *number))?;
        }
        None
    }

    fn field<'c>(&'c self, value: &'c Value, name: &str) -> Option<&'c Value> {
        let Value::Object(class, values) = self.resolve(value)? else {
            return None;
        };
        let fields = &self.classes.get(class)?.fields;
        let place = fields.iter().position(|field| field.name == name)?;
        values.get(place)
    }

    fn at<'c>(&'c self, value: &'c Value, path: &[&str]) -> Option<&'c Value> {
        let mut value = value;
        for name in path {
            value = self.field(value, name)?;
        }
        Some(value)
    }

    fn text<'c>(&'c self, value: &'c Value, path: &[&str]) -> Option<&'c str> {
        match self.resolve(self.at(value, path)?)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Splits off the first event: its type, its fields, and the rest.
fn event(bytes: Bytes<'_>) -> Result<(i64, Bytes<'_>, Bytes<'_>), ParseError> {
    let (mut whole, before) = (bytes, bytes.len());
    let size = whole.int()?;
    let head = before - whole.len();
    let size = usize::try_from(size).ok().filter(|size| *size > head);
    let size = size.ok_or("an event is shorter than its header")?;
    let mut rest = bytes;
    let compressed = bytes.is_compressed();
    let mut body = Bytes::new(rest.take(size)?, compressed);
    body.take(head)?;
    let kind = body.long()?;
    Ok((kind, body, rest))
}

/// A frame of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::jvm) struct JfrFrame<'c> {
    /// The class, with slashes or dots, or the library; empty if unknown.
    pub(in crate::jvm) class: &'c str,
    pub(in crate::jvm) method: &'c str,
    /// `JIT compiled`, `Native` and similar.
    pub(in crate::jvm) kind: &'c str,
}

impl<'c> Event<'c> {
    /// A whole number.
    pub(in crate::jvm) fn whole(&self, field: &str) -> Option<i64> {
        self.whole_at(&[field])
    }

    /// A whole number at the end of a path of fields.
    pub(in crate::jvm) fn whole_at(&self, path: &[&str]) -> Option<i64> {
        match self.chunk.at(&self.value, path)? {
            Value::Whole(number) => Some(*number),
            _ => None,
        }
    }

    /// When it ended, in nanoseconds of wall clock time; none if its begin is unknown.
    pub(in crate::jvm) fn ended_ns(&self) -> Option<Nanos> {
        let (start_ns, start_ticks) = self.chunk.start;
        let ticks = i128::from(self.whole("startTime")?) - start_ticks;
        let began = start_ns + ticks * SECOND / self.chunk.ticks_per_s;
        let lasted = self.span_ns("duration").unwrap_or(0);
        Nanos::try_from(began + i128::from(lasted)).ok()
    }

    /// A duration in ticks, in nanoseconds.
    pub(in crate::jvm) fn span_ns(&self, field: &str) -> Option<Nanos> {
        let ticks = i128::from(self.whole(field)?);
        let ns = ticks * SECOND / self.chunk.ticks_per_s;
        Nanos::try_from(ns.max(0)).ok()
    }

    /// Text at the end of a path of fields.
    pub(in crate::jvm) fn text(&'c self, path: &[&str]) -> Option<&'c str> {
        self.chunk.text(&self.value, path)
    }

    /// The number of the event's stack: equal stacks have equal numbers. None without a stack.
    pub(in crate::jvm) fn stack_number(&self) -> Option<i64> {
        match self.chunk.at(&self.value, &["stackTrace"])? {
            Value::Constant(_, number) => Some(*number),
            _ => None,
        }
    }

    /// The frames of its stack, from the innermost outwards.
    pub(in crate::jvm) fn stack(&'c self) -> Vec<JfrFrame<'c>> {
        let frames = self.chunk.at(&self.value, &["stackTrace", "frames"]);
        let Some(Value::Many(frames)) = frames else {
            return Vec::new();
        };
        let text = |frame, path: &[&str]| self.chunk.text(frame, path).unwrap_or_default();
        let jfr_frame = |frame| JfrFrame {
            class: text(frame, &["method", "type", "name", "string"]),
            method: text(frame, &["method", "name", "string"]),
            kind: text(frame, &["type", "description"]),
        };
        frames.iter().map(jfr_frame).collect()
    }
}
