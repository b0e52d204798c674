//! Passwords leave the command line before anything else happens.
//!
//! Whoever may list processes reads command lines, but not the environment of another user's. So a
//! password in a URL moves into a variable of our environment, `${SYNCLINE_PASSWORD_1}` takes its place,
//! and the program runs itself again with that command line. For the moment before it was to be read:
//! `password-file=`, the product's own variable or `${NAME}` never show it.

use crate::terminal;
use std::os::unix::process::CommandExt;
use std::process::Command;
use syncline_targets::server::{shown, without_secrets};

/// Runs the program again without passwords in its command line; returns if there were none.
pub(crate) fn hide() {
    let mut taken = Vec::new();
    let mut arguments = Vec::new();
    for argument in std::env::args_os() {
        let Some(text) = argument.to_str().filter(|text| holds_url(text)) else {
            arguments.push(argument);
            continue;
        };
        let numbers = &mut (taken.len() + 1..);
        let (hidden, found) = without_secrets(text, || {
            let number = numbers.next().unwrap_or_default();
            format!("SYNCLINE_PASSWORD_{number}")
        });
        taken.extend(found);
        arguments.push(hidden.into());
    }
    if taken.is_empty() {
        return;
    }
    let mut again = Command::new("/proc/self/exe");
    if let Some(name) = arguments.first() {
        again.arg0(name);
    }
    again.args(arguments.iter().skip(1)).envs(taken);
    let error = again.exec();
    terminal::warn(&format!(
        "the password stays visible in the process list, since the program cannot run itself again \
         ({error}): give it by password-file= or by the environment"
    ));
}

fn holds_url(argument: &str) -> bool {
    argument.contains("://") || argument.contains("jdbc:")
}

/// The command line as records keep it.
pub(crate) fn command_line() -> String {
    let shown = std::env::args().map(|argument| {
        if holds_url(&argument) {
            shown(&argument)
        } else {
            argument
        }
    });
    shown.collect::<Vec<_>>().join(" ")
}
