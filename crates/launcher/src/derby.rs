//! Derby's network server, from jar files that the user names or that are in the local Maven repository.

use crate::launch_command::{LaunchCommand, ListenAddress, program};
use crate::launch_spec::LaunchSpec;
use crate::launcher::{Launcher, NO_PORT};
use crate::secret::Secret;
use crate::server_directory::{NOBODY, ServerDirectory};
use rustix::process::Signal;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use syncline_contract::Durability;

pub(crate) const LAUNCHER: Launcher = Launcher {
    word: "derby",
    user: NOBODY,
    check_supported: |spec| durability_option(spec).map(drop),
    placeholder_url: |spec| url(spec, NO_PORT, "", &[PathBuf::from("derbyclient.jar")]),
    private,
    attached: None,
    in_order: Signal::TERM,
    at_once: Signal::KILL,
};

/// The jars of the network server and its client.
const PARTS: [&str; 5] = ["derby", "derbyshared", "derbytools", "derbynet", "derbyclient"];
/// The size of a page of Derby's cache in bytes.
const PAGE: u64 = 4_096;

/// The user that may log in.
const USER: &str = "syncline";

/// The URL of a server on that port whose driver is in these jars; `login` contains the options for user and
/// password.
fn url(spec: &LaunchSpec, port: u16, login: &str, jars: &[PathBuf]) -> String {
    let jars: Vec<String> = jars.iter().map(|jar| jar.display().to_string()).collect();
    format!(
        "jdbc:derby://127.0.0.1:{port}/syncline;create=true{}{login}&driver={}",
        spec.options("?"),
        jars.join(":")
    )
}

/// The option for a durability, if one is needed; refuses a durability that Derby does not offer.
fn durability_option(spec: &LaunchSpec) -> Result<Option<&'static str>, String> {
    match spec.durability {
        Durability::Data => Ok(None),
        Durability::None => Ok(Some("-Dderby.system.durability=test")),
        Durability::Os | Durability::Full => {
            Err(spec.refused("Derby syncs the data of its log, or with none nothing"))
        }
    }
}

fn private(spec: &LaunchSpec, directory: &ServerDirectory) -> Result<LaunchCommand, String> {
    let java = program(&["java"], "default-jre-headless")?;
    let jars = if spec.jars.is_empty() { derby_jars()? } else { spec.jars.clone() };
    // The server's user may not be allowed to read these files, so it gets copies.
    let jars = jars.iter().map(|jar| copy_jar(jar, directory));
    let jars = jars.collect::<Result<Vec<_>, _>>()?;
    let path = std::env::join_paths(&jars)
        .map_err(|error| format!("a jar's path cannot be used: {error}"))?;
    // A profiler outside the process needs frame pointers to unwind its stacks.
    let frame_pointers: OsString = "-XX:+PreserveFramePointer".into();
    let mut serve: Vec<OsString> = vec![java.into_os_string(), frame_pointers];
    serve.extend(spec.jvm.iter().map(OsString::from));
    serve.extend(["-cp".into(), path]);
    serve.extend(durability_option(spec)?.map(OsString::from));
    if let Some(bytes) = spec.cache_bytes {
        let pages = (bytes / PAGE).max(40);
        serve.push(format!("-Dderby.storage.pageCacheSize={pages}").into());
    }
    serve.push(format!("-Dderby.system.home={}", directory.text("")).into());
    let port = directory.port.to_string();
    let start = ["org.apache.derby.drda.NetworkServerControl", "start"];
    serve.extend(start.map(OsString::from));
    serve.extend(["-h", "127.0.0.1", "-p", &port, "-noSecurityManager"].map(OsString::from));
    let secret = Secret::new(directory)?;
    // Derby reads this file from its home; every user could read a property on the command line.
    let properties = format!(
        "derby.connection.requireAuthentication=true\nderby.authentication.provider=BUILTIN\n\
         derby.user.{USER}={}\n",
        secret.reveal()
    );
    directory.write("derby.properties", &properties)?;
    let login = format!("&user={USER}{}", secret.option());
    Ok(LaunchCommand {
        prepare: Vec::new(),
        serve,
        stop: "KILL",
        urls: vec![url(spec, directory.port, &login, &jars)],
        listens_at: ListenAddress::Port(directory.port),
        sockets: None,
        ready: None,
    })
}

/// Derby's jar files in the local Maven repository; the error says what to do.
pub fn derby_jars() -> Result<Vec<PathBuf>, String> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    newest_jars(&home.join(".m2/repository/org/apache/derby"))
}

/// The jars of the newest version that a Maven repository contains completely.
fn newest_jars(repository: &Path) -> Result<Vec<PathBuf>, String> {
    let versions = std::fs::read_dir(repository.join(PARTS[0])).into_iter().flatten();
    let mut versions: Vec<String> =
        versions.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let numbers = |version: &String| -> Vec<u64> {
        version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
    };
    versions.sort_by_key(numbers);
    let jars = |version: &String| -> Vec<PathBuf> {
        let jar =
            |part: &&str| repository.join(part).join(version).join(format!("{part}-{version}.jar"));
        PARTS.iter().map(jar).collect()
    };
    let candidates = versions.iter().rev().map(jars);
    let mut complete = candidates.filter(|jars| jars.iter().all(|jar| jar.is_file()));
    complete.next().ok_or_else(|| {
        format!(
            "Derby's jars ({}) are not in {}: name them with --jars, or fetch them with Maven",
            PARTS.join(", "),
            repository.display()
        )
    })
}

fn copy_jar(jar: &Path, directory: &ServerDirectory) -> Result<PathBuf, String> {
    let name = jar.file_name().ok_or_else(|| format!("{} is not a jar file", jar.display()))?;
    let copy = directory.at("").join(name);
    std::fs::copy(jar, &copy)
        .map_err(|error| format!("{} cannot be copied: {error}", jar.display()))?;
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::{PARTS, newest_jars};
    use std::fs;

    #[test]
    fn the_newest_version_with_all_its_jars_is_found() {
        let folder = tempfile::tempdir().unwrap();
        for (version, parts) in
            [("10.9.1.0", &PARTS[..]), ("10.16.1.1", &PARTS), ("10.17.1.0", &PARTS[..2])]
        {
            for part in parts {
                let place = folder.path().join(part).join(version);
                fs::create_dir_all(&place).unwrap();
                fs::write(place.join(format!("{part}-{version}.jar")), "").unwrap();
            }
        }
        let jars = newest_jars(folder.path()).unwrap();
        assert!(jars[0].ends_with("derby/10.16.1.1/derby-10.16.1.1.jar"), "{jars:?}");
        assert_eq!(jars.len(), PARTS.len());
        let error = newest_jars(&folder.path().join("nowhere")).unwrap_err();
        assert!(error.contains("--jars"), "{error}");
    }
}
