//! The command line, one file per command. Help, completions and the manual pages are generated from it.
//!
//! | file | what it holds |
//! |---|---|
//! | `verb.rs`, `help.rs` | the whole command line; the layout of `--help` |
//! | `run.rs`, `sweep.rs`, `survey.rs`, `compare.rs`, `show.rs` | `run` and its `--sweep`; `survey`, `compare`, `show` |
//! | `response_bound.rs` | the bound of `run --find-max` |
//! | `probe.rs`, `verify.rs`, `observe.rs`, `private.rs` | `probe` and `model`; `verify`; `observe` and `clean`; `private` |
//! | `engine.rs` | `engine`: inspect, verify, dump, load, compact, backup, restore |
//! | `list.rs`, `moment.rs` | `list`, and the moments of its filter |
//! | `manual.rs` | `manual` |

mod compare;
mod engine;
mod help;
mod list;
mod manual;
mod moment;
mod observe;
mod private;
mod probe;
mod response_bound;
mod run;
mod show;
mod survey;
mod sweep;
mod verb;
mod verify;

pub(crate) use compare::CompareArgs;
pub(crate) use engine::{
    BackupArgs, CompactArgs, DatabaseArgs, DumpArgs, EngineArgs, EngineVerb, LoadArgs, RestoreArgs,
};
pub(crate) use list::{FilterArgs, ListArgs, Listed};
pub(crate) use manual::ManualArgs;
pub(crate) use observe::{CleanArgs, ObserveArgs};
pub(crate) use private::PrivateArgs;
pub(crate) use probe::{ALL_PRODUCTS, ModelArgs, ProbeArgs, ProbeVerb, WritetestArgs};
pub(crate) use response_bound::ResponseBound;
pub(crate) use run::{ArrivalArg, LikeArgs, RunArgs};
pub(crate) use show::{ExportArg, ShowArgs, StacksArg};
pub(crate) use survey::SurveyArgs;
pub(crate) use sweep::choices;
pub(crate) use verb::{ShellArgs, Verb, command, definition, parse};
pub(crate) use verify::{
    ClaimedArg, CutArg, DiskArgs, DurabilityArgs, IsolationArgs, MethodArg, VerifyArgs, VerifyVerb,
    WitnessArgs,
};
