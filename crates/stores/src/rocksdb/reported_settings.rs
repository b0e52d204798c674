//! The settings that RocksDB reports: the options file that it wrote when it opened, after adjusting
//! options that it does not accept, and its statistics of a trial commit.

use rocksdb::Options;
use std::fs;
use std::io;
use std::path::Path;
use syncline_contract::{Durability, Setting};

/// Options that affect speed or safety.
const SHOWN: &[&str] = &[
    "recycle_log_file_num",
    "wal_recovery_mode",
    "use_fsync",
    "manual_wal_flush",
    "write_buffer_size",
    "max_write_buffer_number",
    "max_background_jobs",
    "allow_concurrent_memtable_write",
    "enable_pipelined_write",
    "unordered_write",
    "compression",
];

/// The options file of an open store.
#[derive(Debug)]
pub(super) struct OptionsFile {
    name: String,
    text: String,
}

impl OptionsFile {
    /// The latest options file in a store's directory.
    pub(super) fn read(folder: &Path) -> io::Result<OptionsFile> {
        let mut latest: Option<String> = None;
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            // The numbers have leading zeros, so that names sort by number.
            if name.starts_with("OPTIONS-") && !name.ends_with("dbtmp") {
                latest = latest.max(Some(name));
            }
        }
        let name =
            latest.ok_or_else(|| io::Error::other("RocksDB did not write an options file"))?;
        let text = fs::read_to_string(folder.join(&name))?;
        Ok(OptionsFile { name, text })
    }

    /// The value of an option of the store, or of its one column family.
    pub(super) fn value(&self, option: &str) -> Option<&str> {
        let mut pairs = self.text.lines().filter_map(|line| line.split_once('='));
        pairs.find_map(|(name, value)| (name.trim() == option).then(|| value.trim()))
    }

    /// RocksDB's version.
    pub(super) fn version(&self) -> String {
        let version = self.value("rocksdb_version");
        version.unwrap_or("unknown").to_owned()
    }

    /// The options that are shown with every result.
    pub(super) fn settings(&self) -> Vec<Setting> {
        let setting = |name: &&str| {
            self.value(name).map(|value| Setting {
                name: (*name).to_owned(),
                value: value.to_owned(),
                source: format!("{}, which RocksDB wrote", self.name),
            })
        };
        SHOWN.iter().filter_map(setting).collect()
    }

    /// The durability that a trial commit and the options show, and the sentence that explains it.
    pub(super) fn durability(&self, trial: Counts) -> (Durability, String) {
        let is = |option| self.value(option) == Some("true");
        let Counts { log_writes, syncs } = trial;
        let (durability, what) = if log_writes == 0 || is("manual_wal_flush") {
            (Durability::None, "a commit stays in memory")
        } else if syncs == 0 {
            (Durability::Os, "a commit is written and not synced")
        } else if is("use_fsync") {
            (Durability::Full, "a commit waits for fsync")
        } else {
            (Durability::Data, "a commit waits for fdatasync")
        };
        let use_fsync = self.value("use_fsync").unwrap_or("unknown");
        let explanation = format!(
            "for a trial commit with the same options, RocksDB's statistics counted \
             {log_writes} in rocksdb.write.wal and {syncs} in rocksdb.wal.synced, and {} says \
             use_fsync={use_fsync}: {what}",
            self.name
        );
        (durability, explanation)
    }
}

/// Counts from RocksDB's statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) log_writes: u64,
    pub(super) syncs: u64,
}

impl Counts {
    /// Since the store was opened; its options must enable statistics.
    pub(super) fn read(options: &Options) -> io::Result<Counts> {
        let text = options.get_statistics().unwrap_or_default();
        let count = |name: &str| {
            let counted = counted(&text, name);
            counted.ok_or_else(|| {
                io::Error::other(format!("RocksDB's statistics do not include {name}"))
            })
        };
        Ok(Counts { log_writes: count("rocksdb.write.wal")?, syncs: count("rocksdb.wal.synced")? })
    }
}

/// The number in a line `name COUNT : number`.
fn counted(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let number = line.strip_prefix(name)?.strip_prefix(" COUNT : ")?;
        number.trim().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::{Counts, OptionsFile, counted};
    use syncline_contract::Durability;

    fn file(text: &str) -> OptionsFile {
        OptionsFile { name: "OPTIONS-000007".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn durability_follows_from_the_counts_not_from_the_request() {
        let syncing = "[DBOptions]\n  use_fsync=false\n  manual_wal_flush=false\n";
        let word =
            |text: &str, log_writes, syncs| file(text).durability(Counts { log_writes, syncs });
        assert_eq!(word(syncing, 0, 0).0, Durability::None);
        assert_eq!(word(syncing, 1, 0).0, Durability::Os);
        assert_eq!(word(syncing, 1, 1).0, Durability::Data);
        let full = syncing.replace("use_fsync=false", "use_fsync=true");
        assert_eq!(word(&full, 1, 1).0, Durability::Full);
        let held = syncing.replace("flush=false", "flush=true");
        assert_eq!(word(&held, 1, 0).0, Durability::None);
        let (_, explanation) = word(syncing, 1, 1);
        assert!(explanation.contains("counted 1 in rocksdb.write.wal and 1 in "), "{explanation}");
        assert!(explanation.contains("OPTIONS-000007 says use_fsync=false"), "{explanation}");
    }

    #[test]
    fn a_name_that_is_a_prefix_of_another_does_not_match_it() {
        let text = "rocksdb.wal.synced COUNT : 3\nrocksdb.write.wal COUNT : 4\n\
                    rocksdb.wal.synced.late COUNT : 9\n";
        assert_eq!(counted(text, "rocksdb.wal.synced"), Some(3));
        assert_eq!(counted(text, "rocksdb.write.wal"), Some(4));
        assert_eq!(counted(text, "rocksdb.wal"), None);
        let options = file("  compression_opts={level=1}\n  compression=kNoCompression\n");
        assert_eq!(options.value("compression"), Some("kNoCompression"));
        assert_eq!(options.value("pression"), None);
    }
}
