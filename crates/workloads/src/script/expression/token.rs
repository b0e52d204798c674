//! The tokens of an expression.

use super::tree::Operator;
use crate::script::error::{ScriptError, Source};
use crate::script::variables::in_name;
use std::ops::Range;

/// A token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'t> {
    Integer(i64),
    /// 2^63, which is an integer only after a minus.
    BeyondInteger,
    Double(f64),
    Variable(&'t str),
    /// A function, or any word that is not a [`Word`].
    Name(&'t str),
    Word(Word),
    Operator(Operator),
    /// `~`.
    Invert,
    Open,
    Close,
    Comma,
}

/// A reserved word, which cannot be the name of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    And,
    Or,
    Not,
    Is,
    IsNull,
    NotNull,
    Null,
    True,
    False,
    Case,
    When,
    Then,
    Else,
    End,
}

impl Word {
    fn of(name: &str) -> Option<Word> {
        Some(match name.to_ascii_lowercase().as_str() {
            "and" => Word::And,
            "or" => Word::Or,
            "not" => Word::Not,
            "is" => Word::Is,
            "isnull" => Word::IsNull,
            "notnull" => Word::NotNull,
            "null" => Word::Null,
            "true" => Word::True,
            "false" => Word::False,
            "case" => Word::Case,
            "when" => Word::When,
            "then" => Word::Then,
            "else" => Word::Else,
            "end" => Word::End,
            _ => return None,
        })
    }
}

/// The tokens of a range of the text, each with its offset.
pub(super) fn tokens(
    source: Source<'_>,
    range: Range<usize>,
) -> Result<Vec<(usize, Token<'_>)>, ScriptError> {
    let mut scanner = Scanner { source, at: range.start, end: range.end };
    let mut found = Vec::new();
    while let Some(token) = scanner.next()? {
        found.push(token);
    }
    Ok(found)
}

struct Scanner<'t> {
    source: Source<'t>,
    at: usize,
    end: usize,
}

impl<'t> Scanner<'t> {
    fn rest(&self) -> &'t str {
        &self.source.text[self.at..self.end]
    }

    fn next(&mut self) -> Result<Option<(usize, Token<'t>)>, ScriptError> {
        self.skip_space();
        let (at, rest) = (self.at, self.rest());
        let Some(first) = rest.chars().next() else {
            return Ok(None);
        };
        let token = if first.is_ascii_digit() || begins_fraction(rest) {
            self.number()?
        } else if first == ':' && rest[1..].starts_with(in_name) {
            self.at += 1;
            Token::Variable(self.name())
        } else if in_name(first) {
            let name = self.name();
            Word::of(name).map_or(Token::Name(name), Token::Word)
        } else {
            self.sign(first)?
        };
        Ok(Some((at, token)))
    }

    /// Skips blanks, and backslashes that continue on the next line.
    fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            let skipped = if let Some(after) = rest.strip_prefix("\\\r\n") {
                after
            } else if let Some(after) = rest.strip_prefix("\\\n") {
                after
            } else {
                rest.trim_start_matches([' ', '\t', '\r', '\u{b}', '\u{c}'])
            };
            if skipped.len() == rest.len() {
                return;
            }
            self.at += rest.len() - skipped.len();
        }
    }

    fn name(&mut self) -> &'t str {
        let rest = self.rest();
        let length = rest.find(|sign| !in_name(sign)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn number(&mut self) -> Result<Token<'t>, ScriptError> {
        let rest = self.rest();
        let (length, is_integer) = number_length(rest);
        let (text, at) = (&rest[..length], self.at);
        self.at += length;
        if is_integer {
            return match text.parse::<u64>() {
                Ok(number) if number == 1 << 63 => Ok(Token::BeyondInteger),
                Ok(number) if number < 1 << 63 => Ok(Token::Integer(number as i64)),
                _ => Err(self.source.error(at, format!("{text} is too large an integer"))),
            };
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Token::Double(number)),
            _ => Err(self.source.error(at, format!("{text} is too large a double"))),
        }
    }

    fn sign(&mut self, first: char) -> Result<Token<'t>, ScriptError> {
        const SIGNS: [(&str, Token<'static>); 21] = [
            ("<<", Token::Operator(Operator::ShiftLeft)),
            (">>", Token::Operator(Operator::ShiftRight)),
            ("<=", Token::Operator(Operator::LessOrEqual)),
            (">=", Token::Operator(Operator::GreaterOrEqual)),
            ("<>", Token::Operator(Operator::Unequal)),
            ("!=", Token::Operator(Operator::Unequal)),
            ("<", Token::Operator(Operator::Less)),
            (">", Token::Operator(Operator::Greater)),
            ("=", Token::Operator(Operator::Equal)),
            ("+", Token::Operator(Operator::Add)),
            ("-", Token::Operator(Operator::Subtract)),
            ("*", Token::Operator(Operator::Multiply)),
            ("/", Token::Operator(Operator::Divide)),
            ("%", Token::Operator(Operator::Remainder)),
            ("&", Token::Operator(Operator::BitAnd)),
            ("|", Token::Operator(Operator::BitOr)),
            ("#", Token::Operator(Operator::BitXor)),
            ("~", Token::Invert),
            ("(", Token::Open),
            (")", Token::Close),
            (",", Token::Comma),
        ];
        let rest = self.rest();
        let found = SIGNS.into_iter().find(|(sign, _)| rest.starts_with(sign));
        let Some((sign, token)) = found else {
            let what = format!("the character {first:?} has no meaning in an expression");
            return Err(self.source.error(self.at, what));
        };
        self.at += sign.len();
        Ok(token)
    }
}

fn begins_fraction(rest: &str) -> bool {
    let after = rest.strip_prefix('.');
    after.is_some_and(|after| after.starts_with(|sign: char| sign.is_ascii_digit()))
}

/// The length of the number at the beginning, and whether it is an integer: digits, a point, digits, an
/// exponent.
fn number_length(text: &str) -> (usize, bool) {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let all = bytes[from..].iter();
        all.take_while(|byte| byte.is_ascii_digit()).count()
    };
    let (mut at, mut is_integer) = (digits(0), true);
    if bytes.get(at) == Some(&b'.') {
        at += 1 + digits(at + 1);
        is_integer = false;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let power = bytes.get(at + 1 + sign).map_or(0, |_| digits(at + 1 + sign));
        if power > 0 {
            at += 1 + sign + power;
            is_integer = false;
        }
    }
    (at, is_integer)
}
