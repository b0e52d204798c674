//! The built-in scripts, selected by name or by an unambiguous prefix.

use super::error::ScriptError;

/// A built-in script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// Its title in pgbench's report.
    pub title: &'static str,
    /// Its text.
    pub text: &'static str,
    /// The balances that it changes, for the checks.
    pub(super) moves: Moves,
}

/// The balances that a built-in script changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moves {
    /// Accounts, tellers, branches and history by the same amount.
    All,
    /// Accounts and history.
    Accounts,
    /// Nothing.
    Nothing,
}

/// All built-in scripts.
pub const BUILTINS: [Builtin; 3] = [
    Builtin {
        name: "tpcb-like",
        title: "<builtin: TPC-B (sort of)>",
        text: "\
\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
",
        moves: Moves::All,
    },
    Builtin {
        name: "simple-update",
        title: "<builtin: simple update>",
        text: "\
\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
",
        moves: Moves::Accounts,
    },
    Builtin {
        name: "select-only",
        title: "<builtin: select only>",
        text: "\
\\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
",
        moves: Moves::Nothing,
    },
];

impl Builtin {
    /// The script with this name, or the only one whose name begins with it.
    pub fn named(name: &str) -> Result<Builtin, ScriptError> {
        let mut found = BUILTINS.iter().filter(|one| one.name.starts_with(name));
        let names = BUILTINS.map(|one| one.name).join(", ");
        let refused = |what: String| Err(ScriptError::Choice(what));
        match (found.next(), found.next()) {
            (Some(only), None) if !name.is_empty() => Ok(*only),
            (None, _) => {
                refused(format!("there is no built-in script \"{name}\"; there are: {names}"))
            }
            _ => refused(format!(
                "several built-in scripts begin with \"{name}\"; there are: {names}"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Builtin;

    #[test]
    fn an_unambiguous_prefix_is_enough() {
        let named = |name: &str| Builtin::named(name).map(|one| one.name);
        for (typed, name) in [
            ("tpcb-like", "tpcb-like"),
            ("t", "tpcb-like"),
            ("si", "simple-update"),
            ("select", "select-only"),
        ] {
            assert_eq!(named(typed), Ok(name));
        }
        for (typed, why) in [("s", "several"), ("", "several"), ("zz", "no built-in")] {
            assert!(named(typed).unwrap_err().to_string().contains(why), "{typed}");
        }
    }
}
