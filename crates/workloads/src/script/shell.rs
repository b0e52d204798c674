//! `\shell` and `\setshell`: a command of the operating system's shell. It blocks the worker, and with it all
//! clients of that worker, until it has ended.

use super::command::Word;
use super::value::Refusal;
use super::variables::{Names, Values};
use std::process::{Command, Stdio};

/// Runs a command, which must succeed; its output is discarded.
pub(super) fn run(words: &[Word], names: &Names, values: &Values) -> Result<(), Refusal> {
    let text = joined(words, names, values)?;
    let status = shell(&text).stdout(Stdio::null()).status();
    let status = status.map_err(|error| format!("the shell cannot be started: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("the command \"{text}\" ended with {status}"))
    }
}

/// Runs a command whose first line of output is an integer.
pub(super) fn ask(words: &[Word], names: &Names, values: &Values) -> Result<i64, Refusal> {
    let text = joined(words, names, values)?;
    let output = shell(&text).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("the shell cannot be started: {error}"))?;
    let output_text = String::from_utf8_lossy(&output.stdout);
    let line = output_text.lines().next().unwrap_or_default().trim();
    line.parse().map_err(|_error| {
        format!("the command \"{text}\" printed \"{line}\", which is not an integer")
    })
}

/// Prefix of the environment variables that hold typed passwords.
const PASSWORD_PREFIX: &[u8] = b"SYNCLINE_PASSWORD_";

fn shell(text: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(text).stdin(Stdio::null());
    // The user's environment, as in pgbench, without the passwords that this program has added.
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(PASSWORD_PREFIX) {
            command.env_remove(name);
        }
    }
    command
}

fn joined(words: &[Word], names: &Names, values: &Values) -> Result<String, Refusal> {
    let mut text = String::new();
    for word in words {
        if !text.is_empty() {
            text.push(' ');
        }
        match word {
            Word::Text(literal) => text += literal,
            Word::Variable(slot) => {
                let unknown = || format!("the variable :{} has no value", names.name(*slot));
                text += &values.get(*slot).ok_or_else(unknown)?.to_string();
            }
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{ask, run};
    use crate::script::command::Word;
    use crate::script::value::VariableValue;
    use crate::script::variables::{Names, Values};

    #[test]
    fn a_command_takes_variables_and_answers_an_integer() {
        let mut names = Names::default();
        let (x, y) = (names.slot("x"), names.slot("y"));
        let mut values = Values::none_of(&names);
        values.set(x, VariableValue::given("41"));
        let words = |texts: &[&str]| -> Vec<Word> {
            let texts = texts.iter().map(|text| match *text {
                ":x" => Word::Variable(x),
                ":y" => Word::Variable(y),
                other => Word::Text(other.to_owned()),
            });
            texts.collect()
        };
        let output_text = ask(&words(&["expr", ":x", "+", "1"]), &names, &values);
        assert_eq!(output_text, Ok(42));
        assert_eq!(run(&words(&["test", ":x", "=", "41"]), &names, &values), Ok(()));
        for (texts, why) in [
            (&["echo", "x"][..], "not an integer"),
            (&["true"], "not an integer"),
            (&["echo", ":y"], ":y has no value"),
        ] {
            let refused = ask(&words(texts), &names, &values).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        let refused = run(&words(&["test", ":x", "=", "42"]), &names, &values);
        assert!(refused.unwrap_err().contains("ended with"));
    }
}
