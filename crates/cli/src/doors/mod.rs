//! The command lines of other tools, each with its own flags, files and result lines.
//!
//! | file | what it holds |
//! |---|---|
//! | `ycsb.rs` | the two phases of `syncline ycsb` |
//! | `ycsb_flags.rs` | YCSB's flags |
//! | `ycsb_properties.rs` | what each property means here |
//! | `ycsb_lines.rs` | YCSB's result lines |
//! | `java_properties.rs` | the form of property files |

mod java_properties;
mod ycsb;
mod ycsb_flags;
mod ycsb_lines;
mod ycsb_properties;

pub(crate) use ycsb::ycsb;
