//! Terminal views, as plain text of at most about a hundred columns, or fewer in a narrower terminal
//! ([`at_width`]). The crate `cli` prints them.
//!
//! Figures have units, numbers are right-aligned, a durability level is never printed without its evidence,
//! warnings come last with advice, and unknown values are printed as unknown.
//!
//! | files | what they hold |
//! |---|---|
//! | `run`, `run_parts`, `commit_path`, `statements`, `cost` | the view of a run and its parts |
//! | `probe`, `probe_device`, `endurance` | the view of a probe |
//! | `fitness`, `over_time` | the verdicts for products; syncs over time and stalls |
//! | `observation`, `verification`, `survey`, `compare`, `list` | the views of other records, of several, and of a folder |
//! | `stores`, `matrix`, `series` | tables of several surveys or runs |
//! | `trend` | how each setting changed over records or labels |
//! | `live` | the figures of a run in progress |
//! | `rate_search` | the trials of `run --find-max` |
//! | `from_dual`, `as_published` | records next to published figures |
//! | `grid`, `prose`, `width` | tables, wrapped text, and their width |

#![allow(
    clippy::format_push_string,
    reason = "a view is made once; lines read better than writes that cannot fail"
)]

mod as_published;
mod commit_path;
mod compare;
mod cost;
mod endurance;
mod fitness;
mod from_dual;
mod grid;
mod list;
mod live;
mod matrix;
pub(crate) mod observation;
mod over_time;
mod probe;
mod probe_device;
mod prose;
mod rate_search;
mod run;
mod run_parts;
mod series;
mod statements;
mod stores;
mod survey;
mod trend;
mod verification;
mod width;

pub(crate) use compare::{
    COLUMNS as COMPARED, cells as compared_cells, known_rows as compared_rows,
};
pub(crate) use observation::{unit_format as counter_unit, with_units};
pub(crate) use probe_device::short_source;

pub use as_published::{PublishedSource, as_published};
pub use compare::compare;
pub use cost::{accounts, cost, functions_of};
pub use endurance::{endurance_of_line, endurance_of_run};
pub use fitness::fitness;
pub use from_dual::from_dual;
pub use list::list;
pub use live::{live_figures, live_status};
pub use matrix::matrix;
pub use observation::observation;
pub use over_time::over_time;
pub use probe::{Detail, probe};
pub use prose::{list_item, option, paragraph};
pub use rate_search::{RateTrial, rate_search};
pub use run::run;
pub use series::series;
pub use statements::statements;
pub use stores::stores;
pub use survey::{show, show_with_costs, survey};
pub use trend::trend;
pub use verification::verification;
pub use width::at_width;
