//! Which scripts run, how often, and with which variables: options as given, scripts as read.

use super::builtin::{Builtin, Moves};
use super::check::Sums;
use super::command::Script;
use super::error::{ScriptError, Source};
use super::parse::{Shared, parse};
use super::tables::Tables;
use super::value::VariableValue;
use super::variables::{Names, is_name};
use crate::error::Error;
use std::path::Path;
use std::sync::OnceLock;
use syncline_contract::{
    Any, Many, OptionArgs, OptionListing, Plan, Protocol, Write, options, read_named_text, words,
};

/// The most bytes of a script.
const SCRIPT_MAX: u64 = 64 << 20;

/// The word for no scripts of a kind.
const NONE: &str = "none";

options! {
    /// Which scripts run, and on whose tables.
    #[derive(Clone, Debug)]
    pub(super) struct Choice {
        pub(super) file: String as "files as a.sql,b.sql@3" = "none",
            "pgbench scripts, each with its weight behind an @";
        pub(super) builtin: String as "tpcb-like, simple-update or select-only, several as tpcb-like@3,select-only" = "tpcb-like",
            "built-in scripts; none if there is a file";
        pub(super) order: String as "a letter a script, f for a file and b for a built-in one, such as bfb" = "none",
            "in which order scripts are numbered; none numbers the files, then the built-in scripts";
        pub(super) owner ("tables"): Owner = "run",
            "whose tables scripts find that name pgbench's: made and filled for the run, or the user's own \
             as they are, whose sums are not checked";
        pub(super) scale: u64 as "a whole number from 1 to 20000" = 1 in 1..=2_147_483_648,
            "branches in pgbench's tables, with 10 tellers and 100,000 accounts each";
        pub(super) define: String as "variables as a=1,b=2" = "none",
            "what scripts find in variables that they do not set";
        pub(super) protocol: Protocol = "prepared",
            "how statements are sent: prepared once; read by the server each time; or as one text with the \
             values in it";
        pub(super) checks ("check"): Checks = "sums",
            "whether built-in scripts' balances must agree, or on rows that stay what they grow by";
    }
}

/// What a user may choose, its scripts read.
#[derive(Debug)]
pub struct Options {
    pub(super) choice: Choice,
    /// The scripts.
    pub(super) program: Program,
}

words! {
    /// Whose tables scripts find that name pgbench's.
    pub(super) enum Owner {
        /// The run makes and fills them, or finds those of an earlier run.
        Run = "run",
        /// They are the user's own: nothing is made, and nothing is known of what they hold.
        User = "user",
    }
}

/// The scripts of a run and their plan.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) plan: Plan,
    pub(super) names: Names,
    /// Words in quotes that would be variables if a stored answer gave one of that name, with what is
    /// wrong then; none by the simple protocol, where a quoted word stays text.
    pub(super) quoted: Vec<(String, ScriptError)>,
    /// In the order of their transactions; every weight is above zero.
    pub(super) scripts: Vec<Script>,
    /// What each script moves; none for a user's.
    pub(super) moves: Vec<Option<Moves>>,
    pub(super) weight: u64,
    /// How many statements there are in all.
    pub(super) statements: usize,
    pub(super) given: Vec<(String, VariableValue)>,
    pub(super) tables: Option<Tables>,
    /// Those tables of pgbench's that some statement names.
    pub(super) tables_named: Vec<&'static str>,
    /// The sums that the checks ask for, if they look at balances.
    pub(super) sums: Option<Sums>,
    /// What begins and commits a request of several statements; none without such.
    pub(super) brackets: Option<[Write<Many<Any>>; 2]>,
}

impl Options {
    /// The options for a listing.
    pub const LISTING: &'static [OptionListing] = Choice::LISTING;

    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        let implied = match given.plain::<String>("file")?.as_str() {
            NONE => &[][..],
            _ => &[("builtin", NONE)],
        };
        let choice = Choice::read(&given.with_defaults(implied))?;
        // The user's own tables are as large as they are.
        if choice.owner == Owner::Run && choice.scale > 20_000 {
            return Err(given.refuse("scale").into());
        }
        let program = Program::read(&choice)?;
        Ok(Options { choice, program })
    }
}

words! {
    /// Whether the balances are looked at.
    pub(super) enum Checks {
        /// Their sums.
        Sums = "sums",
        /// They are not.
        None = "none",
    }
}

impl Program {
    fn read(chosen: &Choice) -> Result<Program, ScriptError> {
        let mut shared = Shared::default();
        shared.plan.protocol = chosen.protocol;
        let given = defined(&chosen.define)?;
        for name in ["client_id", "default_seed", "random_seed", "scale"] {
            shared.names.give(name);
        }
        for (name, _) in &given {
            shared.names.give(name);
        }
        let (mut scripts, mut moves) = (Vec::new(), Vec::new());
        for (kind, name, weight) in ordered(chosen)? {
            match kind {
                Kind::File => {
                    let text = text_of(&name)?;
                    let source = Source { name: &name, text: &text };
                    scripts.push(parse(source, weight, &mut shared)?);
                    moves.push(None);
                }
                Kind::BuiltIn => {
                    let Builtin { name, text, moves: own, .. } = Builtin::named(&name)?;
                    scripts.push(parse(Source { name, text }, weight, &mut shared)?);
                    moves.push(Some(own));
                }
            }
        }
        Program::of(scripts, moves, shared, given, chosen)
    }

    fn of(
        scripts: Vec<Script>,
        moves: Vec<Option<Moves>>,
        shared: Shared,
        given: Vec<(String, VariableValue)>,
        chosen: &Choice,
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
        let makes = !shared.tables_named.is_empty() && chosen.owner == Owner::Run;
        let tables = makes.then(|| Tables::declare(&mut plan));
        let sums = chosen.checks == Checks::Sums && moves.iter().all(Option::is_some);
        let sums = tables.filter(|_| sums).map(|tables| Sums::declare(&mut plan, tables));
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
            tables_named: shared.tables_named,
            sums,
            brackets,
        })
    }
}

/// An item as written in a list: commas and backslashes in it are escaped with a backslash.
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

/// Where a script comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    BuiltIn,
}

/// The scripts in the order of their numbers, each with its weight.
fn ordered(chosen: &Choice) -> Result<Vec<(Kind, String, u64)>, ScriptError> {
    let mut files = weighted(&chosen.file)?.into_iter();
    let mut builtins = weighted(&chosen.builtin)?.into_iter();
    let mut scripts = Vec::new();
    let order = Some(chosen.order.as_str()).filter(|order| *order != NONE);
    for letter in order.unwrap_or_default().chars() {
        let next = match letter {
            'f' => files.next().map(|(name, weight)| (Kind::File, name, weight)),
            'b' => builtins.next().map(|(name, weight)| (Kind::BuiltIn, name, weight)),
            _ => None,
        };
        scripts.extend(next);
    }
    let named = order.map_or(0, str::len);
    let left = files.map(|(name, weight)| (Kind::File, name, weight));
    let left = left.chain(builtins.map(|(name, weight)| (Kind::BuiltIn, name, weight)));
    let left: Vec<_> = left.collect();
    if scripts.len() != named || named > 0 && !left.is_empty() {
        return Err(ScriptError::Choice(format!(
            "the order \"{}\" is not a letter for each script: f for a file, b for a built-in one",
            chosen.order
        )));
    }
    scripts.extend(left);
    Ok(scripts)
}

/// The text of a script's file; of `-` that of standard input, which can be read only once.
fn text_of(name: &str) -> Result<String, ScriptError> {
    static INPUT: OnceLock<Result<String, String>> = OnceLock::new();
    let text = if name == "-" {
        INPUT
            .get_or_init(|| {
                read_named_text(Path::new("/dev/stdin"), SCRIPT_MAX).map_err(|why| why.to_string())
            })
            .clone()
    } else {
        read_named_text(Path::new(name), SCRIPT_MAX).map_err(|why| why.to_string())
    };
    text.map_err(|why| ScriptError::Unreadable { file: name.to_owned(), why })
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
            || format!("\"{one}\" is not a script or a script with its weight, such as a.sql@3");
        let weight = weight.ok_or_else(|| ScriptError::Choice(wrong()))?;
        Ok((name.to_owned(), weight))
    });
    each.collect()
}

/// Names and values of `a=1,b=2`; none of "none".
fn defined(list: &str) -> Result<Vec<(String, VariableValue)>, ScriptError> {
    if list == NONE {
        return Ok(Vec::new());
    }
    let each = parts(list).into_iter().map(|one| {
        let pair = one.split_once('=').filter(|(name, _)| is_name(name));
        let wrong = || format!("\"{one}\" is not a variable with its value, such as a=1");
        let (name, value) = pair.ok_or_else(|| ScriptError::Choice(wrong()))?;
        Ok((name.to_owned(), VariableValue::given(value)))
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::{Choice, Kind, as_item, ordered, parts};
    use syncline_contract::Protocol;

    /// f09.
    #[test]
    fn scripts_are_numbered_in_the_order_that_was_asked_for() {
        let of = |order: &str| {
            let chosen = Choice {
                file: "a.sql@2,b.sql".to_owned(),
                builtin: "select-only,tpcb-like@3".to_owned(),
                order: order.to_owned(),
                protocol: Protocol::Simple,
                ..Choice::default()
            };
            let scripts = ordered(&chosen).map_err(|why| why.to_string())?;
            let scripts = scripts.into_iter().map(|(kind, name, weight)| {
                let kind = if kind == Kind::File { 'f' } else { 'b' };
                format!("{kind} {name} {weight}")
            });
            Ok::<_, String>(scripts.collect::<Vec<_>>())
        };
        let (a, b) = ("f a.sql 2", "f b.sql 1");
        let (select, tpcb) = ("b select-only 1", "b tpcb-like 3");
        assert_eq!(of("none").unwrap(), [a, b, select, tpcb]);
        assert_eq!(of("bffb").unwrap(), [select, a, b, tpcb]);
        for wrong in ["bf", "bfbfb", "bfxfb", "bbbb", "fffbb"] {
            assert!(of(wrong).unwrap_err().contains("not a letter for each script"), "{wrong}");
        }
    }

    #[test]
    fn an_item_with_commas_and_backslashes_comes_back() {
        let items = ["a=1,2", "b=x\\", "c=\\,\\\\", "plain"];
        let list: Vec<_> = items.iter().map(|item| as_item(item)).collect();
        assert_eq!(parts(&list.join(",")), items);
        assert_eq!(parts("a=\\d,b"), ["a=\\d", "b"], "other backslashes stay");
    }
}
