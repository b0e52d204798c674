//! How libpq, PostgreSQL's client library, is told where a server is: connection strings
//! (`host=db dbname=shop`), URIs (`postgresql://app@db/shop?sslmode=require`), services, password files
//! and environment variables.
//!
//! | file | what it holds |
//! |---|---|
//! | `parameters.rs` | every parameter of libpq, its environment variable, and what it means here |
//! | `conninfo.rs` | connection strings and URIs, taken apart |
//! | `service.rs` | the files of services |
//! | `passfile.rs` | the file of passwords |
//! | `translate.rs` | libpq's parameters in the words of our URLs |
//!
//! Source: the documentation of PostgreSQL 15 to 17, chapter "libpq".
//!
//! 1. No parameter is dropped in silence: it is used, refused by name, or named by [`warnings`].
//! 2. Of a parameter that is given twice the last value holds, as in libpq.
//! 3. No message of this module holds a value of a connection string, which may be a password.

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
