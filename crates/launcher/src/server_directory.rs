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

/// The directory for a private server whose user may not enter the requested directory. It is on a disk,
/// unlike /tmp, and every user may enter it.
pub const FALLBACK: &str = "/var/tmp";

/// The directory in which directories for Unix sockets are made. Its path is short, because the path of a
/// socket has at most 107 bytes.
const SOCKETS: &str = "/tmp";

/// The file in the server's directory to which its output goes.
const LOG: &str = "server.log";

/// The user that is used if the product's own does not exist.
pub(crate) const NOBODY: &str = "nobody";

/// The user as which a server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct User {
    name: &'static str,
    uid: u32,
    gid: u32,
}

/// A server's directory. Dropping this removes the directory, unless somebody else does it.
#[derive(Debug)]
pub(crate) struct ServerDirectory {
    directory: PathBuf,
    fallback: Option<String>,
    user: Option<User>,
    pub(crate) port: u16,
    /// True if a supervisor or the caller removes the directory.
    removed_by_other: bool,
}

impl ServerDirectory {
    /// Makes a new directory for a private server.
    pub(crate) fn prepare(spec: &LaunchSpec) -> Result<ServerDirectory, String> {
        let user = unprivileged(spec.product.launcher().user)?;
        let name = format!("private-{}", spec.product.word());
        let text = |error: NoCurrentDirectory| error.to_string();
        let parent = spec.directory.as_deref().unwrap_or(Path::new("."));
        let mut directory = private_path(parent, &name).map_err(text)?;
        let mut fallback = None;
        if let Some(user) = user
            && let Some(denied) = first_denied(user, directory.parent().unwrap_or(Path::new("/")))
        {
            directory = private_path(Path::new(FALLBACK), &name).map_err(text)?;
            fallback = Some(format!(
                "user {}, as which the server runs, may not enter {}, so the server and its log are in \
                 {FALLBACK}; use chmod o+x on that directory, or name another one",
                user.name,
                denied.display()
            ));
        }
        let created = fs::DirBuilder::new().mode(0o700).create(&directory);
        created.map_err(|error| format!("{} cannot be made: {error}", directory.display()))?;
        let made = ServerDirectory {
            directory,
            fallback,
            user,
            port: free_port()?,
            removed_by_other: false,
        };
        if let Some(user) = user {
            let owned = chown(&made.directory, Some(user.uid), Some(user.gid));
            owned.map_err(|error| {
                let directory = made.directory.display();
                format!("{directory} cannot be given to user {}: {error}", user.name)
            })?;
        }
        Ok(made)
    }

    /// A caller's directory, which the caller removes. Only what is made below it will belong to the user.
    pub(crate) fn attached(
        directory: &Path,
        user: &'static str,
    ) -> Result<ServerDirectory, String> {
        let user = unprivileged(user)?;
        if let Some(user) = user
            && let Some(denied) = first_denied(user, directory)
        {
            return Err(format!(
                "user {}, as which the server runs, may not enter {}: use chmod o+x on that directory, or \
                 name another one",
                user.name,
                denied.display()
            ));
        }
        Ok(ServerDirectory {
            directory: directory.to_owned(),
            fallback: None,
            user,
            port: free_port()?,
            removed_by_other: true,
        })
    }

    /// Makes a folder in the directory, owned by the user.
    pub(crate) fn folder(&self, name: &str) -> Result<(), String> {
        let path = self.at(name);
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        let owned = made.and_then(|()| match self.user {
            Some(user) => chown(&path, Some(user.uid), Some(user.gid)),
            None => Ok(()),
        });
        owned.map_err(|error| format!("{} cannot be made: {error}", path.display()))
    }

    /// Writes a new file in the directory, owned by the user, which no other user can read.
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

    /// Makes a directory for Unix sockets, which only the server's user can enter. Its path is short,
    /// wherever the server's own directory is.
    pub(crate) fn sockets(&self) -> Result<PathBuf, String> {
        let failed = |path: &Path, error: std::io::Error| {
            format!("{} cannot be made: {error}", path.display())
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

    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        &self.directory
    }

    /// A path in the directory.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The path of a name in the directory, as text.
    pub(crate) fn text(&self, name: &str) -> String {
        self.at(name).display().to_string()
    }

    /// The file to which the server's output goes.
    pub(crate) fn log(&self) -> PathBuf {
        self.at(LOG)
    }

    /// The name of the user, for a server that takes it as an option.
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
        let messages = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = messages.lines().filter(|line| !line.trim().is_empty()).collect();
        Err(format!("{shown} failed ({}): {}", output.status, lines.join(" | ")))
    }

    /// The server's command, preceded by the programs that reduce its privileges and restrict its processors.
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

    /// Leaves the removal of the directory to a supervisor.
    pub(crate) fn leave_to_supervisor(&mut self) {
        self.removed_by_other = true;
    }

    /// The directory, why it is not the requested one, and the user.
    pub(crate) fn into_parts(mut self) -> (PathBuf, Option<String>, Option<&'static str>) {
        (self.directory.clone(), self.fallback.take(), self.user.map(|user| user.name))
    }
}

impl Drop for ServerDirectory {
    fn drop(&mut self) {
        if !self.removed_by_other && fs::remove_dir_all(&self.directory).is_err() {
            // An earlier error is being reported; the name of the remaining directory shows who made it.
        }
    }
}

/// The user for a server if this process is root: the product's own, or nobody. `None` if it is not root.
fn unprivileged(product_user: &'static str) -> Result<Option<User>, String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let table = fs::read_to_string("/etc/passwd")
        .map_err(|error| format!("/etc/passwd cannot be read: {error}"))?;
    let found = [product_user, NOBODY].into_iter().find_map(|name| user_in_table(&table, name));
    found.map(Some).ok_or_else(|| {
        format!(
            "servers refuse to run as root, and there is neither a user {product_user} nor {NOBODY}"
        )
    })
}

/// The user with that name in the text of /etc/passwd.
fn user_in_table(table: &str, name: &'static str) -> Option<User> {
    let fields = table.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let line = fields.into_iter().find(|fields| fields.first() == Some(&name))?;
    let number = |field: usize| line.get(field)?.parse().ok();
    Some(User { name, uid: number(2)?, gid: number(3)? })
}

/// The first directory on the path, from the root on, that a user may not enter.
fn first_denied(user: User, path: &Path) -> Option<PathBuf> {
    let mut directories: Vec<&Path> = path.ancestors().collect();
    directories.reverse();
    let denied = directories.into_iter().find(|directory| {
        fs::metadata(directory).map_or(true, |metadata| {
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
    denied.map(Path::to_owned)
}

/// A port of the loopback address on which nobody listens now.
pub(crate) fn free_port() -> Result<u16, String> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.local_addr());
    bound
        .map(|address| address.port())
        .map_err(|error| format!("no port of loopback is free: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{User, first_denied, user_in_table};
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_user_is_found_in_the_table_by_its_whole_name() {
        let table = "root:x:0:0::/:/bin/sh\nmysqlx:x:7:8::/:\nmysql:x:102:105:M:/n:/bin/false\n";
        let user = user_in_table(table, "mysql").unwrap();
        assert_eq!((user.uid, user.gid), (102, 105));
        assert_eq!(user_in_table(table, "nobody"), None);
    }

    #[test]
    fn the_first_directory_that_a_user_may_not_enter_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (closed, inner) = (folder.path().join("closed"), folder.path().join("closed/inner"));
        fs::create_dir_all(&inner).unwrap();
        for open in [folder.path(), inner.as_path()] {
            fs::set_permissions(open, Permissions::from_mode(0o755)).unwrap();
        }
        fs::set_permissions(&closed, Permissions::from_mode(0o750)).unwrap();
        // Numbers that are neither owner nor group of the files that a test makes.
        let other = User { name: "nobody", uid: 65_533, gid: 65_533 };
        assert_eq!(first_denied(other, &inner), Some(closed.clone()));
        fs::set_permissions(&closed, Permissions::from_mode(0o751)).unwrap();
        assert_eq!(first_denied(other, &inner), None);
    }
}
