//! The pprof format: a gzipped protocol buffer, read by `go tool pprof` and many viewers.
//!
//! Every metric that has samples is a value type; viewers show the first unless the user selects another.
//! Labels hold the thread, its class and the module, so that `go tool pprof -tagfocus module=logging` shows
//! one module.
//!
//! A place in machine code is one location. Functions that the compiler inlined there are lines of that
//! location, the innermost first, as the format requires.

use super::protobuf::Message;
use crate::cost::{ThreadClass, View};
use crate::fold::Stacks;
use crate::map::Map;
use crate::metric::{Metric, Quantity};
use crate::profile::Profile;
use crate::stack::{StackId, ThreadId};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};
use syncline_instrument::Module;

/// Writes all metrics of a profile, charged by a map.
pub fn pprof(profile: &Profile, map: &Map, to: &mut impl Write) -> io::Result<()> {
    let mut texts = Texts::default();
    let mut file = Message::default();
    let metrics = metrics(profile);
    for metric in &metrics {
        let (name, unit) = (texts.number(metric.name()), texts.number(unit(*metric)));
        file.message(1, |it| value_type(it, name, unit));
    }
    let mut locations = Locations::default();
    samples(&mut file, &mut texts, &mut locations, profile, map, &metrics);
    let objects = mappings(&mut file, &mut texts, profile);
    locations.write(&mut file, profile, &objects);
    functions(&mut file, &mut texts, profile);
    for text in &texts.values {
        file.bytes(6, text.as_bytes());
    }
    file.number(10, profile.window_ns());
    let mut gzip = GzEncoder::new(to, Compression::default());
    gzip.write_all(file.as_bytes())?;
    gzip.finish()?;
    Ok(())
}

fn metrics(profile: &Profile) -> Vec<Metric> {
    let mut metrics: Vec<Metric> = profile.samples().iter().map(|it| it.metric).collect();
    // Samples are sorted by their metric.
    metrics.dedup();
    metrics
}

fn unit(metric: Metric) -> &'static str {
    match metric.quantity() {
        Quantity::Time => "nanoseconds",
        Quantity::Count => "count",
        Quantity::Bytes => "bytes",
    }
}

fn value_type(message: &mut Message, name: u64, unit: u64) {
    message.number(1, name);
    message.number(2, unit);
}

type SampleKey = (ThreadId, StackId, ThreadClass, Option<Module>);

fn samples<'p>(
    file: &mut Message,
    texts: &mut Texts,
    locations: &mut Locations<'p>,
    profile: &'p Profile,
    map: &Map,
    metrics: &[Metric],
) {
    let stacks = Stacks::new(profile, map, View::Innermost);
    let mut places: BTreeMap<SampleKey, Vec<u64>> = BTreeMap::new();
    for sample in profile.samples() {
        let charged = stacks.charge_of(sample);
        let place = (sample.thread, sample.stack, charged.class, charged.module);
        let values = places.entry(place).or_insert_with(|| vec![0; metrics.len()]);
        let position = metrics
            .iter()
            .position(|it| *it == sample.metric)
            .expect("the metrics are those of the samples");
        // The format's values are signed.
        values[position] += sample.weight.min(i64::MAX as u64);
    }
    for ((thread, stack, class, module), values) in places {
        let thread = profile.thread(thread);
        let labels = [
            ("thread", thread.title.as_deref().unwrap_or(&thread.name)),
            ("class", class_name(class)),
            ("module", module.map_or("unknown", Module::name)),
        ];
        let labels = labels.map(|(key, value)| (texts.number(key), texts.number(value)));
        file.message(2, |it| {
            it.numbers(1, locations.of(profile, stack));
            it.numbers(2, values);
            for (key, value) in labels {
                it.message(3, |it| value_type(it, key, value));
            }
        });
    }
}

/// Object files and classes, numbered from one.
fn mappings<'a>(
    file: &mut Message,
    texts: &mut Texts,
    profile: &'a Profile,
) -> HashMap<&'a str, u64> {
    let mut objects = HashMap::new();
    let inlined: BTreeSet<&str> = profile
        .frames
        .iter()
        .filter(|frame| frame.inlined)
        .map(|frame| frame.object.as_str())
        .collect();
    for frame in &profile.frames {
        let next = objects.len() as u64 + 1;
        if frame.object.is_empty() || objects.contains_key(frame.object.as_str()) {
            continue;
        }
        objects.insert(frame.object.as_str(), next);
        let name = texts.number(&frame.object);
        file.message(3, |it| {
            it.number(1, next);
            it.number(5, name);
            // `has_functions`: the names are final, so that readers do not symbolize again.
            it.number(7, 1);
            it.number(10, u64::from(inlined.contains(frame.object.as_str())));
        });
    }
    objects
}

/// Locations, numbered from one. Each is a frame with the functions inlined into it, from the innermost.
#[derive(Default)]
struct Locations<'p> {
    values: Vec<&'p [u32]>,
    numbers: HashMap<&'p [u32], u64>,
}

impl<'p> Locations<'p> {
    /// The locations of a stack.
    fn of(&mut self, profile: &'p Profile, stack: StackId) -> Vec<u64> {
        let frames = &profile.stacks[stack.0 as usize];
        let inlined = |frame: &u32| profile.frames[*frame as usize].inlined;
        let places = frames.split_inclusive(|frame| !inlined(frame));
        places.map(|place| self.number(place)).collect()
    }

    fn number(&mut self, place: &'p [u32]) -> u64 {
        let next = self.values.len() as u64 + 1;
        let number = *self.numbers.entry(place).or_insert(next);
        if number == next {
            self.values.push(place);
        }
        number
    }

    fn write(&self, file: &mut Message, profile: &Profile, objects: &HashMap<&str, u64>) {
        for (number, place) in (1..).zip(&self.values) {
            let outer = place.last().expect("a place has a frame");
            let outer = &profile.frames[*outer as usize];
            file.message(4, |it| {
                it.number(1, number);
                let object = objects.get(outer.object.as_str());
                it.number(2, object.copied().unwrap_or_default());
                it.number(3, outer.offset);
                for frame in *place {
                    it.message(4, |it| it.number(1, u64::from(*frame) + 1));
                }
            });
        }
    }
}

/// A function for each frame; its number is the frame's position plus one.
fn functions(file: &mut Message, texts: &mut Texts, profile: &Profile) {
    for (number, frame) in (1..).zip(&profile.frames) {
        let name = texts.number(&frame.label());
        file.message(5, |it| {
            it.number(1, number);
            it.number(2, name);
        });
    }
}

fn class_name(class: ThreadClass) -> &'static str {
    match class {
        ThreadClass::Connection => "connection",
        ThreadClass::Background => "background",
        ThreadClass::Runtime => "runtime",
        ThreadClass::Client => "client",
        ThreadClass::Unknown => "unknown",
    }
}

/// The string table: texts are positions in one list, and the first text is empty.
struct Texts {
    values: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl Default for Texts {
    fn default() -> Texts {
        Texts { values: vec![String::new()], numbers: HashMap::from([(String::new(), 0)]) }
    }
}

impl Texts {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.values.len() as u64;
        self.values.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}
