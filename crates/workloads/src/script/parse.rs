//! Parses a script: its statements become operations of the plan, its commands steps
//! ([`super::meta_commands`]).

use super::command::{Action, Control, Handle, Request, Script, Statement, Step, Store};
use super::error::{ScriptError, Source};
use super::lexer::{Lexer, Piece, Raw};
use super::simple_query::SimpleQuery;
use super::statement::{answers, control, names_table};
use super::tables::TABLES;
use super::variables::Names;
use syncline_contract::{Plan, Protocol};

/// The state that the scripts of a run share during parsing.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) plan: Plan,
    pub(super) names: Names,
    /// Number of statements so far.
    pub(super) statements: usize,
    /// Words in quotes that look like variables, with the error to report if they are.
    pub(super) quoted: Vec<(String, ScriptError)>,
    /// True if some request contains several statements.
    pub(super) compounds: bool,
    /// True if some script has a pipeline.
    pub(super) pipelines: bool,
    /// The pgbench tables that statements name.
    pub(super) tables_named: Vec<&'static str>,
}

/// Parses a script.
pub(super) fn parse(
    source: Source<'_>,
    weight: u64,
    shared: &mut Shared,
) -> Result<Script, ScriptError> {
    let ends = source.text.match_indices('\n');
    let mut parser = Parser {
        source,
        line_ends: ends.map(|(at, _)| at).collect(),
        shared,
        steps: Vec::new(),
        branches: Vec::new(),
        in_pipeline: false,
    };
    let mut lexer = Lexer::new(source);
    while let Some(piece) = lexer.next()? {
        match piece {
            Piece::Request(statements) => parser.request(statements)?,
            Piece::Meta(meta) => parser.meta(&meta)?,
        }
    }
    if let Some(branch) = parser.branches.last() {
        return Err(source.error(branch.at, "this \\if has no \\endif"));
    }
    Ok(Script { name: source.name.to_owned(), weight, steps: parser.steps })
}

/// True for a COPY whose rows are sent over the connection.
fn copies_to_client(raw: &Raw) -> bool {
    let text = raw.text.to_ascii_uppercase();
    let mut words = text.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_');
    raw.words.first().is_some_and(|word| word == "COPY")
        && words.any(|word| matches!(word, "STDOUT" | "STDIN"))
}

/// An `\if` without its `\endif` yet.
pub(super) struct Branch {
    pub(super) at: usize,
    /// The step that jumps if its condition does not hold.
    pub(super) unless: Option<usize>,
    /// The steps that jump behind the `\endif`.
    pub(super) ends: Vec<usize>,
}

/// A parser at work on one script.
pub(super) struct Parser<'t, 's> {
    pub(super) source: Source<'t>,
    /// The positions of all line ends: counting them for each step would be quadratic.
    line_ends: Vec<usize>,
    pub(super) shared: &'s mut Shared,
    pub(super) steps: Vec<Step>,
    pub(super) branches: Vec<Branch>,
    pub(super) in_pipeline: bool,
}

impl Parser<'_, '_> {
    /// Adds a step at a byte offset.
    pub(super) fn step(&mut self, at: usize, action: Action) {
        let line = self.line(at);
        self.steps.push(Step { line, action });
    }

    /// The line of a byte offset, from 1.
    fn line(&self, at: usize) -> usize {
        1 + self.line_ends.partition_point(|end| *end < at)
    }

    fn request(&mut self, raws: Vec<Raw>) -> Result<(), ScriptError> {
        let at = raws[0].at;
        if let Some(raw) = raws.iter().find(|raw| copies_to_client(raw)) {
            let what = "COPY from or to the client is not supported, as in pgbench; name a file of the server";
            return Err(self.source.error(raw.at, what));
        }
        let statements: Vec<_> = raws.into_iter().map(|raw| self.statement(raw)).collect();
        let bare = |statement: &Statement| statement.control == Control::None;
        let whole = statements.len() > 1 && statements.iter().all(bare);
        self.shared.compounds |= whole;
        let request = Request { statements, store: Store::Nothing, whole };
        self.step(at, Action::Request(request));
        Ok(())
    }

    fn statement(&mut self, raw: Raw) -> Statement {
        let names = &mut self.shared.names;
        let simple = self.shared.plan.protocol == Protocol::Simple;
        let spoken = simple.then(|| SimpleQuery::of(&raw.written, names));
        let uses: Vec<_> = raw.uses.iter().map(|name| names.slot(name)).collect();
        for (name, at) in &raw.quoted {
            let what = format!(
                "the variable :{name} is in quotes, where a parameter cannot be used; join the parts by ||"
            );
            let error = self.source.error_in(self.line(*at), *at, what);
            self.shared.quoted.push((name.clone(), error));
        }
        for table in TABLES {
            if !self.shared.tables_named.contains(&table) && names_table(&raw.text, table) {
                self.shared.tables_named.push(table);
            }
        }
        let (control, answers) = (control(&raw.words), answers(&raw));
        let name = self.name(&raw);
        let plan = &mut self.shared.plan;
        // A text with inserted values is the only parameter.
        let (text, count) = if simple { (raw.written, 1) } else { (raw.text, uses.len()) };
        let handle = if answers {
            Handle::Read(plan.statement(name, text, count))
        } else {
            Handle::Write(plan.command(name, text, count))
        };
        self.shared.statements += 1;
        Statement { handle, uses, spoken, control, number: self.shared.statements - 1 }
    }

    /// A statement's name in messages and records: its place and its beginning.
    fn name(&self, raw: &Raw) -> String {
        const SIGNS: usize = 160;
        let line = self.line(raw.at);
        let text: Vec<_> = raw.written.split_whitespace().collect();
        let text = text.join(" ");
        let name = format!("{}:{line} {text}", self.source.name);
        match name.char_indices().nth(SIGNS) {
            Some((cut, _)) => format!("{}...", name[..cut].trim_end()),
            None => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Shared, parse};
    use crate::script::command::{Action, Amount, Control, Handle, Script, Store};
    use crate::script::error::Source;

    fn read(text: &str) -> (Script, Shared) {
        let mut shared = Shared::default();
        let source = Source { name: "s", text };
        let script = parse(source, 1, &mut shared).unwrap_or_else(|error| panic!("{error}"));
        (script, shared)
    }

    // A.D2
    #[test]
    fn parsing_takes_linear_time() {
        let lines = 60_000;
        let mut text = String::new();
        for line in 0..lines / 4 {
            text += &format!("\\set v{line} 1\n\\if 1\nSELECT ':v{line}';\n\\endif\n");
        }
        let (sender, done) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let (script, _) = read(&text);
            sender.send(script.steps.last().unwrap().line).unwrap();
        });
        // A guard against quadratic time, which would take minutes.
        let last = done.recv_timeout(std::time::Duration::from_secs(20));
        assert_eq!(last.expect("it is read"), lines - 1);
    }

    #[test]
    fn statements_become_operations_with_their_place_and_their_parameters() {
        let (script, shared) = read("\\set a 1\nSELECT :a,\n  :b;\nUPDATE t SET x = 1;");
        let operations = shared.plan.operations();
        let names: Vec<_> = operations.iter().map(|one| &*one.name).collect();
        assert_eq!(names, ["s:2 SELECT :a, :b", "s:4 UPDATE t SET x = 1"]);
        let Action::Request(request) = &script.steps[1].action else {
            panic!("it is a request");
        };
        let uses: Vec<_> =
            request.statements[0].uses.iter().map(|slot| shared.names.name(*slot)).collect();
        assert_eq!(uses, ["a", "b"]);
        assert!(shared.names.is_given("a") && !shared.names.is_given("b"));
        assert_eq!(script.steps[2].line, 4);
    }

    #[test]
    fn statements_with_answers_are_reads() {
        for (text, answers) in [
            ("select 1", true),
            ("(SELECT 1)", true),
            ("/* x */ WITH a AS (SELECT 1) SELECT * FROM a", true),
            ("VALUES (1)", true),
            ("PRAGMA page_count", true),
            ("INSERT INTO t VALUES (1) RETURNING id", true),
            ("INSERT INTO t SELECT 1", false),
            ("UPDATE t SET a = 1", false),
            ("CREATE TABLE t (selected INT)", false),
            ("BEGIN", false),
        ] {
            let (script, _) = read(text);
            let Action::Request(request) = &script.steps[0].action else {
                panic!("{text} is a request");
            };
            let is_read = matches!(request.statements[0].handle, Handle::Read(_));
            assert_eq!(is_read, answers, "{text}");
        }
    }

    #[test]
    fn transaction_control_is_recognized() {
        for (text, control) in [
            ("BEGIN", Control::Begins),
            ("begin isolation level serializable", Control::Begins),
            ("START TRANSACTION", Control::Begins),
            ("END", Control::Ends),
            ("COMMIT", Control::Ends),
            ("ROLLBACK", Control::Ends),
            ("ABORT", Control::Ends),
            ("ROLLBACK TO SAVEPOINT a", Control::None),
            ("ROLLBACK TRANSACTION TO a", Control::None),
            ("SAVEPOINT a", Control::None),
            ("SELECT 'BEGIN'", Control::None),
        ] {
            let (script, _) = read(text);
            let Action::Request(request) = &script.steps[0].action else {
                panic!("{text} is a request");
            };
            assert_eq!(request.statements[0].control, control, "{text}");
        }
    }

    #[test]
    fn branches_jump_to_their_targets() {
        let text = "\\if 1\n\\set a 1\n\\elif 2\n\\set a 2\n\\else\n\\set a 3\n\\endif\n\\set a 4";
        let (script, _) = read(text);
        let steps = script.steps.iter().map(|step| match &step.action {
            Action::Unless(_, to) => format!("unless {to}"),
            Action::Goto(to) => format!("goto {to}"),
            Action::Set(..) => "set".to_owned(),
            other => panic!("{other:?}"),
        });
        let steps: Vec<_> = steps.collect();
        let expected = ["unless 3", "set", "goto 7", "unless 6", "set", "goto 7", "set", "set"];
        assert_eq!(steps, expected);
    }

    #[test]
    fn times_have_units_and_stores_have_prefixes() {
        for (text, amount_ns) in [
            ("\\sleep 3", 3_000_000_000),
            ("\\sleep 3 s", 3_000_000_000),
            ("\\sleep 3 MS", 3_000_000),
            ("\\sleep 3us", 3_000),
            ("\\sleep \\\n 3 us", 3_000),
        ] {
            let (script, _) = read(text);
            let slept = &script.steps[0].action;
            assert!(
                matches!(slept, Action::Sleep(Amount::Fixed(ns)) if *ns == amount_ns),
                "{text}"
            );
        }
        let (script, _) =
            read("SELECT 1 AS a \\gset p_\nSELECT 1 AS a; \\aset\nSELECT 1\\;SELECT 2;");
        let requests = script.steps.iter().map(|step| match &step.action {
            Action::Request(request) => (request.store.clone(), request.whole),
            other => panic!("{other:?}"),
        });
        let requests: Vec<_> = requests.collect();
        assert_eq!(
            requests,
            [
                (Store::One("p_".to_owned()), false),
                (Store::Each(String::new()), false),
                (Store::Nothing, true)
            ]
        );
    }

    #[test]
    fn a_request_with_its_own_control_is_not_whole() {
        let (script, shared) = read("BEGIN\\; SELECT 1\\; END;");
        let Action::Request(request) = &script.steps[0].action else {
            panic!("it is a request");
        };
        assert!(!request.whole && !shared.compounds);
    }
    #[test]
    fn any_text_is_parsed_or_refused_in_one_line() {
        const PARTS: [&str; 40] = [
            "\\set ",
            "\\if ",
            "\\elif ",
            "\\else",
            "\\endif",
            "\\gset ",
            "\\aset",
            "\\sleep ",
            "\\shell ",
            "\\startpipeline",
            "\\endpipeline",
            "\\",
            "\\;",
            "\\:",
            "\n",
            "\r\n",
            " ",
            ";",
            ":",
            "::",
            ":a",
            "'",
            "\"",
            "$$",
            "$a$",
            "/*",
            "*/",
            "--",
            "E'",
            "(",
            ")",
            ",",
            "1",
            "9223372036854775808",
            "1e",
            ".",
            "random(",
            "CASE WHEN ",
            "ø",
            "SELECT ",
        ];
        let mut random = crate::distributions::Stream::of_client(1, 0, "scripts");
        let mut read = 0;
        for _ in 0..20_000 {
            let length = random.below(12);
            let parts = (0..length).map(|_| PARTS[random.below(40) as usize]);
            let text: String = parts.collect();
            let source = Source { name: "s", text: &text };
            match parse(source, 1, &mut Shared::default()) {
                Ok(_) => read += 1,
                Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{text:?}"),
            }
        }
        assert!(read > 1_000, "too few valid scripts: {read}");
    }
}
