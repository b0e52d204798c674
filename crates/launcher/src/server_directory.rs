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

/// Where a private server stands when its user may not enter the directory that was asked for: on a
/// disk, unlike /tmp, and open to every user.
pub const FALLBACK: &str = "/var/tmp";

/// Where directories for Unix sockets are made: a path of a socket has at most 107 bytes.
const SOCKETS: &str = "/tmp";

/// The file in the directory that takes what the server says.
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

/// A directory that was made, and removed again unless a supervisor does it.
#[derive(Debug)]
pub(crate) struct ServerDirectory {
    directory: PathBuf,
    fallback: Option<String>,
    user: Option<User>,
    pub(crate) port: u16,
    kept: bool,
}

impl ServerDirectory {
    pub(crate) fn prepare(spec: &LaunchSpec) -> Result<ServerDirectory, String> {
        let user = unprivileged(spec.product.launcher().user)?;
        let name = format!("private-{}", spec.product.word());
        let said = |error: NoCurrentDirectory| error.to_string();
        let parent = spec.directory.as_deref().unwrap_or(Path::new("."));
        let mut directory = private_path(parent, &name).map_err(said)?;
        let mut fallback = None;
        if let Some(user) = user
            && let Some(closed) = closed_to(user, directory.parent().unwrap_or(Path::new("/")))
        {
            directory = private_path(Path::new(FALLBACK), &name).map_err(said)?;
            fallback = Some(format!(
                "{} is closed to user {}, as which the server runs: it is in {FALLBACK}, and so is \
                 its log; chmod o+x there, or name another directory",
                closed.display(),
                user.name
            ));
        }
        let created = fs::DirBuilder::new().mode(0o700).create(&directory);
        created.map_err(|error| format!("{} cannot be made: {error}", directory.display()))?;
        let made = ServerDirectory { directory, fallback, user, port: free_port()?, kept: false };
        if let Some(user) = user {
            let owned = chown(&made.directory, Some(user.uid), Some(user.gid));
            owned.map_err(|error| {
                let directory = made.directory.display();
                format!("{directory} cannot be given to user {}: {error}", user.name)
            })?;
        }
        Ok(made)
    }

    /// A directory of somebody else's, who removes it: only what stands below it becomes the user's.
    pub(crate) fn attached(
        directory: &Path,
        user: &'static str,
    ) -> Result<ServerDirectory, String> {
        let user = unprivileged(user)?;
        if let Some(user) = user
            && let Some(closed) = closed_to(user, directory)
        {
            return Err(format!(
                "{} is closed to user {}, as which the server runs: chmod o+x there, or name another \
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
            kept: true,
        })
    }

    /// A new folder in the directory, the user's own.
    pub(crate) fn folder(&self, name: &str) -> Result<(), String> {
        let path = self.at(name);
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        let owned = made.and_then(|()| match self.user {
            Some(user) => chown(&path, Some(user.uid), Some(user.gid)),
            None => Ok(()),
        });
        owned.map_err(|error| format!("{} cannot be made: {error}", path.display()))
    }

    /// A new file in the directory, the user's own, which nobody else can read.
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

    /// A new directory for Unix sockets, which nobody but the server's user can enter. Its path is short
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

    /// The same as text.
    pub(crate) fn text(&self, name: &str) -> String {
        self.at(name).display().to_string()
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.at(LOG)
    }

    /// The user to name to a server that wants to hear it.
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
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        Err(format!("{shown} failed ({}): {}", output.status, said.join(" | ")))
    }

    /// The server's command, with what takes privileges and processors from it before it starts.
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

    /// A supervisor removes the directory from now on.
    pub(crate) fn is_kept(&mut self) {
        self.kept = true;
    }

    /// The directory, why it is another than was asked for, and the user.
    pub(crate) fn into_parts(mut self) -> (PathBuf, Option<String>, Option<&'static str>) {
        (self.directory.clone(), self.fallback.take(), self.user.map(|user| user.name))
    }
}

impl Drop for ServerDirectory {
    fn drop(&mut self) {
        if !self.kept && fs::remove_dir_all(&self.directory).is_err() {
            // The error that led here is being told; what stays bears our name and says whose it is.
        }
    }
}

/// The user for a server where we are root: the product's own, or nobody; none where we are not root.
fn unprivileged(wanted: &'static str) -> Result<Option<User>, String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let table = fs::read_to_string("/etc/passwd")
        .map_err(|error| format!("/etc/passwd cannot be read: {error}"))?;
    let found = [wanted, NOBODY].into_iter().find_map(|name| in_table(&table, name));
    found.map(Some).ok_or_else(|| {
        format!("servers refuse to run as root, and there is neither a user {wanted} nor {NOBODY}")
    })
}

fn in_table(table: &str, name: &'static str) -> Option<User> {
    let fields = table.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let line = fields.into_iter().find(|fields| fields.first() == Some(&name))?;
    let number = |field: usize| line.get(field)?.parse().ok();
    Some(User { name, uid: number(2)?, gid: number(3)? })
}

/// The first directory on the way down to `path` that a user may not enter.
fn closed_to(user: User, path: &Path) -> Option<PathBuf> {
    let mut ways: Vec<&Path> = path.ancestors().collect();
    ways.reverse();
    let closed = ways.into_iter().find(|way| {
        fs::metadata(way).map_or(true, |found| {
            let shift = if found.uid() == user.uid {
                6
            } else if found.gid() == user.gid {
                3
            } else {
                0
            };
            found.mode() >> shift & 1 == 0
        })
    });
    closed.map(Path::to_owned)
}

/// A port of loopback that nobody listens on now.
pub(crate) fn free_port() -> Result<u16, String> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.local_addr());
    bound
        .map(|address| address.port())
        .map_err(|error| format!("no port of loopback is free: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{User, closed_to, in_table};
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_user_is_found_in_the_table_by_its_whole_name() {
        let table = "root:x:0:0::/:/bin/sh\nmysqlx:x:7:8::/:\nmysql:x:102:105:M:/n:/bin/false\n";
        let user = in_table(table, "mysql").unwrap();
        assert_eq!((user.uid, user.gid), (102, 105));
        assert_eq!(in_table(table, "nobody"), None);
    }

    #[test]
    fn a_closed_directory_on_the_way_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (shut, inner) = (folder.path().join("shut"), folder.path().join("shut/inner"));
        fs::create_dir_all(&inner).unwrap();
        for open in [folder.path(), inner.as_path()] {
            fs::set_permissions(open, Permissions::from_mode(0o755)).unwrap();
        }
        fs::set_permissions(&shut, Permissions::from_mode(0o750)).unwrap();
        // Nobody's numbers: neither owner nor group of what a test makes.
        let stranger = User { name: "nobody", uid: 65_533, gid: 65_533 };
        assert_eq!(closed_to(stranger, &inner), Some(shut.clone()));
        fs::set_permissions(&shut, Permissions::from_mode(0o751)).unwrap();
        assert_eq!(closed_to(stranger, &inner), None);
    }
}
