//! Lists which meters work on this machine, and why the others do not.

use crate::{jvm, tag};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use syncline_host::{BlockDevice, Pressure, Process, ProcessUsage, SyncCounter, SystemTimes};

/// One meter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Its name.
    pub name: &'static str,
    /// A description of what it measures.
    pub measures: &'static str,
    /// Why it does not work here; none if it does.
    pub refusal: Option<String>,
}

/// Every meter, tried on this machine and on the disk under `directory`.
pub fn list(directory: &Path) -> Vec<Listing> {
    let root = Path::new("/");
    let unreadable = |what: &str| Some(format!("{what} cannot be read"));
    let pressure = Pressure::read(root);
    let place = BlockDevice::of(directory, root);
    let flushes = match &place {
        Ok(place) => match place.counts() {
            Some(counts) if counts.flushes.is_some() => None,
            Some(_) => {
                Some("this kernel does not count flushes (Linux 5.5 and later do)".to_owned())
            }
            None => Some(format!("the counters of {} cannot be read", place.device)),
        },
        Err(why) => Some(why.clone()),
    };
    let row = |name, measures, refusal| Listing { name, measures, refusal };
    vec![
        row(
            "sync calls",
            "sync system calls of the store's process, and all of a store in this one, by perf event",
            SyncCounter::open(Process::Own).err(),
        ),
        row("disk", "writes, bytes and queue length of the whole disk under the log", place.err()),
        row("flushes", "flushes of the whole disk under the log", flushes),
        row(
            "processors",
            "processor time: busy, stolen, and of other processes",
            SystemTimes::read(root).map_or_else(|| unreadable("/proc/stat"), |_| None),
        ),
        row(
            "pressure",
            "time in which tasks waited for a processor or for I/O",
            pressure
                .cpu_ns
                .and(pressure.io_ns)
                .map_or_else(|| unreadable("/proc/pressure"), |_| None),
        ),
        row(
            "processes",
            "processor time and page faults of the store's process",
            ProcessUsage::own().map_or_else(|| unreadable("/proc/self/stat"), |_| None),
        ),
        row(
            "async-profiler",
            "run --meter of a store in a JVM: processor time by Java's frames, wall clock, allocation, \
             waits for locks",
            jvm::find_profiler().err(),
        ),
        row(
            "flight recorder",
            "run --meter of a store in a JVM without async-profiler: allocation, waits of 1 ms and more, \
             sleeps, by JFR",
            java(env::var_os("JAVA_HOME"), env::var_os("PATH")).err(),
        ),
        row(
            "tags",
            "run --meter of the engine: processor time by module, as its own threads report it",
            tag::refusal(),
        ),
    ]
}

/// Finds a Java virtual machine on this machine, which includes the flight recorder.
fn java(home: Option<OsString>, path: Option<OsString>) -> Result<PathBuf, String> {
    let home = home.map(|home| Path::new(&home).join("bin"));
    let path = path.unwrap_or_default();
    let mut folders = home.into_iter().chain(env::split_paths(&path));
    let found = folders.find_map(|folder| Some(folder.join("java")).filter(|java| java.is_file()));
    found.ok_or_else(|| {
        "it is part of a JVM, and neither JAVA_HOME nor PATH contains a java: install one, or profile a \
         server that includes its own"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::{java, list};
    use std::path::Path;

    #[test]
    fn every_meter_works_or_says_why_not() {
        let meters = list(Path::new("/proc"));
        assert_eq!(meters.len(), 9);
        let refusal = |name: &str| {
            let row = meters.iter().find(|row| row.name == name).unwrap();
            row.refusal.clone()
        };
        assert_eq!(refusal("processors"), None);
        assert!(refusal("disk").is_some_and(|why| why.contains("not on a single block device")));
        assert!(refusal("flushes").is_some());
        assert_eq!(refusal("tags"), None, "a timer of the own process requires no permission");
        let profiler = refusal("async-profiler");
        assert!(profiler.is_none_or(|why| why.contains("SYNCLINE_ASYNC_PROFILER")));
    }

    #[test]
    fn java_is_found_by_java_home_and_path() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let home = || Some(folder.path().as_os_str().to_owned());
        let why = java(home(), None).unwrap_err();
        assert!(why.contains("JAVA_HOME"), "{why}");
        std::fs::write(bin.join("java"), "").unwrap();
        assert_eq!(java(home(), None).as_deref(), Ok(bin.join("java").as_path()));
        let path = Some(bin.as_os_str().to_owned());
        assert!(java(None, path).is_ok());
    }
}
