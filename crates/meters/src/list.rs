//! Which meters work here, and why the others do not.

use crate::block::Place;
use crate::proc::{Pressure, ProcessUse, SystemTimes};
use crate::sync_calls::{SyncCounter, Watched};
use std::path::Path;

/// One meter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Its name.
    pub name: &'static str,
    /// What it measures, in words.
    pub measures: &'static str,
    /// Why it does not work here; none if it does.
    pub refusal: Option<String>,
}

/// Every meter, tried on this machine and on the disk under `directory`.
pub fn list(directory: &Path) -> Vec<Listing> {
    let root = Path::new("/");
    let unreadable = |what: &str| Some(format!("{what} cannot be read"));
    let pressure = Pressure::read(root);
    let place = Place::of(directory, root);
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
    let row = |name, measures, refusal| Listing {
        name,
        measures,
        refusal,
    };
    vec![
        row(
            "sync calls",
            "sync system calls of the store's process, and all of a store in this one, by perf event",
            SyncCounter::open(Watched::Ours).err(),
        ),
        row(
            "disk",
            "writes, bytes and queue length of the whole disk under the log",
            place.err(),
        ),
        row(
            "flushes",
            "flushes of the whole disk under the log",
            flushes,
        ),
        row(
            "processors",
            "busy, stolen and foreign processor time",
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
            ProcessUse::own().map_or_else(|| unreadable("/proc/self/stat"), |_| None),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::list;
    use std::path::Path;

    #[test]
    fn every_meter_works_or_says_why_not() {
        let meters = list(Path::new("/proc"));
        assert_eq!(meters.len(), 6);
        let refusal = |name: &str| {
            let row = meters.iter().find(|row| row.name == name).unwrap();
            row.refusal.clone()
        };
        assert_eq!(refusal("processors"), None);
        assert!(refusal("disk").is_some_and(|why| why.contains("no single block device")));
        assert!(refusal("flushes").is_some());
    }
}
