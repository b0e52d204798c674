//! How processes call themselves in the process list, without whom they serve.
//!
//! PostgreSQL writes `postgres: [CLUSTER: ]KIND`, and for a client `postgres: [CLUSTER: ]USER DATABASE
//! HOST ACTIVITY`, HOST being `[local]` or `ADDRESS(PORT)`. Titles of other programs may say anything,
//! so nothing of them is kept.

const PREFIX: &str = "postgres: ";
/// What a process is that serves a client.
const CLIENT: &str = "client backend";
/// What one is that PostgreSQL does not know itself.
const OTHER: &str = "background worker";
/// Kinds by how they begin; what follows them names databases, files or processes.
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

/// The title of a process by its command line, arguments ended by zeros; none where nothing of it may be
/// kept.
pub(super) fn title(command_line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(command_line);
    let said = text.trim_end_matches('\0').strip_prefix(PREFIX)?.trim_end();
    Some(format!("{PREFIX}{}", kind(said)))
}

fn kind(said: &str) -> &'static str {
    // The cluster's name may itself hold what looks like a kind, but not before its own colon.
    let pieces = [Some(said), said.split_once(": ").map(|(_, rest)| rest)];
    let known = pieces.iter().flatten().find_map(|said| {
        let begins = |kind: &&&str| {
            let rest = said.strip_prefix(**kind);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        KINDS.iter().find(begins)
    });
    if let Some(kind) = known {
        return kind;
    }
    let is_host = |word: &str| word == "[local]" || (word.contains('(') && word.ends_with(')'));
    if said.split(' ').any(is_host) { CLIENT } else { OTHER }
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
