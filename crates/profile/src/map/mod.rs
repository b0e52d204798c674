//! Maps of products: which code of a store belongs to which module.
//!
//! A map is a TOML document ([`document`]): those that come with the program stand in `maps/`, and a
//! stranger's goes through the same parser. Its rules are tried in order, the first that fits a frame
//! wins, and a frame that no rule fits belongs to whoever called it. The format is described in
//! `docs/metering.md`, section "Maps".

mod built_in;
mod document;
mod function;
mod parse;
mod pattern;
mod place;
mod rule;
mod table;
mod version;

#[cfg(test)]
mod tests;

pub(crate) use place::{Marks, Placed};
pub use rule::Map;
