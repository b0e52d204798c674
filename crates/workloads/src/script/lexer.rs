//! Splits a script into SQL requests and commands that begin with a backslash.
//!
//! A request ends at a semicolon outside quotes and brackets, at a backslash that begins a command, or at the
//! end of the text; `\;` ends one statement of a request and continues with the next. `--` comments are
//! removed; `/* */` comments stay, because they may be hints to a store. A command ends with its line, unless
//! the line ends with a backslash.
//!
//! `:name` outside quotes and comments becomes a parameter, `$1`, `$2` and so on, a new one each time; `::`
//! stays unchanged. In quotes it stays text, and is recorded so that the parser can refuse it.

use super::error::{ScriptError, Source};
use super::variables::{in_name, starts_name};
use std::ops::Range;

/// The most variables in a statement.
const USES_MAX: usize = 255;

/// A piece of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// The statements of a request, none of them empty.
    Request(Vec<Raw>),
    /// A command.
    Meta(Meta),
}

/// A statement as found in a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Raw {
    /// Its offset.
    pub(super) at: usize,
    /// Its text, with parameters instead of variables.
    pub(super) text: String,
    /// Its text as written, including variables.
    pub(super) written: String,
    /// The variable of each parameter.
    pub(super) uses: Vec<String>,
    /// Apparent variables in quotes, with their offsets.
    pub(super) quoted: Vec<(String, usize)>,
    /// The first three words outside quotes and comments, in upper case.
    pub(super) words: Vec<String>,
    /// True if RETURNING is among its words.
    pub(super) returning: bool,
}

/// A command: its name in lower case, and the range of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meta {
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) rest: Range<usize>,
}

/// Splits a text from its beginning.
#[derive(Debug)]
pub(super) struct Lexer<'t> {
    source: Source<'t>,
    at: usize,
}

impl<'t> Lexer<'t> {
    /// Starts at the beginning of a script.
    pub(super) fn new(source: Source<'t>) -> Lexer<'t> {
        Lexer { source, at: 0 }
    }

    /// The next piece; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<Piece>, ScriptError> {
        while self.at < self.source.text.len() {
            if self.begins_command() {
                return Ok(Some(Piece::Meta(self.command())));
            }
            let statements = self.request()?;
            if !statements.is_empty() {
                return Ok(Some(Piece::Request(statements)));
            }
        }
        Ok(None)
    }

    fn rest(&self) -> &'t str {
        &self.source.text[self.at..]
    }

    fn begins_command(&self) -> bool {
        let after = self.rest().strip_prefix('\\');
        after.is_some_and(|after| !after.starts_with([';', ':']))
    }

    fn command(&mut self) -> Meta {
        let at = self.at;
        let end = self.end_of_command();
        let text = &self.source.text[at + 1..end];
        let name = text.find(|sign: char| sign.is_whitespace());
        let name = &text[..name.unwrap_or(text.len())];
        self.at = end;
        Meta {
            at,
            name: name.trim_end_matches('\\').to_ascii_lowercase(),
            rest: at + 1 + name.trim_end_matches('\\').len()..end,
        }
    }

    /// The first end of a line that is not preceded by a backslash.
    fn end_of_command(&self) -> usize {
        let mut from = self.at + 1;
        while let Some(found) = self.source.text[from..].find('\n') {
            let end = from + found;
            let line = &self.source.text[self.at..end];
            if !line.strip_suffix('\r').unwrap_or(line).ends_with('\\') {
                return end;
            }
            from = end + 1;
        }
        self.source.text.len()
    }

    fn request(&mut self) -> Result<Vec<Raw>, ScriptError> {
        let mut statements = Vec::new();
        loop {
            let mut statement = Statement::new(self);
            let ended = statement.scan()?;
            let raw = statement.raw;
            if !raw.text.is_empty() {
                statements.push(raw);
            }
            if ended != StatementEnd::ByBackslash {
                return Ok(statements);
            }
        }
    }
}

/// How a statement ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StatementEnd {
    /// By a semicolon, a command or the end of the text.
    WithItsRequest,
    /// By `\;`.
    ByBackslash,
}

/// A statement being scanned.
struct Statement<'l, 't> {
    lexer: &'l mut Lexer<'t>,
    raw: Raw,
    /// Number of open brackets.
    depth: usize,
}

impl<'l, 't> Statement<'l, 't> {
    fn new(lexer: &'l mut Lexer<'t>) -> Statement<'l, 't> {
        Statement { lexer, raw: Raw::default(), depth: 0 }
    }

    fn scan(&mut self) -> Result<StatementEnd, ScriptError> {
        let ended = self.until_its_end()?;
        for text in [&mut self.raw.text, &mut self.raw.written] {
            text.truncate(text.trim_end().len());
        }
        Ok(ended)
    }

    fn until_its_end(&mut self) -> Result<StatementEnd, ScriptError> {
        while let Some(sign) = self.lexer.rest().chars().next() {
            let rest = self.lexer.rest();
            match sign {
                ';' if self.depth == 0 => {
                    self.lexer.at += 1;
                    return Ok(StatementEnd::WithItsRequest);
                }
                '\\' if rest.starts_with("\\;") => {
                    self.lexer.at += 2;
                    return Ok(StatementEnd::ByBackslash);
                }
                '\\' if rest.starts_with("\\:") => {
                    self.lexer.at += 1;
                    self.take(1);
                }
                '\\' => return Ok(StatementEnd::WithItsRequest),
                '-' if rest.starts_with("--") => {
                    self.lexer.at += rest.find('\n').unwrap_or(rest.len());
                }
                '/' if rest.starts_with("/*") => self.comment()?,
                '\'' | '"' => self.quoted(sign)?,
                '$' => self.dollar()?,
                ':' => self.colon()?,
                _ if starts_name(sign) => self.word()?,
                // A number, whose letters are not a word.
                _ if sign.is_ascii_digit() => self.run(in_name),
                _ => self.sign(sign),
            }
        }
        Ok(StatementEnd::WithItsRequest)
    }

    /// Moves this many bytes from the script to the statement; skips blanks before the statement.
    fn take(&mut self, bytes: usize) {
        let text = &self.lexer.rest()[..bytes];
        if self.raw.text.is_empty() {
            let begun = text.trim_start();
            self.raw.at = self.lexer.at + (text.len() - begun.len());
            self.raw.text.push_str(begun);
            self.raw.written.push_str(begun);
        } else {
            self.raw.text.push_str(text);
            self.raw.written.push_str(text);
        }
        self.lexer.at += bytes;
    }

    fn run(&mut self, belongs: fn(char) -> bool) {
        let rest = self.lexer.rest();
        self.take(rest.find(|sign| !belongs(sign)).unwrap_or(rest.len()));
    }

    fn sign(&mut self, sign: char) {
        match sign {
            '(' => self.depth += 1,
            ')' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.take(sign.len_utf8());
    }

    fn word(&mut self) -> Result<(), ScriptError> {
        /// The number of words that identify a statement.
        const WORDS: usize = 3;
        let rest = self.lexer.rest();
        let length = rest.find(|sign| !in_name(sign)).unwrap_or(rest.len());
        let word = &rest[..length];
        self.raw.returning |= word.eq_ignore_ascii_case("returning");
        if self.raw.words.len() < WORDS {
            self.raw.words.push(word.to_ascii_uppercase());
        }
        let escapes = word.eq_ignore_ascii_case("e") && rest[length..].starts_with('\'');
        self.take(length);
        if escapes { self.escaped() } else { Ok(()) }
    }

    /// A quoted text in which a backslash escapes the next character.
    fn escaped(&mut self) -> Result<(), ScriptError> {
        let (at, rest) = (self.lexer.at, self.lexer.rest());
        let mut signs = rest.char_indices().skip(1);
        while let Some((place, sign)) = signs.next() {
            if sign == '\\' {
                signs.next();
            } else if sign == '\'' {
                self.remember_variables(&rest[1..place], at + 1);
                self.take(place + 1);
                return Ok(());
            }
        }
        Err(self.lexer.source.error(at, "this quote is not closed"))
    }

    /// A quoted text or name; doubled quotes scan as two adjacent texts, which is equivalent.
    fn quoted(&mut self, quote: char) -> Result<(), ScriptError> {
        let (at, rest) = (self.lexer.at, self.lexer.rest());
        let Some(inside) = rest[1..].find(quote) else {
            return Err(self.lexer.source.error(at, "this quote is not closed"));
        };
        self.remember_variables(&rest[1..=inside], at + 1);
        self.take(inside + 2);
        Ok(())
    }

    fn remember_variables(&mut self, inside: &str, at: usize) {
        let mut from = 0;
        while let Some(found) = inside[from..].find(':') {
            let colon = from + found;
            let name = name_at(&inside[colon + 1..]);
            if name.is_empty() {
                let colons = inside[colon..].bytes().take_while(|byte| *byte == b':');
                from = colon + colons.count();
            } else {
                self.raw.quoted.push((name.to_owned(), at + colon));
                from = colon + 1 + name.len();
            }
        }
    }

    /// `$tag$...$tag$`, or a dollar sign.
    fn dollar(&mut self) -> Result<(), ScriptError> {
        let (at, rest) = (self.lexer.at, self.lexer.rest());
        let tag = name_at(&rest[1..]);
        let opening = 2 + tag.len();
        if !rest[1 + tag.len()..].starts_with('$') {
            self.take(1);
            return Ok(());
        }
        let (opens, body) = rest.split_at(opening);
        let Some(inside) = body.find(opens) else {
            return Err(self.lexer.source.error(at, "this quote is not closed"));
        };
        self.take(opening + inside + opening);
        Ok(())
    }

    /// Comments may be nested.
    fn comment(&mut self) -> Result<(), ScriptError> {
        let (at, rest) = (self.lexer.at, self.lexer.rest());
        let (mut depth, mut place) = (0_usize, 0);
        loop {
            let here = &rest[place..];
            if here.starts_with("/*") {
                (depth, place) = (depth + 1, place + 2);
            } else if here.starts_with("*/") {
                (depth, place) = (depth - 1, place + 2);
                if depth == 0 {
                    break;
                }
            } else if let Some(sign) = here.chars().next() {
                place += sign.len_utf8();
            } else {
                return Err(self.lexer.source.error(at, "this comment is not closed"));
            }
        }
        self.take(place);
        Ok(())
    }

    fn colon(&mut self) -> Result<(), ScriptError> {
        let (at, rest) = (self.lexer.at, self.lexer.rest());
        let name = name_at(&rest[1..]);
        if name.is_empty() {
            self.run(|sign| sign == ':');
            return Ok(());
        }
        if self.raw.uses.len() == USES_MAX {
            let what = format!("a statement uses at most {USES_MAX} variables");
            return Err(self.lexer.source.error(at, what));
        }
        if self.raw.text.is_empty() {
            self.raw.at = at;
        }
        self.raw.uses.push(name.to_owned());
        let parameter = format!("${}", self.raw.uses.len());
        self.raw.text.push_str(&parameter);
        self.raw.written.push_str(&rest[..=name.len()]);
        self.lexer.at += 1 + name.len();
        Ok(())
    }
}

/// The name at the beginning of a text; empty if there is none.
fn name_at(text: &str) -> &str {
    if !text.starts_with(starts_name) {
        return "";
    }
    let end = text.find(|sign| !in_name(sign));
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::{Lexer, Piece};
    use crate::script::error::{ScriptError, Source};

    fn pieces(text: &str) -> Result<Vec<Piece>, ScriptError> {
        let mut lexer = Lexer::new(Source { name: "s", text });
        std::iter::from_fn(|| lexer.next().transpose()).collect()
    }

    /// Statements as they are sent, joined by `\;`, and commands with their arguments.
    fn read(text: &str) -> Vec<String> {
        let pieces = pieces(text).unwrap_or_else(|error| panic!("{error}"));
        let words = pieces.into_iter().map(|piece| match piece {
            Piece::Request(statements) => {
                let texts: Vec<_> = statements.into_iter().map(|raw| raw.text).collect();
                texts.join(" \\; ")
            }
            Piece::Meta(meta) => format!("<{}>{}", meta.name, &text[meta.rest]),
        });
        words.collect()
    }

    #[test]
    fn a_script_is_split_into_statements_and_commands() {
        let text = "-- first\n\\set a 1\n\nBEGIN;\n  SELECT 1 -- one\n , 2;\nSELECT 3 \\gset p_\n;\n\
                    \\set b \\\n :a + 1\nSELECT 4\\; SELECT ';' \\;;\nEND";
        assert_eq!(
            read(text),
            [
                "<set> a 1",
                "BEGIN",
                "SELECT 1 \n , 2",
                "SELECT 3",
                "<gset> p_",
                "<set> b \\\n :a + 1",
                "SELECT 4 \\; SELECT ';'",
                "END"
            ]
        );
    }

    #[test]
    fn a_command_ends_a_statement_without_a_semicolon() {
        assert_eq!(read("SELECT 1 \\set x 2"), ["SELECT 1", "<set> x 2"]);
        assert_eq!(read("\\ENDIF\r\nSELECT 1"), ["<endif>\r", "SELECT 1"]);
        assert_eq!(read(" ;; -- nothing\n;"), [""; 0]);
    }

    #[test]
    fn variables_become_parameters_outside_quotes_only() {
        let text = "SELECT :a, :a::int, ':a', \":b\", $$:c$$, $t$;:d$t$, /* :e; */ x[1:2], (1;:f)";
        let Piece::Request(statements) = pieces(text).unwrap().remove(0) else {
            panic!("it is SQL");
        };
        let raw = &statements[0];
        assert_eq!(
            raw.text,
            "SELECT $1, $2::int, ':a', \":b\", $$:c$$, $t$;:d$t$, /* :e; */ x[1:2], (1;$3)"
        );
        assert_eq!(raw.written, text);
        assert_eq!(raw.uses, ["a", "a", "f"]);
        let quoted: Vec<_> = raw.quoted.iter().map(|(name, at)| (&**name, *at)).collect();
        assert_eq!(quoted, [("a", 21), ("b", 27)]);
    }

    #[test]
    fn quotes_and_comments_hide_terminators() {
        assert_eq!(read("SELECT 'a;''b;' ;x"), ["SELECT 'a;''b;'", "x"]);
        assert_eq!(read(r"SELECT E'a\';' ; x"), [r"SELECT E'a\';'", "x"]);
        assert_eq!(read("/* a /* ; */ ; */ x; y"), ["/* a /* ; */ ; */ x", "y"]);
        assert_eq!(read("SELECT '12:30', a:=b\\:c"), ["SELECT '12:30', a:=b:c"]);
    }

    #[test]
    fn unclosed_quotes_and_comments_report_where_they_began() {
        for (text, message) in [
            ("SELECT 1;\n 'x", "s:2:2: this quote is not closed"),
            ("SELECT \"x", "s:1:8: this quote is not closed"),
            ("SELECT $a$x$b$", "s:1:8: this quote is not closed"),
            ("x /* y", "s:1:3: this comment is not closed"),
        ] {
            assert_eq!(pieces(text).unwrap_err().to_string(), message);
        }
        let many = "SELECT ".to_owned() + &":a,".repeat(256);
        let refused = pieces(&many).unwrap_err().to_string();
        assert!(refused.contains("at most 255 variables"), "{refused}");
    }

    #[test]
    fn first_words_and_returning_are_recorded() {
        let text = "/* insert */ insert into t values ('returning') RETURNING id";
        let Piece::Request(statements) = pieces(text).unwrap().remove(0) else {
            panic!("it is SQL");
        };
        assert_eq!(statements[0].words, ["INSERT", "INTO", "T"]);
        assert!(statements[0].returning);
        let Piece::Request(statements) = pieces("UPDATE t SET a = 'returning'").unwrap().remove(0)
        else {
            panic!("it is SQL");
        };
        assert!(!statements[0].returning);
    }
}
