//! The differences between products: one [`Launcher`] each.

use crate::launch_command::LaunchCommand;
use crate::launch_spec::LaunchSpec;
use crate::server_directory::ServerDirectory;
use rustix::process::Signal;
use std::path::Path;

/// The port in the URL of a server that does not exist.
pub(crate) const NO_PORT: u16 = 1;

/// Builds the commands of an attached instance from its directory, the directory of its sockets, and settings
/// by the product's own names.
pub(crate) type Attach =
    fn(&ServerDirectory, &Path, &[(String, String)]) -> Result<LaunchCommand, String>;

/// How one product is launched.
pub(crate) struct Launcher {
    /// Its name, which is also the first word of its URL.
    pub(crate) word: &'static str,
    /// The user that its package creates.
    pub(crate) user: &'static str,
    /// Refuses requirements for which the product has no setting.
    pub(crate) fits: fn(&LaunchSpec) -> Result<(), String>,
    /// The URL of a server that does not exist, for dry runs.
    pub(crate) url_of_none: fn(&LaunchSpec) -> String,
    /// The commands of a private server.
    pub(crate) private: fn(&LaunchSpec, &ServerDirectory) -> Result<LaunchCommand, String>,
    /// The commands of an attached instance; `None` if the product runs only as a private server.
    pub(crate) attached: Option<Attach>,
    /// The signal for a clean shutdown.
    pub(crate) in_order: Signal,
    /// The signal for an immediate shutdown that releases shared memory.
    pub(crate) at_once: Signal,
}
