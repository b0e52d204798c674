//! The list of sources, and the refusal of records.

use super::{bigdata, derby, from_dual, k2, mail2002};
use crate::{Error, Result};
use syncline_record::Record;

/// A source whose format a view follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishedSource {
    /// The results of the K2 platform, 2022.
    K2,
    /// The mail on SAP DB and Oracle, 2002.
    Mail2002,
    /// The bigdata journal's stress tests, 2007.
    Bigdata,
    /// The article on transaction performance, 2008.
    FromDual,
    /// Derby's resource usage by module, 2006.
    Derby,
}

/// The requirements of a view, for the error that refuses a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceRequirements {
    /// The view's name.
    pub(super) view: &'static str,
    /// The records that it shows.
    pub(super) shows: &'static str,
    /// The command that makes such a record.
    pub(super) command: &'static str,
}

impl PublishedSource {
    /// Every source.
    pub const ALL: [PublishedSource; 5] = [
        PublishedSource::K2,
        PublishedSource::Mail2002,
        PublishedSource::Bigdata,
        PublishedSource::FromDual,
        PublishedSource::Derby,
    ];

    /// Its name on the command line.
    pub fn word(self) -> &'static str {
        self.requirements().view
    }

    fn requirements(self) -> SourceRequirements {
        match self {
            PublishedSource::K2 => k2::REQUIREMENTS,
            PublishedSource::Mail2002 => mail2002::REQUIREMENTS,
            PublishedSource::Bigdata => bigdata::REQUIREMENTS,
            PublishedSource::FromDual => from_dual::REQUIREMENTS,
            PublishedSource::Derby => derby::REQUIREMENTS,
        }
    }
}

/// The records in the format of that source, next to its published figures. Fails if a record does not fit,
/// or if no record has figures for the view.
pub fn as_published(source: PublishedSource, records: &[Record]) -> Result<String> {
    match source {
        PublishedSource::K2 => k2::view(records),
        PublishedSource::Mail2002 => mail2002::view(records),
        PublishedSource::Bigdata => bigdata::view(records),
        PublishedSource::FromDual => from_dual::view(records),
        PublishedSource::Derby => derby::view(records),
    }
}

impl SourceRequirements {
    /// The error for a record of another kind or workload.
    pub(super) fn refuse(&self, record: &Record) -> Error {
        let is = match record {
            Record::Run(run) => format!("a run of {}", run.head.workload.name),
            Record::Probe(_) => "a probe".to_owned(),
            Record::Observation(_) => "an observation".to_owned(),
            Record::Verification(_) => "a verification".to_owned(),
        };
        self.refuse_as(record, is)
    }

    /// The error for a record that does not fit, with the view's own description of it.
    pub(super) fn refuse_as(&self, record: &Record, is: String) -> Error {
        Error::DoesNotFit {
            id: record.identity().id.clone(),
            view: self.view,
            is,
            wants: self.shows,
            command: self.command.to_owned(),
        }
    }

    /// The error if no record has figures for the view.
    pub(super) fn nothing(&self) -> Error {
        Error::NothingToShow {
            view: self.view,
            wants: self.shows,
            command: self.command.to_owned(),
        }
    }
}
