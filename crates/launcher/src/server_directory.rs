//! The directory of a private server, the user that owns it, and a port.

use crate::child_process;
use crate::launch_spec::LaunchSpec;
use crate::private_path::{NoCurrentDirectory, private_path};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The parent directory for a private server whose user may not enter the requested directory. Unlike /tmp it
/// is on a disk, and every user may enter it.
pub const FALLBACK: &str = "/var/tmp";

/// The parent of directories for Unix sockets. It is short, because the path of a socket has at most 107
/// bytes.
const SOCKETS: &str = "/tmp";

/// The file in the directory for the server's output.
const LOG: &str = "server.log";

/// The user of last resort.
pub(crate) const NOBODY: &str = "nobody";

/// A user that a server runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct User {
    name: &'static str,
    uid: u32,
    gid: u32,
}

/// The directory of a server. Dropping it removes the directory, unless a supervisor or the caller does that.
#[derive(Debug)]
pub(crate) struct ServerDirectory {
    directory: PathBuf,
    fallback: Option<String>,
    user: Option<User>,
    pub(crate) port: u16,
    removed_elsewhere: bool,
}

impl ServerDirectory {
    pub(crate) fn prepare(spec: &LaunchSpec) -> Result<ServerDirectory, String> {
        let user = unprivileged(spec.product.launcher().user)?;
        let name = format!("private-{}", spec.product.word());
        let message = |error: NoCurrentDirectory| error.to_string();
        let parent = spec.directory.as_deref().unwrap_or(Path::new("."));
        let mut directory = private_path(parent, &name).map_err(message)?;
        let mut fallback = None;
        if let Some(user) = user
            && let Some(closed) = closed_to(user, directory.parent().unwrap_or(Path::new("/")))
        {
            directory = private_path(Path::new(FALLBACK), &name).map_err(message)?;
            fallback = Some(format!(
                "the server runs as user {1}, who cannot enter {0}: the server and its log are in \
                 {FALLBACK}; run chmod o+x {0}, or name another directory",
                closed.display(),
                user.name
            ));
        }
        let created = fs::DirBuilder::new().mode(0o700).create(&directory);
        created.map_err(|error| format!("{} cannot be created: {error}", directory.display()))?;
        let port = free_port()?;
        let made = ServerDirectory { directory, fallback, user, port, removed_elsewhere: false };
        if let Some(user) = user {
            let owned = chown(&made.directory, Some(user.uid), Some(user.gid));
            owned.map_err(|error| {
                let directory = made.directory.display();
                format!("the owner of {directory} cannot be set to {}: {error}", user.name)
            })?;
        }
        Ok(made)
    }

    /// A directory of the caller, who removes it. Only its contents become the user's.
    pub(crate) fn attached(
        directory: &Path,
        user: &'static str,
    ) -> Result<ServerDirectory, String> {
        let user = unprivileged(user)?;
        if let Some(user) = user
            && let Some(closed) = closed_to(user, directory)
        {
            return Err(format!(
                "the server runs as user {1}, who cannot enter {0}: run chmod o+x {0}, or name another \
                 directory",
                closed.display(),
                user.name
            ));
        }
        Ok(ServerDirectory {
            directory: directory.to_owned(),
            fallback: None,
            user,
            port: free_port()?,
            removed_elsewhere: true,
        })
    }

    /// Creates a folder in the directory, owned by the server's user.
    pub(crate) fn folder(&self, name: &str) -> Result<(), String> {
        let path = self.at(name);
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        let owned = made.and_then(|()| match self.user {
            Some(user) => chown(&path, Some(user.uid), Some(user.gid)),
            None => Ok(()),
        });
        owned.map_err(|error| format!("{} cannot be created: {error}", path.display()))
    }

    /// Creates a file in the directory that only the server's user can read.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.at(name);
        let mut options = fs::OpenOptions::new();
        let made = options.write(true).create_new(true).mode(0o600).open(&path);
        let written = made.and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            match self.user {
                Some(user) => chown(&path, Some(user.uid), Some(user.gid)),
                None => Ok(()),
            }
        });
        written.map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
        Ok(path)
    }

    /// Creates a directory for Unix sockets that only the server's user can enter. Its path is short wherever
    /// the server's own directory is.
    pub(crate) fn sockets(&self) -> Result<PathBuf, String> {
        let failed = |path: &Path, error: std::io::Error| {
            format!("{} cannot be created: {error}", path.display())
        };
        for number in 0_u32.. {
            let name = format!("syncline-sockets-{}-{number}", std::process::id());
            let path = Path::new(SOCKETS).join(name);
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(failed(&path, error)),
            }
            if let Some(user) = self.user {
                let owned = chown(&path, Some(user.uid), Some(user.gid));
                owned.map_err(|error| failed(&path, error))?;
            }
            return Ok(path);
        }
        Err(format!("{SOCKETS} has no free name for a directory"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.directory
    }

    /// A path in the directory.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// A path in the directory, as text.
    pub(crate) fn text(&self, name: &str) -> String {
        self.at(name).display().to_string()
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.at(LOG)
    }

    /// The name of the server's user, for a server that requires it as an option.
    pub(crate) fn user_name(&self) -> Option<&'static str> {
        self.user.map(|user| user.name)
    }

    /// Runs a command that prepares the directory, as the server's user.
    pub(crate) fn run(&self, words: &[OsString]) -> Result<(), String> {
        let mut command = child_process::command(&words[0]);
        command.args(&words[1..]).current_dir(&self.directory).stdin(Stdio::null());
        if let Some(user) = self.user {
            command.uid(user.uid).gid(user.gid);
            command.env("HOME", &self.directory);
        }
        let shown = Path::new(&words[0]).display();
        let output = command.output().map_err(|error| format!("{shown} cannot be run: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let errors: Vec<&str> = errors.lines().filter(|line| !line.trim().is_empty()).collect();
        Err(format!("{shown} failed ({}): {}", output.status, errors.join(" | ")))
    }

    /// The server's command, with the commands that drop privileges and limit processors before it starts.
    pub(crate) fn confined(&self, words: &[OsString], cpus: Option<&str>) -> Vec<OsString> {
        let mut all: Vec<OsString> = Vec::new();
        if let Some(cpus) = cpus {
            all.extend(["taskset", "-c", cpus].map(OsString::from));
        }
        if let Some(user) = self.user {
            let (uid, gid) = (user.uid.to_string(), user.gid.to_string());
            let confine = ["setpriv", "--reuid", &uid, "--regid", &gid];
            all.extend(confine.map(OsString::from));
            all.extend(["--clear-groups", "--no-new-privs", "--"].map(OsString::from));
        }
        all.extend(words.iter().cloned());
        all
    }

    /// From now on a supervisor removes the directory.
    pub(crate) fn leave_to_supervisor(&mut self) {
        self.removed_elsewhere = true;
    }

    /// The directory, the reason why it is not the requested one, and the user.
    pub(crate) fn into_parts(mut self) -> (PathBuf, Option<String>, Option<&'static str>) {
        (self.directory.clone(), self.fallback.take(), self.user.map(|user| user.name))
    }
}

impl Drop for ServerDirectory {
    fn drop(&mut self) {
        if !self.removed_elsewhere && fs::remove_dir_all(&self.directory).is_err() {
            // The error that led here is reported; the name of a directory that stays shows that it is ours.
        }
    }
}

/// The user for a server if this process is root: the product's own user, or nobody. `None` if this process
/// is not root.
fn unprivileged(name: &'static str) -> Result<Option<User>, String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let table = fs::read_to_string("/etc/passwd")
        .map_err(|error| format!("/etc/passwd cannot be read: {error}"))?;
    let user = [name, NOBODY].into_iter().find_map(|name| in_table(&table, name));
    user.map(Some).ok_or_else(|| {
        format!("servers refuse to run as root, and there is neither a user {name} nor {NOBODY}")
    })
}

fn in_table(table: &str, name: &'static str) -> Option<User> {
    let fields = table.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let line = fields.into_iter().find(|fields| fields.first() == Some(&name))?;
    let number = |field: usize| line.get(field)?.parse().ok();
    Some(User { name, uid: number(2)?, gid: number(3)? })
}

/// The first directory on the path from the root to `path` that a user may not enter.
fn closed_to(user: User, path: &Path) -> Option<PathBuf> {
    let mut ancestors: Vec<&Path> = path.ancestors().collect();
    ancestors.reverse();
    let closed = ancestors.into_iter().find(|ancestor| {
        fs::metadata(ancestor).map_or(true, |metadata| {
            let shift = if metadata.uid() == user.uid {
                6
            } else if metadata.gid() == user.gid {
                3
            } else {
                0
            };
            metadata.mode() >> shift & 1 == 0
        })
    });
    closed.map(Path::to_owned)
}

/// A port on loopback that is free now.
pub(crate) fn free_port() -> Result<u16, String> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.local_addr());
    bound
        .map(|address| address.port())
        .map_err(|error| format!("no port on loopback is free: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{User, closed_to, in_table};
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_user_is_found_in_the_table_by_its_full_name() {
        let table = "root:x:0:0::/:/bin/sh\nmysqlx:x:7:8::/:\nmysql:x:102:105:M:/n:/bin/false\n";
        let user = in_table(table, "mysql").unwrap();
        assert_eq!((user.uid, user.gid), (102, 105));
        assert_eq!(in_table(table, "nobody"), None);
    }

    #[test]
    fn a_closed_directory_on_the_path_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (shut, inner) = (folder.path().join("shut"), folder.path().join("shut/inner"));
        fs::create_dir_all(&inner).unwrap();
        for open in [folder.path(), inner.as_path()] {
            fs::set_permissions(open, Permissions::from_mode(0o755)).unwrap();
        }
        fs::set_permissions(&shut, Permissions::from_mode(0o750)).unwrap();
        // Neither owner nor group of the files of a test.
        let other_user = User { name: "nobody", uid: 65_533, gid: 65_533 };
        assert_eq!(closed_to(other_user, &inner), Some(shut.clone()));
        fs::set_permissions(&shut, Permissions::from_mode(0o751)).unwrap();
        assert_eq!(closed_to(other_user, &inner), None);
    }
}
