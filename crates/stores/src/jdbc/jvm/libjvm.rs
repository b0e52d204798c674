//! Finds the library of the JVM: with `JAVA_HOME`, with the `java` on the path, or in the usual
//! directories.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The library's path below a Java home: of Java 9 and later, then of a Java 8 runtime and development
/// kit.
const BELOW_HOME: [&str; 4] = [
    "lib/server/libjvm.so",
    "jre/lib/server/libjvm.so",
    "lib/amd64/server/libjvm.so",
    "jre/lib/amd64/server/libjvm.so",
];

/// Where Debian and others install Java.
const USUAL: [&str; 3] = ["/usr/lib/jvm/default-java", "/usr/lib/jvm", "/opt/java"];

/// The path of the library, or a sentence that lists the searched places.
pub(super) fn find() -> Result<PathBuf, String> {
    let java_home = env::var_os("JAVA_HOME").map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|folder| folder.join("java"));
    if let Some(home) = &java_home {
        // A Java that the user names must be used, and no other.
        return below(home).ok_or_else(|| {
            format!(
                "JAVA_HOME is {}, which has no libjvm.so; set it to the home of a Java, or unset it",
                home.display()
            )
        });
    }
    let of_path = on_path.filter_map(|java| home_of(&java));
    let usual = USUAL.iter().flat_map(|place| homes_in(Path::new(place)));
    let mut homes = of_path.chain(usual);
    homes.find_map(|home| below(&home)).ok_or_else(|| {
        format!(
            "no Java was found: JAVA_HOME is not set, there is no java on PATH, and none in {}; \
             install one (Debian: default-jre-headless) or set JAVA_HOME",
            USUAL.join(", ")
        )
    })
}

fn below(home: &Path) -> Option<PathBuf> {
    let places = BELOW_HOME.iter().map(|place| home.join(place));
    places.into_iter().find(|place| place.is_file())
}

/// The home of a `java`, with the links on the path resolved.
fn home_of(java: &Path) -> Option<PathBuf> {
    let java = fs::canonicalize(java).ok()?;
    Some(java.parent()?.parent()?.to_owned())
}

/// A directory as a home, and each directory in it, in the order of their names.
fn homes_in(place: &Path) -> Vec<PathBuf> {
    let mut homes: Vec<_> = fs::read_dir(place)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    homes.sort();
    homes.insert(0, place.to_owned());
    homes
}

#[cfg(test)]
mod tests {
    use super::{below, home_of, homes_in};
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_java_is_found_through_the_link_on_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("jdk");
        for place in ["bin", "lib/server"] {
            fs::create_dir_all(home.join(place)).unwrap();
        }
        fs::write(home.join("bin/java"), "").unwrap();
        assert_eq!(below(&home), None, "a home without the library");
        fs::write(home.join("lib/server/libjvm.so"), "").unwrap();
        let link = folder.path().join("java");
        symlink(home.join("bin/java"), &link).unwrap();
        assert_eq!(home_of(&link), Some(home.clone()));
        assert_eq!(below(&home), Some(home.join("lib/server/libjvm.so")));
        assert!(homes_in(folder.path()).contains(&folder.path().join("jdk")));
    }
}
