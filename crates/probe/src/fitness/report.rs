//! The verdict on a directory for each product.
//!
//! States of a verdict: a directory that loses what it syncs is unfit; then a missed requirement makes it
//! unfit; then a requirement that the samples do not decide, or that could not be measured, makes it not
//! known; else it is fit. A product without published limits is judged by the first rule alone, and its
//! reason says so.

use super::consequence::{SlowDevice, consequence, remedies};
use super::judgement::{Word, judge, rate, worst};
use super::product::{Product, Shape};
use super::resolved;
use super::schedule::WINDOWS;
use super::windows::{MeasuredShape, ShapeWindows, Window};
use crate::DeviceFacts;
use crate::measure::pooled;
use syncline_record::units;
use syncline_record::{Fitness, FitnessShape, FitnessWindow, FlushCounts, Verdict};

/// If some task waits for a processor in more of the time than this, the times are not the disk's alone.
const PROCESSOR_WAIT: f64 = 0.1;

/// What else is known of the directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FitnessInput<'a> {
    /// The layers below.
    pub(crate) device: &'a DeviceFacts,
    /// The verdict on the directory's syncs.
    pub(crate) honesty: Option<&'a Verdict>,
    /// The disk's counters at rest.
    pub(crate) idle: &'a FlushCounts,
    /// Why the probe ended early.
    pub(crate) incomplete: Option<&'a str>,
    /// The load beside which it was measured.
    pub(crate) beside: Option<&'a str>,
}

/// The verdict for each product.
pub(crate) fn verdicts_for(
    products: &[&'static Product],
    measured: &ShapeWindows,
    input: &FitnessInput<'_>,
) -> Vec<Fitness> {
    products.iter().map(|product| verdict(product, measured, input)).collect()
}

fn verdict(product: &Product, measured: &ShapeWindows, input: &FitnessInput<'_>) -> Fitness {
    let shapes = product.shapes.iter().map(|shape| judged_shape(shape, measured.of(shape), input));
    let (words, shapes): (Vec<_>, Vec<_>) = shapes.unzip();
    let speed = words.into_iter().max().unwrap_or(Word::NotKnown);
    let (word, reason) = match not_durable(input) {
        Some(reason) => (Word::Unfit, reason),
        None => (speed, reason(&shapes, speed)),
    };
    let first = product.shapes.first().and_then(|shape| measured.of(shape));
    let consequence = match (not_durable(input), first) {
        (Some(_), _) => Some("what was acknowledged may be lost when the power goes".to_owned()),
        (None, Some(found)) => effect(product, found),
        (None, None) => None,
    };
    Fitness {
        product: product.name.clone(),
        title: product.title.clone(),
        word: word.name().to_owned(),
        reason,
        consequence,
        limits: limits(measured, input),
        remedies: match word {
            Word::Fit => Vec::new(),
            Word::NotKnown | Word::Unfit => what_would_help(product, speed, measured, input),
        },
        beside: input.beside.map(str::to_owned),
        shapes,
    }
}

/// The reason if the directory does not keep what it syncs.
fn not_durable(input: &FitnessInput<'_>) -> Option<String> {
    let found = input.honesty?;
    let broken = ["not durable", "implausible"].contains(&found.word.as_str());
    broken.then(|| format!("{}: {}", found.word, found.reason))
}

/// What the reader must know beside the word.
fn limits(measured: &ShapeWindows, input: &FitnessInput<'_>) -> Vec<String> {
    let unknown = input.honesty.filter(|found| found.word == "unknown").map(|found| {
        format!(
            "Speed only; whether a sync survives a power loss is unknown here: {}.",
            found.reason
        )
    });
    let waits = contended(measured).map(|share| {
        format!(
            "In {} of the time some task waited for a processor, and the times include such waits of the \
             probe.",
            units::percent(share)
        )
    });
    unknown.into_iter().chain(waits).collect()
}

/// The share of the time in which some task waited for a processor, if it is large.
fn contended(measured: &ShapeWindows) -> Option<f64> {
    measured.processor_wait().filter(|share| *share > PROCESSOR_WAIT)
}

fn what_would_help(
    product: &Product,
    speed: Word,
    measured: &ShapeWindows,
    input: &FitnessInput<'_>,
) -> Vec<String> {
    let mut found = Vec::new();
    if not_durable(input).is_some() {
        let remedy = input.honesty.and_then(|found| found.remedy.clone());
        let elsewhere = "a directory on a disk that keeps what it acknowledges".to_owned();
        found.push(remedy.unwrap_or(elsewhere));
    }
    if speed != Word::Fit && contended(measured).is_some() {
        found.push(
            "the same again while the processors have time, to see the disk alone".to_owned(),
        );
    }
    if speed == Word::Unfit {
        let summary = &input.device.summary;
        let device = SlowDevice {
            spins: summary.rpm.is_some(),
            write_cache: summary.write_cache,
            virtual_machine: summary.virtual_machine.as_deref(),
            idle_flushes_per_s: input.idle.idle_flushes_per_s,
            beside: input.beside,
        };
        found.extend(remedies(product, &device));
    }
    found
}

fn effect(product: &Product, found: &MeasuredShape) -> Option<String> {
    let limit = product.shapes.first().and_then(|shape| shape.thresholds.first());
    let worst = &found.windows[worst(&found.windows, limit)?];
    let all = pooled(found.windows.iter().map(|window| &window.figures.histogram));
    Some(consequence(product, &worst.figures.histogram, rate(worst), &all))
}

fn reason(shapes: &[FitnessShape], speed: Word) -> String {
    let required = || shapes.iter().flat_map(|shape| &shape.thresholds).filter(|one| one.required);
    let missing = shapes.iter().find(|shape| shape.windows.is_empty());
    match speed {
        Word::Fit if required().next().is_none() => {
            "the product publishes no limit, so any disk that keeps what it syncs will do"
                .to_owned()
        }
        Word::Fit => {
            let limits: Vec<_> = required().map(|one| one.reason.as_str()).collect();
            limits.join("; ")
        }
        Word::NotKnown | Word::Unfit => {
            let deciding = shapes.iter().find_map(|shape| {
                let is_it = |one: &&syncline_record::FitnessThreshold| {
                    one.required && one.word == speed.name()
                };
                let one = shape.thresholds.iter().find(is_it)?;
                Some(format!("{}: {}", shape.name, one.reason))
            });
            let unmeasured = missing.map(|shape| {
                let why = shape.reason.as_deref().unwrap_or("not measured");
                format!("{}: {why}", shape.name)
            });
            let first = if speed == Word::NotKnown { unmeasured.or(deciding) } else { deciding };
            first.unwrap_or_else(|| "nothing was measured".to_owned())
        }
    }
}

fn judged_shape(
    shape: &Shape,
    measured: Option<&MeasuredShape>,
    input: &FitnessInput<'_>,
) -> (Word, FitnessShape) {
    let windows: &[Window] = measured.map_or(&[], |measured| &measured.windows);
    let judged: Vec<_> = shape.thresholds.iter().map(|limit| judge(limit, windows)).collect();
    let required = judged.iter().filter(|(_, limit)| limit.required).map(|(word, _)| *word);
    // Nothing can be said of a shape that was not measured, limit or not.
    let floor = if windows.is_empty() { Word::NotKnown } else { Word::Fit };
    let word = required.chain([floor]).max().expect("it holds at least one");
    let all = pooled(windows.iter().map(|window| &window.figures.histogram));
    let whole = windows.len() == WINDOWS;
    let reason = measured.and_then(|measured| measured.reason.clone());
    let reason = reason.or_else(|| input.incomplete.map(str::to_owned));
    let figures = FitnessShape {
        name: shape.name.clone(),
        about: shape.about.clone(),
        source: shape.source.clone(),
        operation: shape.in_words(),
        file_state: shape.file_state.name().to_owned(),
        windows: windows.iter().map(saved).collect(),
        worst_window: worst(windows, shape.thresholds.first()).map(|index| index as u64 + 1),
        latency_ns: (!windows.is_empty()).then(|| resolved(&all)),
        thresholds: judged.into_iter().map(|(_, limit)| limit).collect(),
        reason: (!whole).then(|| reason.unwrap_or_else(|| "not all windows were measured".into())),
    };
    (word, figures)
}

fn saved(window: &Window) -> FitnessWindow {
    FitnessWindow {
        start_ns: window.start_ns,
        elapsed_ns: window.figures.elapsed_ns,
        syncs: window.figures.histogram.len(),
        rate_per_s: rate(window),
        latency_ns: resolved(&window.figures.histogram),
    }
}
