//! Any store with a JDBC driver, through a JVM in this process.
//!
//! | file | what stands in it |
//! |---|---|
//! | `settings.rs` | the options of the URL |
//! | `location.rs` | where the database stands: a directory of ours, memory, a server |
//! | `jvm/` | the JVM: found, started once, called by cached method ids (the one `unsafe`) |
//! | `driver.rs` | a driver's jar files on a class loader of their own, its object made directly |
//! | `product/` | where products differ, as data: dialect, durability, conflicts, schemas |
//! | `connection.rs` | a connection: opened, set, asked a few questions, closed |
//! | `prepared.rs` | a plan's operations as prepared statements |
//! | `values.rs` | values in and out |
//! | `load.rs` | the bulk path, by batches |
//! | `failure.rs` | what Java throws as stops |
//! | `session.rs` | a client |
//! | `reported_settings.rs` | product, durability and isolation, read back |
//! | `managed_schema.rs` | our schema on a server, who else works there |
//! | `dry_run.rs` | what a run would do, said before |
//! | `lifecycle.rs` | a database made or opened again, started, closed, removed or left |
//! | `target.rs` | all of it as a target |
//!
//! Neither a build nor a start of the program needs Java; the first use of this target does. The program
//! fetches no driver: its jar files are named in the URL. An embedded database takes a directory of its
//! own, in which it is made and with which it goes; of a server only a schema of our own is touched.
//!
//! Durability of an embedded database is set and read back (the table stands in `product/mod.rs`); that
//! of a server is read, and a word that it does not honour is refused before anything is made.
//! Isolation is set on each connection and read back from it.

mod connection;
mod driver;
mod dry_run;
mod failure;
mod jvm;
mod lifecycle;
mod load;
mod location;
mod managed_schema;
mod prepared;
mod product;
mod reported_settings;
mod session;
mod settings;
mod target;
mod values;

pub use session::JdbcSession;
pub use settings::{Level, Settings};
pub use target::Jdbc;

pub(crate) use settings::LISTING;
pub(crate) use target::open;
