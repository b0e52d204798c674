//! What the verbs do: one file each.

pub(crate) mod cases;
mod compare;
mod facts;
pub(crate) mod front;
mod like;
mod line;
mod list;
mod manual;
mod model;
mod private;
mod probe;
mod run;
mod series;
mod show;
mod survey;
mod survey_stores;

pub(crate) use compare::compare;
pub(crate) use like::run_again;
pub(crate) use list::list;
pub(crate) use manual::{completions, manual};
pub(crate) use model::model;
pub(crate) use private::private;
pub(crate) use probe::probe;
pub(crate) use run::{run, run_with};
pub(crate) use show::show;
pub(crate) use survey::survey;
