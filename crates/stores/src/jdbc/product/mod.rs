//! The differences between products, as data: one [`Product`] each, in a file of its name.
//!
//! | product | embedded | durability of an embedded one | as a server |
//! |---|---|---|---|
//! | Derby | yes | `none` by `derby.system.durability=test`; `data`, its default | yes |
//! | H2 | yes | `none`, its default; `os` and `data` by a checkpoint after each commit | yes |
//! | HSQLDB | yes | `none`, its default; `data` by `hsqldb.write_delay=false` | yes |
//! | PostgreSQL, MariaDB | no | | yes, by their settings |
//! | any other | no | | yes; nothing is claimed |
//!
//! | file | what it holds |
//! |---|---|
//! | `definition.rs` | the type of a product |
//! | `derby.rs`, `h2.rs`, `hsqldb.rs`, `postgres.rs`, `mariadb.rs` | one product each |
//! | `other.rs` | any other product |

mod definition;
mod derby;
mod h2;
mod hsqldb;
mod mariadb;
mod other;
mod postgres;

pub(super) use definition::{
    Close, DurabilityQuery, DurabilityReport, Embedded, Product, Property, Put, Schema, Users,
};
use definition::{SCHEMA, nowhere, setting};
pub(super) use derby::DERBY;
pub(super) use h2::H2;
pub(super) use hsqldb::HSQLDB;
pub(super) use mariadb::MARIADB;
pub(super) use other::OTHER;
pub(super) use postgres::POSTGRES;
