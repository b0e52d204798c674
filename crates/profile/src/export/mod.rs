//! Profiles in the formats of other tools.

mod collapsed;
mod pprof;
mod protobuf;

#[cfg(test)]
mod tests;

pub use collapsed::collapsed;
pub use pprof::pprof;
