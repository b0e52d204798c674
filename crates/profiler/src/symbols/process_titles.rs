//! The titles of processes in the process list, without the names of users and databases.
//!
//! PostgreSQL writes `postgres: [CLUSTER: ]KIND`, and for a client `postgres: [CLUSTER: ]USER DATABASE HOST
//! ACTIVITY`, where HOST is `[local]` or `ADDRESS(PORT)`. Titles of other programs may contain anything, so
//! they are not kept.

const PREFIX: &str = "postgres: ";
/// The kind of a process that serves a client.
const CLIENT: &str = "client backend";
/// The kind of a process that is not one of PostgreSQL's own.
const OTHER: &str = "background worker";
/// Prefixes of kinds; databases, files or processes follow them.
const KINDS: [&str; 20] = [
    "archiver",
    "autovacuum launcher",
    "autovacuum worker",
    "background writer",
    "checkpointer",
    "io worker",
    "logger",
    "logical replication apply worker",
    "logical replication launcher",
    "logical replication parallel apply worker",
    "logical replication tablesync worker",
    "logical replication worker",
    "parallel worker",
    "slotsync worker",
    "startup",
    "stats collector",
    "walreceiver",
    "walsender",
    "walsummarizer",
    "walwriter",
];

/// The title of a process from its command line, with arguments terminated by zeros; none if nothing of it
/// may be kept.
pub(super) fn title(command_line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(command_line);
    let words = text.trim_end_matches('\0').strip_prefix(PREFIX)?.trim_end();
    Some(format!("{PREFIX}{}", kind(words)))
}

fn kind(words: &str) -> &'static str {
    // The cluster's name may itself look like a kind, but not before its own colon.
    let pieces = [Some(words), words.split_once(": ").map(|(_, rest)| rest)];
    let known = pieces.iter().flatten().find_map(|words| {
        let begins = |kind: &&&str| {
            let rest = words.strip_prefix(**kind);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        KINDS.iter().find(begins)
    });
    if let Some(kind) = known {
        return kind;
    }
    let is_host = |word: &str| word == "[local]" || (word.contains('(') && word.ends_with(')'));
    if words.split(' ').any(is_host) { CLIENT } else { OTHER }
}

#[cfg(test)]
mod tests {
    use super::title;

    #[test]
    fn kinds_stay_and_names_go() {
        let titles = [
            ("postgres: walwriter ", Some("postgres: walwriter")),
            ("postgres: 15/main: checkpointer \0\0", Some("postgres: checkpointer")),
            ("postgres: autovacuum worker secret", Some("postgres: autovacuum worker")),
            ("postgres: syncline secret [local] SELECT", Some("postgres: client backend")),
            (
                "postgres: 15/main: syncline secret 127.0.0.1(50122) idle in transaction",
                Some("postgres: client backend"),
            ),
            ("postgres: parallel worker for PID 71 ", Some("postgres: parallel worker")),
            ("postgres: walsender repl 10.0.0.1(33) streaming", Some("postgres: walsender")),
            ("postgres: secret scheduler", Some("postgres: background worker")),
            ("/usr/lib/postgresql/15/bin/postgres\0-D\0/secret", None),
            ("sshd: secret@pts/0", None),
            ("", None),
        ];
        for (command_line, kept) in titles {
            assert_eq!(title(command_line.as_bytes()).as_deref(), kept);
        }
    }
}
