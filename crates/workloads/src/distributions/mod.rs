//! Random streams that are reproducible from a seed, and the usual distributions.
//!
//! | file | distribution |
//! |---|---|
//! | `zipf.rs` | true Zipf, exact for any exponent |
//! | `gray_zipf.rs` | Zipf by the formula that YCSB uses, with its own exact shares |
//! | `scrambled_zipf.rs` | YCSB's "zipfian": 10^10 virtual items, scattered by `fnv.rs` |
//! | `latest.rs` | the newest key is the most frequent |
//! | `hotspot.rs`, `exponential.rs` | as in YCSB |
//! | `gaussian.rs`, `special.rs`, `pareto.rs` | as in sysbench |
//! | `nurand.rs` | TPC-C's non-uniform draws |
//! | `key_chooser.rs` | all of them behind one type, with uniform and sequential |
//! | `stream.rs`, `zeta.rs`, `chi_square.rs` | the random streams; harmonic numbers; a test of distributions |

#[cfg(test)]
mod chi_square;
mod exponential;
mod fnv;
mod gaussian;
mod gray_zipf;
mod hotspot;
mod key_chooser;
mod latest;
mod nurand;
mod pareto;
mod scrambled_zipf;
mod special;
mod stream;
mod zeta;
mod zipf;

#[cfg(test)]
pub(crate) use chi_square::fits;
pub(crate) use exponential::Exponential;
pub(crate) use fnv::fnv64;
pub(crate) use gaussian::Gaussian;
pub(crate) use gray_zipf::Gray;
pub(crate) use hotspot::Hotspot;
pub(crate) use key_chooser::{KeyChooser, Sequential};
pub(crate) use latest::Latest;
pub(crate) use nurand::{Nurand, run_constant};
pub(crate) use pareto::Pareto;
pub(crate) use scrambled_zipf::Scrambled;
pub(crate) use special::Special;
pub(crate) use stream::{Stream, mixed};
pub(crate) use zipf::Zipf;
