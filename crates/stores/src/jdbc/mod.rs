//! Any store with a JDBC driver, through a JVM in this process.
//!
//! | file | what it holds |
//! |---|---|
//! | `settings.rs` | the options of the URL |
//! | `location.rs` | the location of the database: a managed directory, memory, a server |
//! | `jvm/` | the JVM: found, started once, called by cached method ids (the one `unsafe`) |
//! | `driver.rs` | a driver's jar files on a class loader of their own, its object created directly |
//! | `product/` | the differences between products, as data: dialect, durability, conflicts, schemas |
//! | `connection.rs` | a connection: opened, configured, queried, closed |
//! | `prepared.rs` | a plan's operations as prepared statements |
//! | `values.rs` | values in and out |
//! | `load.rs` | the bulk path, by batches |
//! | `failure.rs` | maps Java's exceptions to stops |
//! | `session.rs` | a client |
//! | `reported_settings.rs` | product, durability and isolation, read back |
//! | `managed_schema.rs` | the managed schema on a server, and the other sessions there |
//! | `dry_run.rs` | what a run would do |
//! | `lifecycle.rs` | a database created or reopened, started, closed, removed or kept |
//! | `target.rs` | the target |
//!
//! Neither a build nor a start of the program needs Java; the first use of this target does. The
//! program fetches no driver: the URL names its jar files. An embedded database has a directory of its
//! own, in which it is created and with which it is removed; on a server only a managed schema is
//! touched.
//!
//! Durability of an embedded database is set and read back (`product/mod.rs` has the table); that of a
//! server is read, and a required durability that it does not provide is refused before anything is
//! created. Isolation is set on each connection and read back from it.

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
