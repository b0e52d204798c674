//! Reads a stacks file; refuses what is foreign, newer, broken or cut off.

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
            taken.map_err(|what| reader.refused(what))?;
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
    seen: KnownRecords,
    weights: u64,
    counts: u64,
}

/// What already stands in the file, to find it twice.
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
            return Err("something follows the line that ends the file".to_owned());
        }
        if !bytes.ends_with(b"\n") {
            return Err("it is cut off in the middle of this line".to_owned());
        }
        let line = serde_json::from_slice(bytes);
        let line = line.map_err(|error| format!("it is no line of a stacks file: {error}"))?;
        match line {
            Line::Head(_) => Err("a second head".to_owned()),
            Line::Frame(frame) => {
                once(&mut self.seen.frames, &frame, "frame")?;
                push(&mut self.profile.frames, frame)
            }
            Line::Stack(stack) => self.stack(stack),
            Line::Thread(thread) => {
                once(&mut self.seen.threads, &thread, "thread")?;
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
                "it was written with {lines} lines before its end and has {}",
                self.lines
            )),
        }
    }

    fn head(&mut self, bytes: &[u8]) -> LineResult {
        let foreign = || "this is no stacks file; its first line must be a head".to_owned();
        let Ok(Line::Head(Head { format, version, window_ns })) = serde_json::from_slice(bytes)
        else {
            return Err(foreign());
        };
        if format != FORMAT {
            return Err(foreign());
        }
        if version != VERSION {
            return Err(format!(
                "it has version {version} of the format, and this program reads version {VERSION}"
            ));
        }
        self.profile.window_ns = window_ns;
        Ok(())
    }

    fn stack(&mut self, stack: Vec<u32>) -> LineResult {
        let frames = self.profile.frames.len();
        if let Some(number) = stack.iter().find(|number| **number as usize >= frames) {
            return Err(format!("frame {number} does not stand above"));
        }
        once(&mut self.seen.stacks, &stack, "stack")?;
        push(&mut self.profile.stacks, stack)
    }

    fn sample(&mut self, sample: Sample) -> LineResult {
        let (thread, stack) = (sample.thread, sample.stack);
        if thread.0 as usize >= self.profile.threads.len() {
            return Err(format!("thread {} does not stand above", thread.0));
        }
        if stack.0 as usize >= self.profile.stacks.len() {
            return Err(format!("stack {} does not stand above", stack.0));
        }
        once(&mut self.seen.samples, &(sample.metric, thread, stack), "sample")?;
        let too_much = || "the weights together exceed 64 bits".to_owned();
        self.weights = self.weights.checked_add(sample.weight).ok_or_else(too_much)?;
        self.counts = self.counts.checked_add(sample.count).ok_or_else(too_much)?;
        self.profile.samples.push(sample);
        Ok(())
    }

    fn histogram(&mut self, histogram: Histogram) -> LineResult {
        let mut counts = histogram.counts.iter();
        let events = counts.try_fold(0_u64, |sum, count| sum.checked_add(*count));
        if histogram.counts.len() > 64 || events.is_none() {
            return Err(
                "a histogram of more than 64 powers of two or events than 64 bits".to_owned()
            );
        }
        self.profile.histograms.push(histogram);
        Ok(())
    }

    fn finish(mut self) -> Result<Profile, Error> {
        if !self.has_ended {
            let what = match self.lines {
                0 => "it is empty",
                _ => "it is cut off: the line that ends it is missing",
            };
            return Err(self.refused(what.to_owned()));
        }
        let samples = &mut self.profile.samples;
        samples.sort_unstable_by_key(|it| (it.metric, it.thread, it.stack));
        Ok(self.profile)
    }

    fn refused(&self, what: String) -> Error {
        Error::Stacks { line: self.lines + 1, what }
    }
}

fn once<T: Clone + Eq + Hash>(seen: &mut HashSet<T>, value: &T, what: &str) -> LineResult {
    if seen.insert(value.clone()) {
        return Ok(());
    }
    Err(format!("this {what} stands above already"))
}

fn push<T>(values: &mut Vec<T>, value: T) -> LineResult {
    if u32::try_from(values.len()).is_err() {
        return Err("more than 32 bits can number".to_owned());
    }
    values.push(value);
    Ok(())
}
