//! Which scripts run, how often, and with which variables: options as given, scripts as read.

use super::builtin::{Builtin, Moves};
use super::check::Sums;
use super::command::Script;
use super::error::{ScriptError, Source};
use super::parse::{Shared, parse};
use super::tables::Tables;
use super::value::Held;
use super::variables::{Names, is_name};
use crate::error::Error;
use syncline_contract::{Any, Given, Many, OptionListing, Plan, Protocol, Write};

/// The word for no scripts of a kind.
const NONE: &str = "none";

/// What a user may choose, its scripts read.
#[derive(Debug)]
pub struct Options {
    /// Files with their weights, as given, or "none".
    pub(super) file: String,
    /// Built-in scripts with their weights, as given, or "none".
    pub(super) builtin: String,
    /// Branches of the tables.
    pub(super) scale: u64,
    /// Variables, as given, or "none".
    pub(super) define: String,
    /// Whether the balances are looked at.
    pub(super) checks: bool,
    /// The scripts.
    pub(super) program: Program,
}

/// The scripts of a run and their plan.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) plan: Plan,
    pub(super) names: Names,
    /// Words in quotes that would be variables if a stored answer gave one of that name, with what is
    /// wrong then; none by the simple protocol, where text stands for text.
    pub(super) quoted: Vec<(String, ScriptError)>,
    /// In the order of their transactions; none weighs nothing.
    pub(super) scripts: Vec<Script>,
    /// What each script moves; none for a user's.
    pub(super) moves: Vec<Option<Moves>>,
    pub(super) weight: u64,
    /// How many statements there are in all.
    pub(super) statements: usize,
    pub(super) given: Vec<(String, Held)>,
    pub(super) tables: Option<Tables>,
    /// The sums that the checks ask for, if they look at balances.
    pub(super) sums: Option<Sums>,
    /// What begins and commits a request of several statements; none without such.
    pub(super) brackets: Option<[Write<Many<Any>>; 2]>,
}

impl Options {
    /// The options for a listing.
    pub const LISTING: &'static [OptionListing] = &[
        OptionListing {
            name: "file",
            takes: "files as a.sql,b.sql@3",
            default: "none",
            meaning: "pgbench scripts, each with its weight behind an @",
        },
        OptionListing {
            name: "builtin",
            takes: "tpcb-like, simple-update or select-only, several as tpcb-like@3,select-only",
            default: "tpcb-like",
            meaning: "built-in scripts; none if there is a file",
        },
        OptionListing {
            name: "scale",
            takes: "a whole number from 1 to 20000",
            default: "1",
            meaning: "branches in pgbench's tables, with 10 tellers and 100,000 accounts each",
        },
        OptionListing {
            name: "define",
            takes: "variables as a=1,b=2",
            default: "none",
            meaning: "what scripts find in variables that they do not set",
        },
        OptionListing {
            name: "protocol",
            takes: "prepared, extended or simple",
            default: "prepared",
            meaning: "how statements are sent: prepared once; read by the server each time; or as one text \
                      with the values in it",
        },
        OptionListing {
            name: "check",
            takes: "sums or none",
            default: "sums",
            meaning: "whether built-in scripts' balances must agree, or on rows that stay what they grow by",
        },
    ];

    pub(crate) fn parse(given: &Given<'_>) -> Result<Options, Error> {
        let text = |option| given.parsed(option, |text| Some(text.to_owned()));
        let file = text("file")?.unwrap_or_else(|| NONE.to_owned());
        let fallback = if file == NONE { "tpcb-like" } else { NONE };
        let builtin = text("builtin")?.unwrap_or_else(|| fallback.to_owned());
        let define = text("define")?.unwrap_or_else(|| NONE.to_owned());
        let scale = given.number("scale", 1..=20_000)?.unwrap_or(1);
        let checks = given.word("check", &[true, false], check_word)?;
        let checks = checks.unwrap_or(true);
        let protocol = given.word("protocol", &Protocol::ALL, Protocol::word)?;
        let protocol = protocol.unwrap_or_default();
        let program = Program::read(&file, &builtin, &define, protocol, checks)?;
        Ok(Options {
            file,
            builtin,
            scale,
            define,
            checks,
            program,
        })
    }
}

pub(super) fn check_word(checks: bool) -> &'static str {
    if checks { "sums" } else { NONE }
}

impl Program {
    fn read(
        file: &str,
        builtin: &str,
        define: &str,
        protocol: Protocol,
        checks: bool,
    ) -> Result<Program, ScriptError> {
        let mut shared = Shared::default();
        shared.plan.protocol = protocol;
        let given = defined(define)?;
        for name in ["client_id", "default_seed", "random_seed", "scale"] {
            shared.names.give(name);
        }
        for (name, _) in &given {
            shared.names.give(name);
        }
        let (mut scripts, mut moves) = (Vec::new(), Vec::new());
        for (name, weight) in weighted(file)? {
            let text = std::fs::read_to_string(&name).map_err(|error| ScriptError::Unreadable {
                file: name.clone(),
                why: error.to_string(),
            })?;
            let source = Source {
                name: &name,
                text: &text,
            };
            scripts.push(parse(source, weight, &mut shared)?);
            moves.push(None);
        }
        for (name, weight) in weighted(builtin)? {
            let Builtin {
                name,
                text,
                moves: own,
                ..
            } = Builtin::named(&name)?;
            scripts.push(parse(Source { name, text }, weight, &mut shared)?);
            moves.push(Some(own));
        }
        Program::of(scripts, moves, shared, given, checks)
    }

    fn of(
        scripts: Vec<Script>,
        moves: Vec<Option<Moves>>,
        shared: Shared,
        given: Vec<(String, Held)>,
        checks: bool,
    ) -> Result<Program, ScriptError> {
        let refused = |what: &str| Err(ScriptError::Choice(what.to_owned()));
        let kept = scripts.into_iter().zip(moves);
        let (scripts, moves): (Vec<_>, Vec<_>) = kept.filter(|(one, _)| one.weight > 0).unzip();
        if scripts.is_empty() {
            return refused("no script is left to run: name one, with a weight above zero");
        }
        if scripts.iter().any(|script| script.steps.is_empty()) {
            return refused("a script has no commands, so there would be nothing to measure");
        }
        let names = shared.names;
        let simple = shared.plan.protocol == Protocol::Simple;
        let mut quoted = shared.quoted;
        quoted.retain(|_| !simple);
        if let Some(place) = quoted.iter().position(|(name, _)| names.is_given(name)) {
            return Err(quoted.swap_remove(place).1);
        }
        let mut plan = shared.plan;
        // As pgbench does, one statement a round trip, unless a script asks for pipelines.
        plan.pipeline = shared.pipelines;
        let tables = shared.own_tables.then(|| Tables::declare(&mut plan));
        let sums = checks && moves.iter().all(Option::is_some);
        let sums = tables
            .filter(|_| sums)
            .map(|tables| Sums::declare(&mut plan, tables));
        // By the simple protocol a request of several statements is one text, and a transaction as such.
        let brackets = (shared.compounds && !simple)
            .then(|| ["BEGIN", "COMMIT"].map(|text| plan.command(text, text.to_owned(), 0)));
        let weight = scripts.iter().map(|script| script.weight).sum();
        Ok(Program {
            plan,
            names,
            quoted,
            scripts,
            moves,
            weight,
            statements: shared.statements,
            given,
            tables,
            sums,
            brackets,
        })
    }
}

/// A list's item as it stands in a list: a comma in it, and a backslash, with a backslash before it.
pub fn as_item(text: &str) -> String {
    text.replace('\\', "\\\\").replace(',', "\\,")
}

/// The items of a list.
fn parts(list: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut signs = list.chars().peekable();
    while let Some(sign) = signs.next() {
        let escaped = signs.next_if(|next| sign == '\\' && matches!(next, ',' | '\\'));
        match (sign, escaped, parts.last_mut()) {
            (_, Some(escaped), Some(last)) => last.push(escaped),
            (',', None, _) => parts.push(String::new()),
            (sign, None, Some(last)) => last.push(sign),
            (_, _, None) => unreachable!("there is one from the beginning"),
        }
    }
    parts
}

/// Names and weights of `a@3,b`; none of "none".
fn weighted(list: &str) -> Result<Vec<(String, u64)>, ScriptError> {
    if list == NONE {
        return Ok(Vec::new());
    }
    let each = parts(list).into_iter().map(|one| {
        let (name, weight) = one.rsplit_once('@').unwrap_or((&one, "1"));
        let weight = weight.parse().ok().filter(|_| !name.is_empty());
        let weight = weight.filter(|weight: &u64| i32::try_from(*weight).is_ok());
        let wrong =
            || format!("\"{one}\" is no script, or no script and its weight, such as a.sql@3");
        let weight = weight.ok_or_else(|| ScriptError::Choice(wrong()))?;
        Ok((name.to_owned(), weight))
    });
    each.collect()
}

/// Names and values of `a=1,b=2`; none of "none".
fn defined(list: &str) -> Result<Vec<(String, Held)>, ScriptError> {
    if list == NONE {
        return Ok(Vec::new());
    }
    let each = parts(list).into_iter().map(|one| {
        let pair = one.split_once('=').filter(|(name, _)| is_name(name));
        let wrong = || format!("\"{one}\" is no variable and its value, such as a=1");
        let (name, value) = pair.ok_or_else(|| ScriptError::Choice(wrong()))?;
        Ok((name.to_owned(), Held::given(value)))
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::{as_item, parts};

    #[test]
    fn an_item_with_commas_and_backslashes_comes_back() {
        let items = ["a=1,2", "b=x\\", "c=\\,\\\\", "plain"];
        let list: Vec<_> = items.iter().map(|item| as_item(item)).collect();
        assert_eq!(parts(&list.join(",")), items);
        assert_eq!(parts("a=\\d,b"), ["a=\\d", "b"], "other backslashes stay");
    }
}
