//! Records in the format of the sources that published the same loads, so that then and now can be compared.
//!
//! There is one file per source. These rules hold for all of them:
//!
//! 1. Published figures are never printed without their source: title, date, machine, what they count and
//!    known errors come first ([`source_header::then`]).
//! 2. Syncline's figures are never printed without their run: store, durability with its evidence, clients,
//!    machine and the workload's notice are in the same view ([`source_header::now`]).
//! 3. A figure that a source did not publish is "not given", one that a record does not have is "unknown",
//!    and neither is zero.
//! 4. A record that does not fit is refused, never left out silently.
//! 5. If a source counted wrongly, its printed figure and the corrected one are next to each other, for then
//!    and for now.
//!
//! | files | what they hold |
//! |---|---|
//! | `k2`, `mail2002`, `bigdata`, `from_dual`, `derby` | one source each |
//! | `source` | the list of sources, and the refusal of records |
//! | `source_header` | what every view starts with |
//! | `k2_options` | the published K2 mix of a run |
//! | `client_stacks` | a store's own driver compared with JDBC |

mod bigdata;
mod client_stacks;
mod derby;
mod from_dual;
mod k2;
mod k2_options;
mod mail2002;
mod source;
mod source_header;

pub use source::{PublishedSource, as_published};
