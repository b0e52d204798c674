//! The report as one HTML page: self-contained, offline, light and dark, without scripts.
//!
//! Charts are SVG inside the page. A table or the records also have every value of a chart, and no meaning
//! depends on colour alone: every series has its own mark. The records are embedded as JSON, so programs can
//! read the page and show it again.
//!
//! | files | what they hold |
//! |---|---|
//! | `page` | the page as a whole, and the parts of surveys and probes |
//! | `run_section`, `observation`, `verification`, `cost` | the parts of runs, observations, verifications and profiled runs |
//! | `details`, `survey_table` | device facts, warnings, every record in full; the survey's table |
//! | `comparison` | the page of a comparison |
//! | `results` | the page of a folder of records from many machines |
//! | `charts`, `by_clients`, `side_by_side`, `commit_every` | charts from records |
//! | `flame`, `waits` | the flame graph, and the durations of waits |
//! | `axis`, `chart`, `stores` | axes, drawing, and the style of each store |

mod axis;
mod by_clients;
mod chart;
mod charts;
mod commit_every;
mod comparison;
mod cost;
mod details;
mod flame;
mod observation;
mod page;
mod results;
mod run_section;
mod side_by_side;
mod stores;
mod survey_table;
mod verification;
mod waits;

pub use comparison::comparison;
pub use page::report;
pub use results::results;
