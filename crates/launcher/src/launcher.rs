//! What differs between products: one [`Launcher`] each.

use crate::launch_command::LaunchCommand;
use crate::launch_spec::LaunchSpec;
use crate::server_directory::ServerDirectory;
use rustix::process::Signal;
use std::path::Path;

/// The port in the URL of a server that is not started.
pub(crate) const NO_PORT: u16 = 1;

/// Makes the command for a server on a prepared directory, from that directory, the directory of its sockets,
/// and settings under the product's own names.
pub(crate) type Attach =
    fn(&ServerDirectory, &Path, &[(String, String)]) -> Result<LaunchCommand, String>;

/// How one product is started.
pub(crate) struct Launcher {
    /// The product's name, with which its URL begins.
    pub(crate) word: &'static str,
    /// The user that the product's package creates for it.
    pub(crate) user: &'static str,
    /// Refuses a request for which the product has no settings.
    pub(crate) check_supported: fn(&LaunchSpec) -> Result<(), String>,
    /// The URL of a server that nobody has started.
    pub(crate) placeholder_url: fn(&LaunchSpec) -> String,
    /// Makes the command for a private server.
    pub(crate) private: fn(&LaunchSpec, &ServerDirectory) -> Result<LaunchCommand, String>,
    /// Makes the command for an attached instance; `None` for a product that is only started privately.
    pub(crate) attached: Option<Attach>,
    /// The signal that makes the server shut down in order.
    pub(crate) in_order: Signal,
    /// The signal that ends the server at once, but still frees the memory that its processes share.
    pub(crate) at_once: Signal,
}
