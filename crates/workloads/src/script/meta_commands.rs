//! Parses the commands that begin with a backslash into steps of a script.

use super::command::{Action, Amount, Store, Word};
use super::error::{ScriptError, Source};
use super::expression::{self, Expression};
use super::lexer::Meta;
use super::parse::{Branch, Parser};
use super::variables::{Slot, is_name};
use std::ops::Range;
use syncline_contract::Protocol;

/// The units of `\sleep` in nanoseconds.
const UNITS: [(&str, u64); 3] = [("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
/// An argument of a command and its offset.
type Argument<'t> = (usize, &'t str);

impl<'t> Parser<'t, '_> {
    /// Parses a command.
    pub(super) fn meta(&mut self, meta: &Meta) -> Result<(), ScriptError> {
        match meta.name.as_str() {
            "set" => self.set(meta),
            "if" => self.if_(meta),
            "elif" => self.elif(meta),
            "else" => self.else_(meta),
            "endif" => self.endif(meta),
            "gset" => self.store(meta, Store::One),
            "aset" => self.store(meta, Store::Each),
            "sleep" => self.sleep(meta),
            "shell" => self.shell(meta),
            "setshell" => self.setshell(meta),
            "startpipeline" => {
                self.shared.pipelines = true;
                self.pipeline(meta, Action::StartPipeline, false, true)
            }
            "syncpipeline" => self.pipeline(meta, Action::SyncPipeline, true, true),
            "endpipeline" => self.pipeline(meta, Action::EndPipeline, true, false),
            other => {
                let what = format!("there is no command \\{other}");
                Err(self.source.error(meta.at, what))
            }
        }
    }

    fn error(&self, meta: &Meta, what: &str) -> ScriptError {
        let what = format!("\\{} {what}", meta.name);
        self.source.error(meta.at, what)
    }

    fn arguments(&self, meta: &Meta) -> Vec<Argument<'t>> {
        words(self.source, meta.rest.clone())
    }

    fn none(&self, meta: &Meta) -> Result<(), ScriptError> {
        match self.arguments(meta).first() {
            None => Ok(()),
            Some((at, _)) => {
                let what = format!("\\{} takes no argument", meta.name);
                Err(self.source.error(*at, what))
            }
        }
    }

    fn expression(&mut self, range: Range<usize>) -> Result<Expression, ScriptError> {
        expression::parse(self.source, range, &mut self.shared.names)
    }

    fn variable(&mut self, (at, name): Argument<'t>) -> Result<Slot, ScriptError> {
        if is_name(name) {
            return Ok(self.shared.names.give(name));
        }
        let what = format!(
            "\"{name}\" is not a valid name of a variable: use letters, digits and _, no digit first"
        );
        Err(self.source.error(at, what))
    }

    fn set(&mut self, meta: &Meta) -> Result<(), ScriptError> {
        let Some((at, name)) = self.arguments(meta).first().copied() else {
            return Err(self.error(meta, "takes a variable and an expression"));
        };
        let slot = self.variable((at, name))?;
        let expression = self.expression(at + name.len()..meta.rest.end)?;
        self.step(meta.at, Action::Set(slot, expression));
        Ok(())
    }

    fn if_(&mut self, meta: &Meta) -> Result<(), ScriptError> {
        let condition = self.expression(meta.rest.clone())?;
        self.branches.push(Branch {
            at: meta.at,
            unless: Some(self.steps.len()),
            ends: Vec::new(),
        });
        self.step(meta.at, Action::Unless(condition, usize::MAX));
        Ok(())
    }

    fn elif(&mut self, meta: &Meta) -> Result<(), ScriptError> {
        let condition = self.expression(meta.rest.clone())?;
        self.otherwise(meta)?;
        let unless = self.steps.len();
        self.step(meta.at, Action::Unless(condition, usize::MAX));
        let branch = self.branches.last_mut().expect("it was checked above");
        branch.unless = Some(unless);
        Ok(())
    }

    fn else_(&mut self, meta: &Meta) -> Result<(), ScriptError> {
        self.none(meta)?;
        self.otherwise(meta)
    }

    /// Ends the previous branch, and makes its condition lead here.
    fn otherwise(&mut self, meta: &Meta) -> Result<(), ScriptError> {
        let Some(branch) = self.branches.last_mut() else {
            return Err(self.error(meta, "has no matching \\if"));
        };
        let Some(unless) = branch.unless.take() else {
            return Err(self.error(meta, "comes after an \\else"));
        };
        branch.ends.push(self.steps.len());
        self.step(meta.at, Action::Goto(usize::MAX));
        self.lead(unless);
        Ok(())
    }

    fn endif(&mut self, meta: &Meta) -> Result<(), ScriptError> {
        self.none(meta)?;
        let Some(branch) = self.branches.pop() else {
            return Err(self.error(meta, "has no matching \\if"));
        };
        for step in branch.ends.into_iter().chain(branch.unless) {
            self.lead(step);
        }
        Ok(())
    }

    /// Makes a step jump to the next step.
    fn lead(&mut self, step: usize) {
        let here = self.steps.len();
        match &mut self.steps[step].action {
            Action::Unless(_, to) | Action::Goto(to) => *to = here,
            other => unreachable!("{other:?} has no target"),
        }
    }

    fn store(&mut self, meta: &Meta, store: impl Fn(String) -> Store) -> Result<(), ScriptError> {
        let arguments = self.arguments(meta);
        if let Some((at, _)) = arguments.get(1) {
            let what = format!("\\{} takes at most one argument", meta.name);
            return Err(self.source.error(*at, what));
        }
        if self.in_pipeline {
            return Err(
                self.error(meta, "cannot be used in a pipeline, whose answers come at its end")
            );
        }
        let prefix = arguments.first().map_or("", |(_, prefix)| prefix);
        if let Some((at, prefix)) = arguments.first()
            && !is_name(prefix)
        {
            let what = format!("no valid name of a variable begins with \"{prefix}\"");
            return Err(self.source.error(*at, what));
        }
        match self.steps.last_mut().map(|step| &mut step.action) {
            Some(Action::Request(request)) if request.store == Store::Nothing => {
                request.store = store(prefix.to_owned());
                Ok(())
            }
            _ => Err(self.error(meta, "follows no statement")),
        }
    }

    fn sleep(&mut self, meta: &Meta) -> Result<(), ScriptError> {
        let arguments = self.arguments(meta);
        let Some((at, amount)) = arguments.first().copied() else {
            return Err(self.error(meta, "takes a time, and a unit: us, ms or s"));
        };
        if let Some((at, _)) = arguments.get(2) {
            return Err(self.source.error(*at, "\\sleep takes a time and a unit"));
        }
        let (number, glued) = match amount.find(|sign: char| sign.is_ascii_alphabetic()) {
            Some(unit) if !amount.starts_with(':') => amount.split_at(unit),
            _ => (amount, ""),
        };
        if number.is_empty() {
            let what = format!("\"{amount}\" is not an integer");
            return Err(self.source.error(at, what));
        }
        let unit = match (glued, arguments.get(1)) {
            ("", Some(unit_given)) => *unit_given,
            ("", None) => (at, "s"),
            (_, None) => (at + number.len(), glued),
            (_, Some((at, _))) => {
                return Err(self.source.error(*at, "\\sleep has two units"));
            }
        };
        let known = UNITS.iter().find(|(word, _)| word.eq_ignore_ascii_case(unit.1));
        let Some((_, unit_ns)) = known else {
            let what = format!("\"{}\" is not a unit of \\sleep: use us, ms or s", unit.1);
            return Err(self.source.error(unit.0, what));
        };
        let amount = if let Some(name) = number.strip_prefix(':') {
            Amount::Times(self.shared.names.slot(name), *unit_ns)
        } else {
            let length = number.parse().ok();
            let length = length.and_then(|count: u64| count.checked_mul(*unit_ns));
            let wrong = || {
                let what = format!("\"{number}\" is not an integer");
                self.source.error(at, what)
            };
            Amount::Fixed(length.ok_or_else(wrong)?)
        };
        self.step(meta.at, Action::Sleep(amount));
        Ok(())
    }

    fn shell(&mut self, meta: &Meta) -> Result<(), ScriptError> {
        let arguments = self.arguments(meta);
        if arguments.is_empty() {
            return Err(self.error(meta, "takes a command"));
        }
        let words = self.shell_words(&arguments);
        self.step(meta.at, Action::Shell(words, None));
        Ok(())
    }

    fn setshell(&mut self, meta: &Meta) -> Result<(), ScriptError> {
        let arguments = self.arguments(meta);
        let [variable, command @ ..] = &arguments[..] else {
            return Err(self.error(meta, "takes a variable and a command"));
        };
        if command.is_empty() {
            return Err(self.error(meta, "takes a variable and a command"));
        }
        let slot = self.variable(*variable)?;
        let words = self.shell_words(command);
        self.step(meta.at, Action::Shell(words, Some(slot)));
        Ok(())
    }

    /// `:name` is a variable, `::name` is the text `:name`.
    fn shell_words(&mut self, arguments: &[Argument<'t>]) -> Vec<Word> {
        let names = &mut self.shared.names;
        let words = arguments.iter().map(|(_, word)| match word.strip_prefix(':') {
            Some(name) if name.starts_with(':') => Word::Text(name.to_owned()),
            Some(name) => Word::Variable(names.slot(name)),
            None => Word::Text((*word).to_owned()),
        });
        words.collect()
    }

    fn pipeline(
        &mut self,
        meta: &Meta,
        action: Action,
        inside: bool,
        then: bool,
    ) -> Result<(), ScriptError> {
        self.none(meta)?;
        if self.shared.plan.protocol == Protocol::Simple {
            return Err(self.error(meta, "needs the extended or the prepared protocol"));
        }
        // The effect of branches is only known at run time; outside them the order of lines decides.
        if self.branches.is_empty() && self.in_pipeline != inside {
            let what = if inside { "is outside a pipeline" } else { "is inside a pipeline" };
            return Err(self.error(meta, what));
        }
        self.in_pipeline = then;
        self.step(meta.at, action);
        Ok(())
    }
}

/// The words of a command's line, with their offsets.
fn words(source: Source<'_>, range: Range<usize>) -> Vec<Argument<'_>> {
    let line = &source.text[range.clone()];
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(blank) = line[from..].find(|sign: char| !sign.is_whitespace()) {
        let begin = from + blank;
        let length = line[begin..].find(char::is_whitespace);
        let end = length.map_or(line.len(), |length| begin + length);
        // A backslash before the end of the line is not part of a word.
        let goes_on = line[end..].starts_with('\n') || line[end..].starts_with("\r\n");
        let word = &line[begin..end];
        let word = if goes_on { word.strip_suffix('\\').unwrap_or(word) } else { word };
        if !word.is_empty() {
            found.push((range.start + begin, word));
        }
        from = end;
    }
    found
}
