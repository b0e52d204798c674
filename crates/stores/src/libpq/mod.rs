//! How the address of a server is given to libpq, PostgreSQL's client library: connection strings
//! (`host=db dbname=shop`), URIs (`postgresql://app@db/shop?sslmode=require`), services, password files
//! and environment variables.
//!
//! | file | what it holds |
//! |---|---|
//! | `parameters.rs` | every parameter of libpq, its environment variable, and what it means here |
//! | `conninfo.rs` | parses connection strings and URIs |
//! | `service.rs` | service files |
//! | `passfile.rs` | the password file |
//! | `translate.rs` | translates libpq's parameters into options of our URLs |
//!
//! Source: the documentation of PostgreSQL 15 to 17, chapter "libpq".
//!
//! 1. No parameter is dropped silently: it is used, refused by name, or reported by [`warnings`].
//! 2. If a parameter is given twice, the last value applies, as in libpq.
//! 3. No message of this module contains a value of a connection string, which may be a password.

mod conninfo;
mod parameters;
mod passfile;
mod service;
mod translate;

pub use conninfo::{is_conninfo, pairs, secrets, unescaped};
pub use parameters::{ENVIRONMENT, Effect, PARAMETERS, Parameter, Variable};
pub(crate) use passfile::{Passwords, lookup};
pub use service::service;
pub(crate) use translate::{as_url, readdress, translated};
pub use translate::{url, warnings};
