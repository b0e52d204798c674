//! Maps of products: which code of a store belongs to which module.
//!
//! A map is a TOML document ([`document`]): those that come with the program stand in `maps/`, and a
//! stranger's goes through the same parser. Its rules are tried in order, the first that fits a frame
//! wins, and a frame that no rule fits belongs to whoever called it. The format is described in
//! `docs/metering.md`, section "Maps".

mod attribution;
mod built_in;
mod document;
mod function_name;
mod function_table;
mod parse;
mod pattern;
mod rule;
mod version;

#[cfg(test)]
mod tests;

pub(crate) use attribution::{FrameRoles, ModuleMatch};
pub use rule::Map;
