//! Private servers: a throw-away PostgreSQL, MariaDB, Redis, etcd or Derby on this machine, in a directory of
//! its own, from what is installed; gone without a trace when it is dropped.
//!
//! | file | what stands in it |
//! |---|---|
//! | `launch_spec.rs` | what a user asks for: a product, its durability, its cache |
//! | `server_directory.rs` | the directory, the user that owns it, the port |
//! | `supervisor.rs` | the process that ends the server and removes the directory, also after kill -9 of ours |
//! | `secret.rs` | its password |
//! | `private_path.rs` | the name of the directory, also of a store's own private one |
//! | `child_process.rs` | what a child process inherits |
//! | `error.rs` | why none could be started |
//! | `product.rs` | the products |
//! | `launcher.rs` | what differs between products: one `Launcher` each |
//! | `launch_command.rs` | the commands that prepare and serve, and what they are made of |
//! | `private_server.rs` | one that runs: started, waited for, ended |
//! | `attached_instance.rs` | one on a directory of somebody else's: a crash image, a mount that loses power |
//! | `postgres.rs`, `mariadb.rs`, `redis.rs`, `etcd.rs`, `derby.rs` | the launcher of each |
//!
//! 1. No other user of this machine can log in to the server: whoever is its superuser runs programs and
//!    writes files as its user. It listens on 127.0.0.1, on a port that was free, and asks for a random
//!    password there. A Unix socket is in a directory of mode 0700, and there alone listens what has no
//!    password for all that it takes (etcd), or serves a directory of somebody else's
//!    (`attached_instance.rs`). No command line and no environment holds the password
//!    ([`child_process`]).
//! 2. It never runs as root: where we are root, as the product's own user, or nobody's, without groups
//!    and without a way to gain privileges.
//! 3. It stands in the current directory, on the disk that is asked about. Where that is closed to the
//!    server's user, in [`FALLBACK`], which is said; its log is then there, and so is its line.
//! 4. It ends with whoever started it, however that ends: the supervisor holds a pipe that closes then.
//! 5. Its settings are for a durability; that they are in force the target reads back from it.

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
