//! The mail on insert rates of SAP DB and Oracle, 2002.

use super::source::{Source, parse};
use serde::Deserialize;
use std::sync::LazyLock;

/// The figures of the mail.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mail {
    pub(crate) source: Source,
    pub(crate) disks: Vec<MailDisk>,
    pub(crate) writetest: Vec<MailWrites>,
}

/// A disk and the commits of stores on it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MailDisk {
    pub(crate) name: String,
    /// Revolutions per minute.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "only the test compares the ceiling with it")
    )]
    pub(crate) rpm: f64,
    /// Revolutions per second, as the mail states them: the most syncs of one block.
    pub(crate) ceiling_per_s: f64,
    pub(crate) commits: Vec<MailCommits>,
}

/// Committed single inserts of one store and client stack.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MailCommits {
    pub(crate) target: String,
    pub(crate) per_s: f64,
}

/// A run of the log writer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MailWrites {
    pub(crate) what: String,
    pub(crate) rpm: f64,
    /// `None` if the mail printed no finite figure.
    pub(crate) per_s: Option<f64>,
    /// True if the mail printed "about", "over" or the like.
    #[serde(default)]
    pub(crate) about: bool,
    /// The number of writes, if the mail gives it.
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test compares the rate with it"))]
    pub(crate) writes: Option<f64>,
    /// The seconds that they took, if the mail gives them.
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test compares the rate with it"))]
    pub(crate) seconds: Option<f64>,
}

/// The published figures.
pub(crate) fn mail2002() -> &'static Mail {
    static FILE: LazyLock<Mail> =
        LazyLock::new(|| parse(include_str!("../../data/published/mail2002.json")));
    &FILE
}

#[cfg(test)]
mod tests {
    use super::mail2002;

    #[test]
    fn ceilings_are_revolutions_per_second() {
        mail2002().source.assert_whole();
        for disk in &mail2002().disks {
            assert!((disk.rpm / 60.0 - disk.ceiling_per_s).abs() < 1e-9);
            assert_eq!(disk.commits.len(), 4);
        }
    }

    #[test]
    fn rates_of_the_log_writer_are_writes_per_second() {
        let mut compared = 0;
        for row in &mail2002().writetest {
            let Some((writes, seconds)) = row.writes.zip(row.seconds) else {
                assert!(row.about, "{row:?}");
                continue;
            };
            compared += 1;
            match row.per_s {
                Some(per_s) => assert!((writes / seconds / per_s - 1.0).abs() < 1e-3, "{row:?}"),
                None => assert!(seconds == 0.0, "{row:?}"),
            }
        }
        assert_eq!(compared, 6);
    }
}
