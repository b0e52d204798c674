//! Writes a file completely or not at all.
//!
//! 1. A regular or new file is first written to a temporary file next to it, which is synced and then
//!    replaces it. Links to it stay links. The file is stable when the call returns, and so is its name, if
//!    the directory can be synced.
//! 2. Any other file that a path names (a device, a pipe, standard output as `/dev/stdout`) is written to
//!    directly and never replaced.
//! 3. The temporary file is created under an unused name: it follows no existing link and overwrites no file.

use rustix::fs::OFlags;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use syncline_vfs::{Disk, File as _, OpenOptions as OpenFor, RealDisk};

/// The maximum number of links to follow, as in the kernel.
const LINKS_MAX: usize = 40;
/// The maximum number of names to try for the temporary file.
const NAMES_MAX: u32 = 100;

/// Writes a file under the invariants above.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_by(path, |file| file.write_all(bytes))
}

/// The same without syncing the file and its name, for contents that lose their value in a crash.
pub(super) fn write_unsynced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fill_file(path, Durability::UntilCrash, |file| file.write_all(bytes))
}

/// What a written file must survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durability {
    UntilCrash,
    PowerLoss,
}

/// The same for a file that `fill` writes piece by piece. If it fails, the file is not replaced.
pub(super) fn write_by<T, E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    fill_file(path, Durability::PowerLoss, fill)
}

fn fill_file<T, E: From<io::Error>>(
    path: &Path,
    durability: Durability,
    fill: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    let found = match fs::metadata(path) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let place = end_of_links(path)?;
    match found {
        Some(found) if !found.is_file() => fill(&mut OpenOptions::new().write(true).open(path)?),
        // An open descriptor: its writer must not be left with a removed file.
        Some(_) if place.starts_with("/proc") => {
            fill(&mut OpenOptions::new().append(true).open(path)?)
        }
        found => replace(&place, found.as_ref(), durability, fill),
    }
}

/// The path at the end of a chain of links, whether or not it exists.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_owned();
    for _ in 0..LINKS_MAX {
        // The kernel shows an open file as a link whose path may by now be another file.
        if fs::canonicalize(folder(&place)).is_ok_and(|folder| folder.starts_with("/proc")) {
            return Ok(PathBuf::from("/proc").join(place.file_name().unwrap_or_default()));
        }
        match fs::read_link(&place) {
            Ok(to) => place = folder(&place).join(to),
            // Not a link, or missing.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => {
                return Ok(place);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Writes a temporary file next to `path` and renames it over `path`.
fn replace<T, E: From<io::Error>>(
    path: &Path,
    old: Option<&Metadata>,
    durability: Durability,
    fill: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    let (mut file, temporary) = create_next_to(path)?;
    let written = fill(&mut file).and_then(|filled| {
        // A loss of power must not leave an empty file under the name. The old file's mode may forbid
        // reading.
        if durability == Durability::PowerLoss {
            stable(RealDisk.open(&temporary, OpenFor::READ).and_then(|file| file.sync_all()))?;
        }
        if let Some(old) = old {
            file.set_permissions(old.permissions())?;
            let own = file.metadata()?;
            if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
                // Only root may change the owner; otherwise the file is ours, as any new file.
                drop(fchown(&file, Some(old.uid()), Some(old.gid())));
            }
        }
        fs::rename(&temporary, path)?;
        if durability == Durability::UntilCrash {
            return Ok(filled);
        }
        match stable(RealDisk.sync_directory(folder(path))) {
            // The file is there; this directory cannot be synced by us, or by anybody.
            Err(error) if is_not_offered(error.kind()) => {}
            synced => synced?,
        }
        Ok(filled)
    });
    if written.is_err() {
        // The temporary file is useless; if it cannot be removed, the first error still explains why.
        drop(fs::remove_file(&temporary));
    }
    written
}

/// True if a directory may be written to but not synced: without the right to read it, or on some file
/// systems.
fn is_not_offered(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::PermissionDenied | ErrorKind::InvalidInput | ErrorKind::Unsupported)
}

fn stable(synced: syncline_vfs::Result<()>) -> io::Result<()> {
    synced.map_err(|error| io::Error::new(error.kind().unwrap_or(ErrorKind::Other), error))
}

/// Creates a new file next to `path`.
fn create_next_to(path: &Path) -> io::Result<(File, PathBuf)> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    for number in 0..NAMES_MAX {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".part-{}-{number}", std::process::id()));
        let temporary = PathBuf::from(name);
        let mut options = OpenOptions::new();
        match options.write(true).create_new(true).custom_flags(flags).open(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    let what = format!("{NAMES_MAX} temporary files of that name exist already; remove them");
    Err(io::Error::new(ErrorKind::AlreadyExists, what))
}

#[cfg(test)]
mod tests {
    use super::write;
    use std::fs::{self, File};
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    use std::path::Path;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        write(&path, b"first").unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(names(folder.path()), ["report"]);
    }

    // A.D4
    #[test]
    fn devices_and_pipes_are_written_to_and_never_replaced() {
        assert!(write(Path::new("/dev/full"), b"page").is_err());
        write(Path::new("/dev/null"), b"page").unwrap();
        for device in ["/dev/full", "/dev/null"] {
            assert!(fs::metadata(device).unwrap().file_type().is_char_device(), "{device}");
        }
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || {
                let mut text = String::new();
                File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
                text
            }
        });
        write(&pipe, b"page").unwrap();
        assert_eq!(reader.join().unwrap(), "page");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
        assert_eq!(names(folder.path()), ["pipe"]);
    }

    // A.D4
    #[test]
    fn links_stay_and_their_targets_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("inner")).unwrap();
        symlink("inner/new", at("dangling")).unwrap();
        write(&at("dangling"), b"one").unwrap();
        fs::write(at("old"), "before").unwrap();
        symlink("old", at("second")).unwrap();
        symlink(at("second"), at("first")).unwrap();
        write(&at("first"), b"two").unwrap();
        for link in ["dangling", "first", "second"] {
            assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink(), "{link}");
        }
        assert_eq!(fs::read(at("inner/new")).unwrap(), b"one");
        assert_eq!(fs::read(at("old")).unwrap(), b"two");
        symlink("round", at("round")).unwrap();
        assert!(write(&at("round"), b"x").is_err());
    }

    // A.D4
    #[test]
    fn an_open_file_of_this_process_is_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut open = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        let link = folder.path().join("link");
        symlink(format!("/proc/self/fd/{}", open.as_raw_fd()), &link).unwrap();
        write(&link, b"page").unwrap();
        let mut text = String::new();
        open.read_to_string(&mut text).unwrap();
        assert_eq!(text, "page");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    // A.D4
    #[test]
    fn a_link_at_the_temporary_file_s_name_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: String| folder.path().join(name);
        fs::write(at("precious".to_owned()), "theirs").unwrap();
        for name in ["report.part".to_owned(), format!("report.part-{}-0", std::process::id())] {
            symlink("precious", at(name)).unwrap();
        }
        write(&at("report".to_owned()), b"page").unwrap();
        assert_eq!(fs::read(at("precious".to_owned())).unwrap(), b"theirs");
        assert_eq!(fs::read(at("report".to_owned())).unwrap(), b"page");
        assert!(!fs::symlink_metadata(at("report".to_owned())).unwrap().is_symlink());
    }
}
