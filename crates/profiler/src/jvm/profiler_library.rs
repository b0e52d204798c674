//! Finds async-profiler, and makes it available to the JVM.
//!
//! The program downloads nothing: `SYNCLINE_ASYNC_PROFILER` names the library, or it is at
//! `async-profiler/libasyncProfiler.so` next to the program or in one of the two directories above it, where
//! `scripts/fetch-async-profiler` puts it, or in /opt or /usr/lib.
//!
//! A JVM keeps a loaded library until it ends, and two copies of this one would be two conflicting profilers:
//! if one is loaded, it is used by the path from which it was loaded, even if that file no longer exists.

use super::attach_socket::Owner;
use std::env;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use syncline_host::read_text;
use syncline_instrument::clock;

const LIBRARY: &str = "libasyncProfiler.so";
const VARIABLE: &str = "SYNCLINE_ASYNC_PROFILER";
const FOLDERS: [&str; 3] = ["/opt/async-profiler/lib", "/usr/local/lib", "/usr/lib"];

/// The path of the library on this machine.
pub(crate) fn find() -> Result<PathBuf, String> {
    if let Some(named) = env::var_os(VARIABLE) {
        let named = PathBuf::from(named);
        let there = named.is_file();
        let missing = || format!("{VARIABLE} names {}, which is not a file", named.display());
        return there.then_some(named.clone()).ok_or_else(missing);
    }
    let program = env::current_exe().unwrap_or_default();
    let beside = program.ancestors().skip(1).take(3);
    let beside = beside.map(|folder| folder.join("async-profiler"));
    let mut places = beside.chain(FOLDERS.map(PathBuf::from));
    let found = places.find_map(|folder| Some(folder.join(LIBRARY)).filter(|file| file.is_file()));
    found.ok_or_else(|| {
        format!(
            "async-profiler was not found: fetch {LIBRARY} (scripts/fetch-async-profiler) and name it with \
             {VARIABLE}"
        )
    })
}

/// The path from which a JVM has loaded the library.
pub(super) fn loaded(pid: u32) -> Option<PathBuf> {
    loaded_by(&read_text(Path::new(&format!("/proc/{pid}/maps")))?)
}

fn loaded_by(maps: &str) -> Option<PathBuf> {
    let path = maps.lines().find_map(|line| {
        let path = &line[line.find('/')?..];
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        path.ends_with(&format!("/{LIBRARY}")).then_some(path)
    });
    path.map(PathBuf::from)
}

/// A directory that only the JVM's user may write to; removed when dropped.
#[derive(Debug)]
pub(super) struct Shared {
    /// Its path as the JVM sees it.
    inside: PathBuf,
    /// The same directory as seen from here.
    outside: PathBuf,
}

impl Shared {
    pub(super) fn make(pid: u32, owner: Owner) -> Result<Shared, String> {
        let name = format!("/tmp/syncline-jvm-{}-{}", std::process::id(), clock::now());
        let shared = Shared {
            outside: PathBuf::from(format!("/proc/{pid}/root{name}")),
            inside: PathBuf::from(name),
        };
        let failed = |error: std::io::Error| {
            format!("{} cannot be created for process {pid}: {error}", shared.inside.display())
        };
        let mut builder = fs::DirBuilder::new();
        builder.mode(0o700).create(&shared.outside).map_err(failed)?;
        if rustix::process::geteuid().is_root() {
            lchown(&shared.outside, Some(owner.uid), Some(owner.gid)).map_err(failed)?;
        }
        Ok(shared)
    }

    pub(super) fn inside(&self, name: &str) -> PathBuf {
        self.inside.join(name)
    }

    pub(super) fn outside(&self, name: &str) -> PathBuf {
        self.outside.join(name)
    }

    /// Reads a file that the JVM wrote.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        let path = self.outside(name);
        fs::read(&path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
    }

    /// Copies the library to a path from which the JVM can load it.
    pub(super) fn copy_library(&self, library: &Path) -> Result<PathBuf, String> {
        let copy = self.outside(LIBRARY);
        let copied = fs::copy(library, &copy)
            .and_then(|_| fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)));
        copied.map_err(|error| format!("{} cannot be copied: {error}", library.display()))?;
        Ok(self.inside(LIBRARY))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if fs::remove_dir_all(&self.outside).is_err() {
            // The JVM has ended, and its view of the files with it; in the same file system the path is valid
            // here too. Whatever remains has our name.
            if fs::remove_dir_all(&self.inside).is_err() {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::loaded_by;
    use std::path::Path;

    #[test]
    fn a_loaded_library_is_found_by_the_path_it_was_loaded_from() {
        let maps = "7f00-7f10 r-xp 00000000 fe:00 7 /usr/lib/libjvm.so\n\
                    7f20-7f30 r-xp 00000000 fe:00 8 /tmp/a b/libasyncProfiler.so (deleted)\n";
        let path = loaded_by(maps).unwrap();
        assert_eq!(path, Path::new("/tmp/a b/libasyncProfiler.so"));
        assert_eq!(loaded_by("7f00-7f10 r-xp 00000000 00:00 0\n"), None);
    }
}
