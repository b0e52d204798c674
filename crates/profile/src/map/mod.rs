//! Maps of products: which code of a store belongs to which module.
//!
//! A map is a TOML document ([`document`]). The built-in maps are in `maps/`; users' maps go through the same
//! parser. Its rules are tried in order and the first that fits a frame wins; a frame that no rule fits
//! belongs to its caller. `docs/metering.md`, section "Maps", describes the format.
//!
//! | file | what it holds |
//! |---|---|
//! | `attribution` | assigns frames to modules |
//! | `built_in` | the built-in maps and their tables |
//! | `document` | the structure of the TOML document |
//! | `function_name` | names of functions in comparable form |
//! | `function_table` | the source files of functions |
//! | `parse` | reads a map; an error sentence for each mistake |
//! | `pattern` | patterns of names and of source files |
//! | `rule` | a map in memory |
//! | `version` | versions and ranges of versions |
//! | `tests` | maps that are refused, and the built-in maps as a whole |

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
