//! Parses `/proc/self/mountinfo` and finds the mount of a path.
//!
//! The fields of a line: id, parent id, major:minor, root, mount point, options, optional fields, a dash,
//! file system, source, super options. White space in names is escaped as `\040`.

use std::path::{Path, PathBuf};

/// One mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// The device's numbers; major 0 if there is no block device.
    pub(crate) device: (u32, u32),
    /// The mount point.
    pub(crate) point: PathBuf,
    /// Options of the mount and of the file system, in order, without duplicates.
    pub(crate) options: Vec<String>,
    /// The file system's type.
    pub(crate) file_system: String,
    /// The device or server.
    pub(crate) source: String,
}

impl Mount {
    /// The value of `name=value` among the options.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }

    /// True if that exact option is set.
    pub(crate) fn has_option(&self, whole: &str) -> bool {
        self.options.iter().any(|option| option == whole)
    }
}

/// All mounts; invalid lines are skipped.
pub(crate) fn parse(mountinfo: &str) -> Vec<Mount> {
    mountinfo.lines().filter_map(parse_line).collect()
}

/// The mount of a canonical path: the deepest mount point above it, among those with its device number if
/// there are any (another mount may hide a deeper one); the latest of equals.
pub(crate) fn mount_of<'a>(
    mounts: &'a [Mount],
    path: &Path,
    device: Option<(u32, u32)>,
) -> Option<&'a Mount> {
    let above = || mounts.iter().filter(|mount| path.starts_with(&mount.point));
    let depth = |mount: &&Mount| mount.point.components().count();
    let of_device = above().filter(|mount| Some(mount.device) == device).max_by_key(depth);
    of_device.or_else(|| above().max_by_key(depth))
}

fn parse_line(line: &str) -> Option<Mount> {
    let (mount, file_system) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(2);
    let (major, minor) = mount.next()?.split_once(':')?;
    let point = unescape(mount.nth(1)?);
    let mount_options = mount.next()?;
    let mut file_system = file_system.split(' ');
    let kind = file_system.next()?.to_owned();
    let source = unescape(file_system.next()?);
    let super_options = file_system.next().unwrap_or("");
    let mut options: Vec<String> = Vec::new();
    for option in mount_options.split(',').chain(super_options.split(',')) {
        let option = unescape(option);
        if !option.is_empty() && !options.contains(&option) {
            options.push(option);
        }
    }
    let device = (major.parse().ok()?, minor.parse().ok()?);
    Some(Mount { device, point: PathBuf::from(point), options, file_system: kind, source })
}

/// Replaces octal escapes (`\040`) by their bytes.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let octal = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match escaped {
            Some(value) if byte == b'\\' => {
                bytes.push(value);
                rest = &after[3..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{mount_of, parse};
    use std::path::Path;

    const MOUNTS: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n\
30 27 8:1 / /srv/my\\040data rw,noatime shared:1 master:2 - xfs /dev/sda1 rw,attr2\n\
31 27 0:40 / /srv rw - tmpfs none rw\n\
not a mount line\n\
32 27 0:41 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/u,volatile\n";

    #[test]
    fn lines_are_read_with_optional_fields_and_escapes() {
        let mounts = parse(MOUNTS);
        assert_eq!(mounts.len(), 4);
        assert_eq!(mounts[1].point, Path::new("/srv/my data"));
        assert_eq!(mounts[1].options, ["rw", "noatime", "attr2"]);
        assert_eq!((mounts[1].file_system.as_str(), mounts[1].device), ("xfs", (8, 1)));
        assert_eq!(mounts[3].option("upperdir"), Some("/u"));
        assert!(mounts[3].has_option("volatile") && !mounts[3].has_option("upperdir"));
    }

    #[test]
    fn the_device_number_decides_between_mounts_that_hide_one_another() {
        let mounts = parse(MOUNTS);
        let path = Path::new("/srv/my data/log");
        let by_prefix = mount_of(&mounts, path, None).unwrap();
        assert_eq!(by_prefix.file_system, "xfs");
        let by_device = mount_of(&mounts, path, Some((0, 40))).unwrap();
        assert_eq!(by_device.file_system, "tmpfs");
        let unknown_device = mount_of(&mounts, path, Some((0, 99))).unwrap();
        assert_eq!(unknown_device.file_system, "xfs");
        assert_eq!(mount_of(&mounts, Path::new("/x"), None).unwrap().file_system, "overlay");
        assert_eq!(mount_of(&mounts, Path::new("/srvx"), None).unwrap().file_system, "overlay");
    }
}
