//! What the server's settings mean for a commit: the durability, the reason, and how to change it.
//!
//! | word | settings |
//! |---|---|
//! | `none` | `innodb_flush_log_at_trx_commit=0`: the log is written once a second |
//! | `os` | `=2`: written at each commit, synced once a second |
//! | `data` | `=1`: synced at each commit; with a binary log `sync_binlog=1` too, since recovery rolls back a transaction that InnoDB has prepared and the binary log has lost; `innodb_doublewrite` on, since the log cannot repair a torn page; a flush method that syncs |
//! | `full` | the same, and the syncs are `fsync`: MySQL without `innodb_use_fdatasync`; MariaDB always calls `fdatasync` |
//!
//! Settings that fall short of `data` in any of these are `os`.

use std::collections::BTreeMap;
use syncline_contract::Durability;

/// The server's variables, by name in lower case.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables(pub(crate) BTreeMap<String, String>);

impl Variables {
    /// The value of a variable; `None` where the server does not have it.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// True if it is on, in any of the server's spellings.
    pub(super) fn is_on(&self, name: &str) -> bool {
        matches!(
            self.get(name).map(str::to_ascii_uppercase).as_deref(),
            Some("ON" | "1" | "YES" | "TRUE" | "DETECT_AND_RECOVER")
        )
    }

    /// Why sync calls do not show the syncs of the server's log; `None` if they do.
    pub(super) fn unseen_syncs(&self) -> Option<&'static str> {
        let method = self.get("innodb_flush_method").unwrap_or_default();
        if method.eq_ignore_ascii_case("O_DSYNC") {
            Some(
                "innodb_flush_method=O_DSYNC: the server syncs its log by writing it to a file opened with \
                 O_DSYNC, which sync calls do not show",
            )
        } else if self.is_on("innodb_log_file_write_through") {
            Some(
                "innodb_log_file_write_through=ON: the server syncs its log by writing it to a file opened with \
                 O_DSYNC, which sync calls do not show",
            )
        } else {
            None
        }
    }

    /// "name=value", or "no name" where the server does not have it.
    pub(super) fn described(&self, name: &str) -> String {
        match self.get(name) {
            Some(value) => format!("{name}={value}"),
            None => format!("no {name}"),
        }
    }
}

/// The durability that the server's settings provide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) durability: Durability,
    /// The settings that determine it.
    pub(crate) evidence: String,
    /// Why it is not higher; a clause for each setting.
    short_of: Vec<String>,
}

const FLUSH: &str = "innodb_flush_log_at_trx_commit";

/// Evaluates the settings in force.
pub(crate) fn judge(variables: &Variables, mariadb: bool) -> Verdict {
    let mut short_of = Vec::new();
    let written = match variables.get(FLUSH) {
        Some("0") => Durability::None,
        Some("2") => Durability::Os,
        // MariaDB's 3 syncs three times in a group commit, which is at least as durable.
        Some("1" | "3") => Durability::Data,
        _ => {
            short_of.push(format!("{FLUSH} is not reported"));
            Durability::None
        }
    };
    let mut described = vec![variables.described(FLUSH)];
    if written < Durability::Data {
        described.push("read back with SHOW GLOBAL VARIABLES".to_owned());
        return Verdict {
            durability: written,
            evidence: described.join(", "),
            short_of: vec![format!("SET GLOBAL {FLUSH}=1")],
        };
    }
    if variables.is_on("log_bin") {
        described.extend([variables.described("log_bin"), variables.described("sync_binlog")]);
        if variables.get("sync_binlog") != Some("1") {
            short_of.push("SET GLOBAL sync_binlog=1".to_owned());
        }
    } else {
        described.push("log_bin=OFF".to_owned());
    }
    for name in ["innodb_doublewrite", "innodb_flush_method"] {
        described.push(variables.described(name));
    }
    if variables.get("innodb_doublewrite").is_some() && !variables.is_on("innodb_doublewrite") {
        short_of.push("start the server with innodb_doublewrite=ON".to_owned());
    }
    let method = variables.get("innodb_flush_method").unwrap_or_default();
    let lazy = ["nosync", "littlesync", "o_direct_no_fsync"];
    if lazy.contains(&method.to_ascii_lowercase().as_str()) {
        short_of.push("start the server with innodb_flush_method=O_DIRECT or fsync".to_owned());
    }
    let durability = if !short_of.is_empty() {
        Durability::Os
    } else if mariadb {
        described.push(match variables.unseen_syncs() {
            Some(_) => "MariaDB syncs by writes to a file opened with O_DSYNC".to_owned(),
            None => "MariaDB syncs by fdatasync".to_owned(),
        });
        Durability::Data
    } else if variables.is_on("innodb_use_fdatasync") || method.eq_ignore_ascii_case("O_DSYNC") {
        described.push(variables.described("innodb_use_fdatasync"));
        Durability::Data
    } else {
        described.push("MySQL syncs by fsync".to_owned());
        Durability::Full
    };
    described.push("read back with SHOW GLOBAL VARIABLES".to_owned());
    Verdict { durability, evidence: described.join(", "), short_of }
}

impl Verdict {
    /// Why that durability is not available here, and what to do; `None` if it is in force. `data` is
    /// in force where `full` is.
    pub(super) fn refusal(&self, asked: Durability, mariadb: bool) -> Option<String> {
        if asked == self.durability
            || (asked, self.durability) == (Durability::Data, Durability::Full)
        {
            return None;
        }
        let there = self.durability.word();
        let how = match asked {
            Durability::None => format!("SET GLOBAL {FLUSH}=0"),
            Durability::Os => format!("SET GLOBAL {FLUSH}=2"),
            Durability::Full if self.short_of.is_empty() && mariadb => {
                return Some(format!(
                    "MariaDB does not support durability=full: it syncs by fdatasync, which omits metadata \
                     that reads do not need; use durability=data ({})",
                    self.evidence
                ));
            }
            Durability::Full if self.short_of.is_empty() => {
                "start the server with innodb_use_fdatasync=OFF and innodb_flush_method=fsync or O_DIRECT"
                    .to_owned()
            }
            Durability::Data | Durability::Full => self.short_of.join(", "),
        };
        Some(format!(
            "durability={} is not in force: the server's settings provide {there} ({}); they apply to the whole \
             server, so this program does not change them; {how}, or use durability={there}",
            asked.word(),
            self.evidence
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{Variables, judge};
    use syncline_contract::Durability;

    fn of(pairs: &[(&str, &str)]) -> Variables {
        let defaults = [
            ("innodb_flush_log_at_trx_commit", "1"),
            ("log_bin", "OFF"),
            ("sync_binlog", "0"),
            ("innodb_doublewrite", "ON"),
            ("innodb_flush_method", "O_DIRECT"),
        ];
        let pairs = defaults.iter().chain(pairs);
        Variables(pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    // B.F3
    #[test]
    fn a_log_opened_with_o_dsync_makes_no_sync_calls() {
        assert_eq!(of(&[]).unseen_syncs(), None);
        for name in [("innodb_flush_method", "O_DSYNC"), ("innodb_log_file_write_through", "ON")] {
            let variables = of(&[name]);
            let why = variables.unseen_syncs().unwrap();
            assert!(why.starts_with(name.0), "{why}");
            let evidence = judge(&variables, true).evidence;
            assert!(!evidence.contains("fdatasync"), "{evidence}");
        }
    }

    #[test]
    fn settings_determine_the_durability() {
        for (pairs, mariadb, word) in [
            (&[][..], true, Durability::Data),
            (&[], false, Durability::Full),
            (&[("innodb_use_fdatasync", "ON")], false, Durability::Data),
            (&[("innodb_flush_method", "O_DSYNC")], false, Durability::Data),
            (&[("innodb_flush_log_at_trx_commit", "2")], true, Durability::Os),
            (&[("innodb_flush_log_at_trx_commit", "0")], true, Durability::None),
            (&[("log_bin", "ON")], true, Durability::Os),
            (&[("log_bin", "ON"), ("sync_binlog", "1")], true, Durability::Data),
            (&[("innodb_doublewrite", "OFF")], true, Durability::Os),
            (&[("innodb_doublewrite", "DETECT_ONLY")], false, Durability::Os),
            (&[("innodb_flush_method", "nosync")], false, Durability::Os),
        ] {
            let verdict = judge(&of(pairs), mariadb);
            assert_eq!(verdict.durability, word, "{pairs:?}: {verdict:?}");
        }
    }

    #[test]
    fn a_refusal_names_the_setting_to_make() {
        let lax = judge(&of(&[("innodb_flush_log_at_trx_commit", "2")]), true);
        assert_eq!(lax.refusal(Durability::Os, true), None);
        let words = lax.refusal(Durability::Data, true).unwrap();
        assert!(words.contains("SET GLOBAL innodb_flush_log_at_trx_commit=1"), "{words}");
        assert!(words.contains("durability=os"), "{words}");
        let logged = judge(&of(&[("log_bin", "ON")]), true);
        let words = logged.refusal(Durability::Data, true).unwrap();
        assert!(words.contains("SET GLOBAL sync_binlog=1"), "{words}");
        let strict = judge(&of(&[]), true);
        let words = strict.refusal(Durability::Full, true).unwrap();
        assert!(words.contains("fdatasync"), "{words}");
        assert!(strict.refusal(Durability::Os, true).is_some());
        let full = judge(&of(&[]), false);
        assert_eq!(full.refusal(Durability::Data, false), None);
        assert_eq!(full.refusal(Durability::Full, false), None);
    }
}
