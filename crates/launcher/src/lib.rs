//! Private servers: a temporary PostgreSQL, MariaDB, Redis, etcd or Derby on this machine, from the installed
//! packages, in its own directory; dropping it removes it completely.
//!
//! | file | what it holds |
//! |---|---|
//! | `launch_spec.rs` | the user's request: a product, its durability, its cache |
//! | `server_directory.rs` | the directory, the user that owns it, the port |
//! | `supervisor.rs` | the process that ends the server and removes the directory, even after `kill -9` |
//! | `secret.rs` | its password |
//! | `private_path.rs` | the name of the directory, also of a store's own private one |
//! | `child_process.rs` | the environment of child processes |
//! | `error.rs` | the error if a server could not be started |
//! | `product.rs` | the products |
//! | `launcher.rs` | the differences between products: one `Launcher` each |
//! | `launch_command.rs` | the commands that prepare and serve, and helpers for them |
//! | `private_server.rs` | a running private server: start, wait until it is ready, end |
//! | `attached_instance.rs` | a server on the caller's directory: a crash image, a mount that loses power |
//! | `postgres.rs`, `mariadb.rs`, `redis.rs`, `etcd.rs`, `derby.rs` | the launcher of each product |
//!
//! 1. No other user of this machine can log in to the server, because its superuser can run programs and
//!    write files as the server's user. It listens on 127.0.0.1, on a free port, and requires a random
//!    password there. Unix sockets are in a directory of mode 0700. A server that accepts some traffic
//!    without a password (etcd), or that uses the caller's directory (`attached_instance.rs`), listens only
//!    there. No command line and no environment holds the password ([`child_process`]).
//! 2. It never runs as root. If this process is root, the server runs as the product's own user or as nobody,
//!    without groups and without a way to gain privileges.
//! 3. Its directory is in the current directory, on the disk that the user wants to measure. If the server's
//!    user cannot enter that, it is in [`FALLBACK`], which is reported; its log and its sync line are then of
//!    that disk.
//! 4. It ends with the process that started it, however that ends, because the supervisor holds a pipe that
//!    closes then.
//! 5. Its settings are for the requested durability; the target reads back that they are in force.

mod attached_instance;
pub mod child_process;
mod derby;
mod error;
mod etcd;
mod launch_command;
mod launch_spec;
mod launcher;
mod mariadb;
mod postgres;
mod private_path;
mod private_server;
mod product;
mod redis;
mod secret;
mod server_directory;
mod supervisor;

pub use attached_instance::{AttachedInstance, Ending, NotStarted};
pub use derby::derby_jars;
pub use error::Error;
pub use launch_spec::{LaunchSpec, bytes, jvm_options, processors};
pub use private_path::{NoCurrentDirectory, absolute, private_path};
pub use private_server::PrivateServer;
pub use product::Product;
pub use server_directory::FALLBACK;
