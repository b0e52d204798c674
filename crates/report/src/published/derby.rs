//! Derby's resource usage by module, 2006.

use super::source::{Source, parse};
use serde::Deserialize;
use std::sync::LazyLock;

/// The page's figures that a store's record can be compared with.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Derby {
    pub(crate) source: Source,
    pub(crate) loads: Vec<DerbyLoad>,
}

/// One load.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DerbyLoad {
    /// Syncline's workload with the same rules.
    pub(crate) load: String,
    pub(crate) clients: u64,
    pub(crate) modules: Vec<DerbyModule>,
    /// The cost of garbage collection by kind of JVM.
    pub(crate) garbage: Vec<DerbyGarbage>,
}

/// One module, per transaction; a figure that the page does not give is `None`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DerbyModule {
    /// The page's name for it.
    pub(crate) name: String,
    /// Syncline's module for the same work, by its name in records.
    pub(crate) module: String,
    /// Percent of all CPU time, system and user.
    pub(crate) cpu_percent: Option<f64>,
    /// Percent of all wall clock time.
    pub(crate) wall_percent: Option<f64>,
    /// Bytes allocated.
    pub(crate) bytes: Option<f64>,
    /// Objects allocated.
    pub(crate) objects: Option<f64>,
    pub(crate) system_calls: Option<f64>,
    pub(crate) voluntary_switches: Option<f64>,
    pub(crate) involuntary_switches: Option<f64>,
    /// Times a thread waited for a monitor.
    pub(crate) contentions: Option<f64>,
    /// Times a thread left its processor to wait, for any reason.
    pub(crate) sleeps: Option<f64>,
    /// Writes to disks that were waited for, and others; the page has them for update alone.
    pub(crate) sync_writes: Option<f64>,
    pub(crate) async_writes: Option<f64>,
}

/// The collection of garbage in one kind of JVM.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DerbyGarbage {
    /// The page's name for the JVM.
    pub(crate) machine: String,
    /// Percent of all CPU time.
    pub(crate) cpu_percent: f64,
}

/// The published figures.
pub(crate) fn derby() -> &'static Derby {
    static FILE: LazyLock<Derby> =
        LazyLock::new(|| parse(include_str!("../../data/published/derby.json")));
    &FILE
}

impl DerbyLoad {
    /// The sum over all modules that have the figure; `None` if no module has it.
    pub(crate) fn sum(&self, of: impl Fn(&DerbyModule) -> Option<f64>) -> Option<f64> {
        self.modules.iter().filter_map(of).reduce(|one, other| one + other)
    }
}

#[cfg(test)]
mod tests {
    use super::derby;
    use syncline_profile::Module;

    #[test]
    fn shares_of_each_load_make_up_the_whole() {
        derby().source.assert_whole();
        assert_eq!(derby().loads.len(), 3);
        for load in &derby().loads {
            for sum in
                [load.sum(|module| module.cpu_percent), load.sum(|module| module.wall_percent)]
            {
                assert!((sum.unwrap() - 100.0).abs() < 0.15, "{}: {sum:?}", load.load);
            }
        }
    }

    fn is_module(module: &str) -> bool {
        Module::ALL.iter().any(|one| one.name() == module)
    }

    #[test]
    fn every_module_is_one_of_synclines() {
        for module in derby().loads.iter().flat_map(|load| &load.modules) {
            assert!(is_module(&module.module), "{module:?}");
            assert!(module.bytes.is_some() == module.objects.is_some(), "{module:?}");
        }
    }

    /// 0.30 synchronous writes per transaction with 20 clients: a mean group of 3.3 commits.
    #[test]
    fn updates_shared_their_syncs() {
        let update = derby().loads.iter().find(|load| load.load == "update");
        let update = update.unwrap();
        let writes = update.sum(|module| module.sync_writes).unwrap();
        assert!((1.0 / writes - 3.33).abs() < 0.01, "{writes}");
        assert_eq!(update.clients, 20);
    }

    /// The page's own error, listed among the known errors.
    #[test]
    fn only_the_join_allocates_objects_smaller_than_any() {
        let too_small: Vec<(&str, &str)> = derby()
            .loads
            .iter()
            .flat_map(|load| load.modules.iter().map(move |module| (load, module)))
            .filter(|(_, module)| {
                module
                    .bytes
                    .zip(module.objects)
                    .is_some_and(|(bytes, objects)| bytes / objects < 8.0)
            })
            .map(|(load, module)| (load.load.as_str(), module.name.as_str()))
            .collect();
        assert_eq!(too_small, [("join", "data store")]);
        assert!(derby().source.known_errors.iter().any(|one| one.contains("22,960")));
    }
}
