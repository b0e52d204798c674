//! Reads a stacks file; refuses files of other formats or newer versions, damaged files and truncated files.

use super::line::{FORMAT, Head, Line, VERSION};
use crate::error::Error;
use crate::histogram::Histogram;
use crate::metric::Metric;
use crate::profile::{Profile, Sample};
use crate::stack::{StackId, ThreadId};
use std::collections::HashSet;
use std::hash::Hash;
use std::io::BufRead;

impl Profile {
    /// Reads a stacks file to its end.
    pub fn read(from: &mut impl BufRead) -> Result<Profile, Error> {
        let mut reader = Reader::default();
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let length = from.read_until(b'\n', &mut bytes).map_err(Error::Read)?;
            if length == 0 {
                break;
            }
            let taken = reader.line(&bytes);
            taken.map_err(|what| reader.error(what))?;
            reader.lines += 1;
        }
        reader.finish()
    }
}

#[derive(Default)]
struct Reader {
    /// Lines read.
    lines: u64,
    has_ended: bool,
    profile: Profile,
    known: KnownRecords,
    weights: u64,
    counts: u64,
}

/// The records read so far, to detect duplicates.
#[derive(Default)]
struct KnownRecords {
    frames: HashSet<crate::Frame>,
    stacks: HashSet<Vec<u32>>,
    threads: HashSet<crate::Thread>,
    samples: HashSet<(Metric, ThreadId, StackId)>,
}

type LineResult = Result<(), String>;

impl Reader {
    fn line(&mut self, bytes: &[u8]) -> LineResult {
        if self.lines == 0 {
            return self.head(bytes);
        }
        if self.has_ended {
            return Err("there is data after the end line".to_owned());
        }
        if !bytes.ends_with(b"\n") {
            return Err("the file is truncated in the middle of this line".to_owned());
        }
        let line = serde_json::from_slice(bytes);
        let line = line.map_err(|error| format!("this is not a line of a stacks file: {error}"))?;
        match line {
            Line::Head(_) => Err("a second head".to_owned()),
            Line::Frame(frame) => {
                insert_once(&mut self.known.frames, &frame, "frame")?;
                push(&mut self.profile.frames, frame)
            }
            Line::Stack(stack) => self.stack(stack),
            Line::Thread(thread) => {
                insert_once(&mut self.known.threads, &thread, "thread")?;
                push(&mut self.profile.threads, thread)
            }
            Line::Sample(metric, thread, stack, weight, count) => self.sample(Sample {
                metric,
                thread: ThreadId(thread),
                stack: StackId(stack),
                weight,
                count,
            }),
            Line::Account(account) => {
                self.profile.accounts.push(account);
                Ok(())
            }
            Line::Histogram(histogram) => self.histogram(histogram),
            Line::End(lines) if lines == self.lines => {
                self.has_ended = true;
                Ok(())
            }
            Line::End(lines) => Err(format!(
                "the file was written with {lines} lines before its end line and has {}",
                self.lines
            )),
        }
    }

    fn head(&mut self, bytes: &[u8]) -> LineResult {
        let not_a_stacks_file =
            || "this is not a stacks file; its first line must be a head".to_owned();
        let Ok(Line::Head(Head { format, version, window_ns })) = serde_json::from_slice(bytes)
        else {
            return Err(not_a_stacks_file());
        };
        if format != FORMAT {
            return Err(not_a_stacks_file());
        }
        if version != VERSION {
            return Err(format!(
                "the file has version {version} of the format, and this program reads version {VERSION}"
            ));
        }
        self.profile.window_ns = window_ns;
        Ok(())
    }

    fn stack(&mut self, stack: Vec<u32>) -> LineResult {
        let frames = self.profile.frames.len();
        if let Some(number) = stack.iter().find(|number| **number as usize >= frames) {
            return Err(format!("frame {number} is not defined above"));
        }
        insert_once(&mut self.known.stacks, &stack, "stack")?;
        push(&mut self.profile.stacks, stack)
    }

    fn sample(&mut self, sample: Sample) -> LineResult {
        let (thread, stack) = (sample.thread, sample.stack);
        if thread.0 as usize >= self.profile.threads.len() {
            return Err(format!("thread {} is not defined above", thread.0));
        }
        if stack.0 as usize >= self.profile.stacks.len() {
            return Err(format!("stack {} is not defined above", stack.0));
        }
        insert_once(&mut self.known.samples, &(sample.metric, thread, stack), "sample")?;
        let overflow = || "the sum of the weights exceeds 64 bits".to_owned();
        self.weights = self.weights.checked_add(sample.weight).ok_or_else(overflow)?;
        self.counts = self.counts.checked_add(sample.count).ok_or_else(overflow)?;
        self.profile.samples.push(sample);
        Ok(())
    }

    fn histogram(&mut self, histogram: Histogram) -> LineResult {
        let mut counts = histogram.counts.iter();
        let events = counts.try_fold(0_u64, |sum, count| sum.checked_add(*count));
        if histogram.counts.len() > 64 || events.is_none() {
            return Err(
                "a histogram has more than 64 powers of two, or its number of events exceeds 64 bits".to_owned()
            );
        }
        self.profile.histograms.push(histogram);
        Ok(())
    }

    fn finish(mut self) -> Result<Profile, Error> {
        if !self.has_ended {
            let what = match self.lines {
                0 => "the file is empty",
                _ => "the file is truncated: its end line is missing",
            };
            return Err(self.error(what.to_owned()));
        }
        let samples = &mut self.profile.samples;
        samples.sort_unstable_by_key(|it| (it.metric, it.thread, it.stack));
        Ok(self.profile)
    }

    fn error(&self, what: String) -> Error {
        Error::Stacks { line: self.lines + 1, what }
    }
}

fn insert_once<T: Clone + Eq + Hash>(known: &mut HashSet<T>, value: &T, what: &str) -> LineResult {
    if known.insert(value.clone()) {
        return Ok(());
    }
    Err(format!("this {what} is defined twice"))
}

fn push<T>(values: &mut Vec<T>, value: T) -> LineResult {
    if u32::try_from(values.len()).is_err() {
        return Err("more than 32 bits can number".to_owned());
    }
    values.push(value);
    Ok(())
}
