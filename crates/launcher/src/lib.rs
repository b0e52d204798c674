//! Private servers: a temporary PostgreSQL, MariaDB, Redis, etcd or Derby on this machine, in its own
//! directory, started from the installed programs, and removed completely when it is dropped.
//!
//! | file | contents |
//! |---|---|
//! | `launch_spec.rs` | what the user requests: a product, its durability, its cache |
//! | `server_directory.rs` | the server's directory, the user that owns it, the port |
//! | `supervisor.rs` | the process that ends the server and removes the directory, also if this process is killed by SIGKILL |
//! | `secret.rs` | the server's password |
//! | `private_path.rs` | the name of a private directory, also of one that a store creates itself |
//! | `child_process.rs` | the environment that a child process inherits |
//! | `error.rs` | the reason why no server could be started |
//! | `product.rs` | the products |
//! | `launcher.rs` | what differs between products: one `Launcher` each |
//! | `launch_command.rs` | the commands that prepare and run a server, and their parts |
//! | `private_server.rs` | a running private server: start, wait until it is ready, end |
//! | `attached_instance.rs` | a server on a caller's directory: a crash image, a mount that loses power |
//! | `postgres.rs`, `mariadb.rs`, `redis.rs`, `etcd.rs`, `derby.rs` | the launcher of each product |
//!
//! 1. No other user of this machine can log in to the server, because a database superuser can run programs
//!    and write files as the server's user. The server listens on 127.0.0.1, on a port that was free, and
//!    requires a random password there. Its Unix socket is in a directory of mode 0700. A server listens
//!    only on such a socket if it cannot require a password on all its connections (etcd), or if it runs on
//!    a caller's directory (`attached_instance.rs`). No command line and no environment contains the
//!    password ([`child_process`]).
//! 2. It never runs as root: if this process is root, the server runs as the product's own user, or as
//!    `nobody`, without groups and unable to gain privileges.
//! 3. Its directory is made in the current directory, so that it is on the disk to be measured. If the
//!    server's user may not enter that directory, it is made in [`FALLBACK`], which is reported; the log
//!    and the sync line are then those of that disk.
//! 4. It ends when the process that started it ends, however that happens: the supervisor reads from a pipe
//!    that is closed then.
//! 5. Its settings are those of the requested durability; the target reads back from the server that they
//!    are in force.

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

pub use attached_instance::{AttachedInstance, NotStarted, ShutdownMode};
pub use derby::derby_jars;
pub use error::Error;
pub use launch_spec::{ByteSize, JvmOptions, LaunchSpec, ProcessorList};
pub use private_path::{NoCurrentDirectory, absolute, private_path};
pub use private_server::PrivateServer;
pub use product::Product;
pub use server_directory::FALLBACK;
