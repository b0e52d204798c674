//! What the verbs do: one file each.

pub(crate) mod cases;
mod clean;
mod compare;
pub(crate) mod dry_run;
mod facts;
pub(crate) mod front;
mod like;
mod line;
mod list;
mod live;
mod manual;
pub(crate) mod meter;
mod model;
mod observe;
mod private;
mod probe;
mod run;
mod series;
mod show;
mod survey;
mod survey_stores;
mod verify;
mod whole_file;

pub(crate) use clean::clean;
pub(crate) use compare::compare;
pub(crate) use like::run_again;
pub(crate) use list::list;
pub(crate) use manual::{completions, manual};
pub(crate) use model::model;
pub(crate) use observe::observe;
pub(crate) use private::private;
pub(crate) use probe::probe;
pub(crate) use run::{run, run_with};
pub(crate) use show::show;
pub(crate) use survey::survey;
pub(crate) use verify::{CHILD, verify};
