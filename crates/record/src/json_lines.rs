//! The lines of a record's file.
//!
//! Each line is one JSON object whose first field `line` gives its type:
//!
//! 1. `head`, always the first: identity, plan, workload, target, machine. Written before the load.
//! 2. `interval`, any number, in order, each written when the interval is over.
//! 3. `end`, at most one and the last: the whole record except the intervals, and the head's fields again
//!    with what was learnt since.
//!
//! A probe's file has a head (its identity and directory) and an end; so has an observation's (its identity
//! alone). A verification writes both when it is over. Every line is written with its newline in one call;
//! a file that does not end in a newline was torn in its last line.

use super::identity::Identity;
use super::interval::Interval;
use super::observation::ObservationRecord;
use super::probe::ProbeRecord;
use super::run::{RunEnd, RunHead, RunRecord};
use super::verification::VerificationRecord;
use serde::Serialize;

/// A line to be written.
#[derive(Serialize)]
#[serde(tag = "line", rename_all = "lowercase")]
pub(super) enum Line<'a> {
    /// A run's first line.
    #[serde(rename = "head")]
    RunHead(FlattenedPair<'a, Identity, RunHead>),
    /// A probe's first line.
    #[serde(rename = "head")]
    ProbeHead(ProbeHead<'a>),
    /// One interval.
    Interval(&'a Interval),
    /// A run's last line.
    #[serde(rename = "end")]
    RunEnd(RunWithoutIntervals<'a>),
    /// An observation's first line: what is known before it begins.
    #[serde(rename = "head")]
    ObservationHead(&'a Identity),
    /// An observation's last line.
    #[serde(rename = "end")]
    ObservationEnd(&'a ObservationRecord),
    /// A verification's first line.
    #[serde(rename = "head")]
    VerificationHead(&'a Identity),
    /// A verification's last line.
    #[serde(rename = "end")]
    VerificationEnd(&'a VerificationRecord),
    /// A probe's last line.
    #[serde(rename = "end")]
    ProbeEnd(&'a ProbeRecord),
}

/// The fields of two objects in one.
#[derive(Serialize)]
pub(super) struct FlattenedPair<'a, A, B> {
    #[serde(flatten)]
    pub(super) first: &'a A,
    #[serde(flatten)]
    pub(super) second: &'a B,
}

/// What is known of a probe before it begins.
#[derive(Serialize)]
pub(super) struct ProbeHead<'a> {
    #[serde(flatten)]
    pub(super) identity: &'a Identity,
    pub(super) directory: &'a str,
}

/// A run's record without its intervals, which have their own lines.
#[derive(Serialize)]
pub(super) struct RunWithoutIntervals<'a> {
    #[serde(flatten)]
    identity: &'a Identity,
    #[serde(flatten)]
    head: &'a RunHead,
    #[serde(flatten)]
    end: &'a RunEnd,
}

impl<'a> RunWithoutIntervals<'a> {
    pub(super) fn of(record: &'a RunRecord) -> RunWithoutIntervals<'a> {
        RunWithoutIntervals { identity: &record.identity, head: &record.head, end: &record.end }
    }
}

impl Line<'_> {
    /// The line with its newline.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes =
            serde_json::to_vec(self).expect("records hold text keys and plain values only");
        bytes.push(b'\n');
        bytes
    }
}
