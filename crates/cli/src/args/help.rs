//! The layout of `--help`: commands in groups, and notes and examples at the end, where a terminal shows
//! them.
//!
//! 1. Each command that is not hidden is in exactly one of [`GROUPS`].
//! 2. In definitions, `before_help` holds the examples and `after_help` the notes. `--help` prints both after
//!    the options, the examples last; the manual pages print them as sections.

use clap::Command;
use clap::builder::{Resettable, StyledStr};

/// The commands by purpose.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Measure", &["survey", "probe", "run", "observe", "model"]),
    ("Verify", &["verify"]),
    ("Read results", &["show", "compare", "list"]),
    ("Commands of other tools", &["pgbench", "sysbench", "ycsb"]),
    ("Servers", &["private", "clean"]),
    ("Databases of the engine", &["engine"]),
    ("Shell", &["completions", "manual"]),
];

/// The URL of the project's pages, from its manifest; empty before it is published.
const DOCUMENTATION: &str = env!("CARGO_PKG_REPOSITORY");

/// Moves the examples of each command behind its options and notes.
pub(super) fn examples_last(command: Command) -> Command {
    let text = |help: Option<&StyledStr>| help.map(ToString::to_string);
    let examples = text(command.get_before_help());
    let notes = text(command.get_after_help());
    let after: Vec<String> = notes.into_iter().chain(examples).collect();
    let command = if after.is_empty() {
        command
    } else {
        command.before_help(Resettable::<StyledStr>::Reset).after_help(after.join("\n\n"))
    };
    command.mut_subcommands(examples_last)
}

/// Replaces the single list of commands by groups.
pub(super) fn grouped(command: Command) -> Command {
    let mut verbs = String::new();
    for (title, names) in GROUPS {
        verbs += &format!("{title}:\n");
        for name in names {
            let verb = command.find_subcommand(name);
            let about = verb.and_then(Command::get_about);
            let about = about.map_or_else(String::new, ToString::to_string);
            verbs += &entry(name, &about);
        }
        verbs.push('\n');
    }
    let more = if DOCUMENTATION.is_empty() {
        String::new()
    } else {
        format!("\n\nDocumentation: {DOCUMENTATION}")
    };
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{verbs}Options:\n{{options}}{{after-help}}{more}\n"
    );
    command.help_template(template)
}

/// A command and its purpose, in lines that fit a terminal of 80 columns.
fn entry(name: &str, about: &str) -> String {
    const INDENT: usize = 15;
    const WIDTH: usize = 80;
    let mut lines = format!("  {name:<12}");
    let mut column = INDENT - 1;
    for word in about.split(' ') {
        if column + 1 + word.chars().count() > WIDTH {
            lines += &format!("\n{:1$}", "", INDENT - 1);
            column = INDENT - 1;
        }
        lines += &format!(" {word}");
        column += 1 + word.chars().count();
    }
    lines + "\n"
}

#[cfg(test)]
mod tests {
    use super::GROUPS;
    use crate::args::command;
    use std::collections::BTreeSet;

    #[test]
    fn each_verb_is_in_exactly_one_group() {
        let command = command();
        let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let verbs: Vec<&str> = verbs.map(clap::Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        assert_eq!(grouped.len(), verbs.len());
        let set = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        assert_eq!(set(&grouped), set(&verbs));
        let help = command.clone().render_help().to_string();
        for (title, _) in GROUPS {
            assert!(help.contains(&format!("\n{title}:\n")), "{help}");
        }
        let listed = help.split("Options:").next().unwrap_or_default();
        let verbs = listed.lines().skip_while(|line| !line.starts_with("Measure"));
        assert!(verbs.clone().count() > 15, "{help}");
        assert!(verbs.into_iter().all(|line| line.chars().count() <= 80), "{help}");
    }
}
