//! The commands, one file each.
//!
//! | file | what it holds |
//! |---|---|
//! | `atomic_file.rs` | writes a file completely or not at all |
//! | `clean.rs`, `observe.rs`, `private.rs` | commands for servers |
//! | `compare.rs`, `list.rs`, `show.rs` | commands that read records |
//! | `compat.rs` | runs pgbench, sysbench and ycsb command lines |
//! | `disk_model.rs`, `probe.rs` | the disk: calculated, and measured |
//! | `dry_run.rs`, `live_option.rs` | `--dry-run` and `--live` |
//! | `engine.rs` | `engine` |
//! | `environment.rs` | facts that every record holds |
//! | `metrics_file.rs` | the file of metrics that a measurement keeps up to date |
//! | `manual.rs` | manual pages and completions |
//! | `run.rs`, `run_matrix.rs`, `series.rs` | `run`: the request, its cases, and their execution with records |
//! | `find_max.rs` | `run --find-max` |
//! | `rerun.rs` | `run --like` |
//! | `survey.rs`, `survey_stores.rs` | `survey`: the procedure, and its stores |
//! | `sync_lines.rs` | the sync lines before and after a run |
//! | `verify/` | `verify` |

mod atomic_file;
mod clean;
mod compare;
mod compat;
mod disk_model;
mod dry_run;
mod engine;
mod environment;
mod find_max;
mod list;
mod live_option;
mod manual;
mod metrics_file;
mod observe;
mod private;
mod probe;
mod rerun;
mod run;
mod run_matrix;
mod series;
mod show;
mod survey;
mod survey_stores;
mod sync_lines;
mod verify;

pub(crate) use clean::clean;
pub(crate) use compare::compare;
pub(crate) use compat::compat;
pub(crate) use disk_model::model;
pub(crate) use engine::engine;
pub(crate) use environment::set_tag;
pub(crate) use list::list;
pub(crate) use manual::{completions, manual};
pub(crate) use metrics_file::set as set_metrics_file;
pub(crate) use observe::observe;
pub(crate) use private::private;
pub(crate) use probe::probe;
pub(crate) use rerun::run_again;
pub(crate) use run::run;
pub(crate) use show::show;
pub(crate) use survey::survey;
pub(crate) use verify::{CHILD, verify};
