//! What the verbs do: one file each.

mod atomic_file;
mod clean;
mod compare;
mod compat;
mod disk_model;
mod dry_run;
mod environment;
mod list;
mod live_option;
mod manual;
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
pub(crate) use list::list;
pub(crate) use manual::{completions, manual};
pub(crate) use observe::observe;
pub(crate) use private::private;
pub(crate) use probe::probe;
pub(crate) use rerun::run_again;
pub(crate) use run::run;
pub(crate) use show::show;
pub(crate) use survey::survey;
pub(crate) use verify::{CHILD, verify};
