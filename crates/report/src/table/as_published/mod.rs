//! Records shown as the sources of their loads printed theirs, so that then and now stand side by side.
//!
//! One file a source. Rules that hold for all of them:
//!
//! 1. No published figure stands without its source: title, date, machine, what it counts and what is
//!    known to be wrong in it come first ([`source_header::then`]).
//! 2. No figure of ours stands without its run: store, durability with its evidence, clients, machine
//!    and the workload's notice stand in the same view ([`source_header::now`]).
//! 3. What a source did not publish is "not given", what a record does not know is "unknown", and
//!    neither is zero.
//! 4. A record that does not fit is refused, never left out silently.
//! 5. Where a source's accounting was wrong, its printed figure and the corrected one stand beside each
//!    other, for then and for now.

mod bigdata;
mod client_stacks;
mod derby;
mod from_dual;
mod k2;
mod k2_options;
mod mail2002;
mod source;
mod source_header;

pub use source::{Published, as_published};
