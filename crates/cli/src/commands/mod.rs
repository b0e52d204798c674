//! What the verbs do: one file each.

mod atomic_file;
mod clean;
mod compare;
pub(crate) mod compat_run;
mod disk_model;
pub(crate) mod dry_run;
mod environment;
mod list;
mod live_option;
mod manual;
pub(crate) mod meter;
mod observe;
mod private;
mod probe;
mod rerun;
mod run;
pub(crate) mod run_matrix;
mod series;
mod show;
mod survey;
mod survey_stores;
mod sync_lines;
mod verify;

pub(crate) use clean::clean;
pub(crate) use compare::compare;
pub(crate) use disk_model::model;
pub(crate) use list::list;
pub(crate) use manual::{completions, manual};
pub(crate) use observe::observe;
pub(crate) use private::private;
pub(crate) use probe::probe;
pub(crate) use rerun::run_again;
pub(crate) use run::{run, run_with};
pub(crate) use show::show;
pub(crate) use survey::survey;
pub(crate) use verify::{CHILD, verify};
