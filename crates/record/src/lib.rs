//! The saved record: its types, its versioned file format, and the code that reads and writes it.
//!
//! One record is one target with one setting and one number of clients, one probe of one directory,
//! one observation of a store that others use, or one verification of a disk or a store. Every view is
//! rendered from records, so anything shown once can be shown again. `docs/record.md` explains the format,
//! [`schema`] returns its schema, and `json_lines` describes its lines.
//!
//! An unknown value is null, never zero, and a field next to it says why.
//!
//! The crates that measure fill these types in: `runner` for a run and an observation, `probe` for a probe.
//! Conclusions that need only a record are drawn here too, since some of them are saved with the record.
//!
//! | files | what they hold |
//! |---|---|
//! | `identity`, `any_record`, `run`, `probe`, `observation`, `verification` | the kinds of records, and the identity that all start with |
//! | `configuration`, `environment`, `figures`, `interval`, `assessment` | the parts of a run: plan, machine, figures, bottleneck and warnings |
//! | `cost`, `fold_cost`, `profiler_overhead`, `stacks` | the cost by module, folded from the stacks saved next to a record |
//! | `fitness`, `over_time` | whether a directory is good enough for a product; its syncs over time |
//! | `finding`, `invariants`, `rate_rule`, `sync_line_ratio` | checks of a record's figures against its durability promise and against each other |
//! | `schema`, `schema_macro` | the JSON schema, generated from the types |
//! | `json_lines`, `writer`, `read`, `record_paths` | the file: its lines, written and read; files by name or id |
//! | `redaction` | what `--share` removes |
//! | `summary` | one flat row of a record for lists and tables of other programs |
//! | `stats`, `units`, `time` | medians and intervals, figures and times as text |
//! | `error` | why a record could not be written or read |

mod any_record;
mod assessment;
mod configuration;
mod cost;
mod environment;
mod error;
mod figures;
mod finding;
mod fitness;
mod fold_cost;
mod identity;
mod interval;
mod invariants;
mod json_lines;
mod observation;
mod over_time;
mod probe;
mod profiler_overhead;
mod rate_rule;
mod read;
mod record_paths;
mod redaction;
mod run;
mod schema;
mod schema_macro;
mod stacks;
pub mod stats;
mod summary;
mod sync_line_ratio;
mod time;
pub mod units;
mod verification;
mod writer;

pub use any_record::{Record, json};
pub use assessment::{Check, Fairness, Saturation, Warning};
pub use configuration::{
    Client, DiskSpace, OperationStatements, Plan, Setting, Statements, Target, WorkerTrial,
    Workload,
};
pub use cost::{
    Cost, CostRow, CostTotal, MetricCost, NOT_ATTRIBUTABLE, StoreCommits, SyncEvidence, class_word,
};
pub use environment::{DISTURBING_CPUS, DISTURBING_STEAL, Device, DroppedSyncs, Machine, SyncLine};
pub use error::{Error, Result};
pub use figures::{
    Arrivals, ClientTime, CommitPathFigures, CountBase, Counted, CounterFigures, InternalFigures,
    Latency, OperationFigures, Outcomes, OwnFigure, PathFigures, PerCommit, Range, Repetition,
    TransactionFigures,
};
pub use finding::{
    Finding, contradicted_syncs, count_finding, findings, note_findings, rate_finding,
};
pub use fitness::{Fitness, FitnessShape, FitnessThreshold, FitnessWindow, ResolvedLatency};
pub use fold_cost::{CostContext, disagreements, folded, is_derived, map_for};
pub use identity::{FORMAT_NAME, FORMAT_VERSION, Format, Identity};
pub use interval::Interval;
pub use invariants::violations;
pub use observation::{ObservationBody, ObservationRecord, ObservedInterval, ObservedStore};
pub use over_time::{Stall, SyncInterval, SyncPhase, SyncsOverTime};
pub use probe::{
    Cell, CellFigures, Fact, FlushCounts, Layer, Mode, NotRun, PlainWrite, ProbeBody, ProbeDevice,
    ProbeRecord, ReadCell, SequentialCell, Verdict,
};
pub use profiler_overhead::{OverheadCost, OverheadPair, OverheadRatio};
pub use rate_rule::{FasterThanLine, faster_than_line};
pub use read::{RecordFile, list, read, read_all, record_files};
pub use record_paths::{all_named, named};
pub use redaction::{REMOVED, share};
pub use run::{RunEnd, RunHead, RunRecord};
pub use schema::schema;
pub use stacks::{Stacks, refold, stacks_of_record};
pub use summary::{
    PLAN_OPTIONS, SUMMARY_COLUMNS, Summary, SummaryColumn, SummaryValue, json_of_summaries,
};
pub use sync_line_ratio::{no_sync_line_ratio, sync_line_ratio};
pub use verification::{VerificationBody, VerificationRecord};
pub use writer::{RUNS_FOLDER, Writer, prepare_folder};
