//! A file that is written whole or not at all.
//!
//! 1. A regular file, or a new one, is written beside its place first and takes it when all is there. Links
//!    to it stay links.
//! 2. Anything else that a path names (a device, a pipe, standard output by `/dev/stdout`) is written into
//!    and never replaced.
//! 3. What is written first is a new file of a name that nobody has: no link of somebody else's is
//!    followed, and no file overwritten.

use rustix::fs::OFlags;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

/// How many links lead to a file at most, as the kernel has it.
const LINKS_MAX: usize = 40;
/// How many names are tried for the file that is written first.
const NAMES_MAX: u32 = 100;

/// Writes a file; see the module.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let found = match fs::metadata(path) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let place = end_of_links(path)?;
    match found {
        Some(found) if !found.is_file() => {
            OpenOptions::new().write(true).open(path)?.write_all(bytes)
        }
        // A descriptor that is open already: what writes to it must not be left with a removed file.
        Some(_) if place.starts_with("/proc") => {
            OpenOptions::new().append(true).open(path)?.write_all(bytes)
        }
        found => replace(&place, found.as_ref(), bytes),
    }
}

/// The path at the end of the links that a path begins with, whether something is there or not.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_owned();
    for _ in 0..LINKS_MAX {
        // The kernel shows an open file as a link to a path that may be anybody's by now.
        if fs::canonicalize(folder(&place)).is_ok_and(|folder| folder.starts_with("/proc")) {
            return Ok(PathBuf::from("/proc").join(place.file_name().unwrap_or_default()));
        }
        match fs::read_link(&place) {
            Ok(to) => place = folder(&place).join(to),
            // Not a link, or nothing.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => {
                return Ok(place);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("links without end lead there"))
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Writes beside the file first, and puts it in its place when all of it is there.
fn replace(path: &Path, old: Option<&Metadata>, bytes: &[u8]) -> io::Result<()> {
    let (mut file, half) = beside(path)?;
    let written = file.write_all(bytes).and_then(|()| {
        if let Some(old) = old {
            file.set_permissions(old.permissions())?;
            let own = file.metadata()?;
            if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
                // Only root may give a file away; else it is ours from now on, as any new file.
                drop(fchown(&file, Some(old.uid()), Some(old.gid())));
            }
        }
        fs::rename(&half, path)
    });
    if written.is_err() {
        // What is half written helps nobody; that it stays is said by the first error.
        drop(fs::remove_file(&half));
    }
    written
}

/// A new file beside that path.
fn beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    for number in 0..NAMES_MAX {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".part-{}-{number}", std::process::id()));
        let half = PathBuf::from(name);
        let mut options = OpenOptions::new();
        match options.write(true).create_new(true).custom_flags(flags).open(&half) {
            Ok(file) => return Ok((file, half)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    let what = format!("{NAMES_MAX} half files are beside it already; remove them");
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
    fn a_device_and_a_pipe_are_written_into_and_never_replaced() {
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
    fn links_stay_and_what_they_lead_to_is_written() {
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
    fn an_open_file_of_this_process_is_written_into() {
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
    fn a_link_in_the_way_of_the_half_file_is_not_followed() {
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
