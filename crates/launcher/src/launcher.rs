//! What differs between products: one [`Launcher`] each.

use crate::launch_command::LaunchCommand;
use crate::launch_spec::LaunchSpec;
use crate::server_directory::ServerDirectory;
use rustix::process::Signal;
use std::path::Path;

/// The port in the URL of a server that nobody has started.
pub(crate) const NO_PORT: u16 = 1;

/// The command of a server on a prepared directory: the directory, that of its sockets, and settings by the
/// product's own names.
pub(crate) type Attach =
    fn(&ServerDirectory, &Path, &[(String, String)]) -> Result<LaunchCommand, String>;

/// How one product is launched.
pub(crate) struct Launcher {
    /// The word for it, also the first of its URL.
    pub(crate) word: &'static str,
    /// The user that its package creates for it.
    pub(crate) user: &'static str,
    /// Refuses what the product has no settings for.
    pub(crate) fits: fn(&LaunchSpec) -> Result<(), String>,
    /// The URL of a server that nobody has started.
    pub(crate) url_of_none: fn(&LaunchSpec) -> String,
    /// The command of a private server.
    pub(crate) private: fn(&LaunchSpec, &ServerDirectory) -> Result<LaunchCommand, String>,
    /// The command of an attached instance; none for a product that is started privately only.
    pub(crate) attached: Option<Attach>,
    /// The signal that ends it in order.
    pub(crate) in_order: Signal,
    /// The signal that ends it at once; the memory that it shares with other processes is freed.
    pub(crate) at_once: Signal,
}
