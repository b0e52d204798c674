//! Parses an expression by operator precedence.

use super::token::{Token, Word, tokens};
use super::tree::{Expression, Operator};
use crate::script::error::{ScriptError, Source};
use crate::script::functions::{Arity, Function};
use crate::script::value::Scalar;
use crate::script::variables::Names;
use std::ops::Range;

/// The most arguments of a call.
pub(super) const ARGUMENTS_MAX: usize = 16;

/// The most tokens of an expression.
const TOKENS_MAX: usize = 1000;

/// The deepest nesting of an expression, to limit the stack.
const DEPTH_MAX: usize = 200;

// Levels of precedence, see the table in `mod.rs`.
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const IS: u8 = 4;
const COMPARISON: u8 = 5;
const BITS: u8 = 6;
const SUM: u8 = 7;
const PRODUCT: u8 = 8;
const SIGN: u8 = 9;

/// Parses the expression in a range of a script.
pub(in crate::script) fn parse(
    source: Source<'_>,
    range: Range<usize>,
    names: &mut Names,
) -> Result<Expression, ScriptError> {
    let end = range.end;
    let tokens = tokens(source, range)?;
    if let Some((at, _)) = tokens.get(TOKENS_MAX) {
        let what = format!("this is too long: an expression has at most {TOKENS_MAX} tokens");
        return Err(source.error(*at, what));
    }
    let mut parser = Parser { source, tokens, at: 0, end, depth: 0, names };
    let expression = parser.expression(OR)?;
    if parser.at < parser.tokens.len() {
        return Err(parser.unexpected("an operator or the end of the line"));
    }
    Ok(expression)
}

struct Parser<'t, 'n> {
    source: Source<'t>,
    tokens: Vec<(usize, Token<'t>)>,
    at: usize,
    /// The end of the line.
    end: usize,
    depth: usize,
    names: &'n mut Names,
}

impl<'t> Parser<'t, '_> {
    fn peek(&self) -> Option<Token<'t>> {
        self.tokens.get(self.at).map(|(_, token)| *token)
    }

    fn place(&self) -> usize {
        self.tokens.get(self.at).map_or(self.end, |(at, _)| *at)
    }

    fn take(&mut self, expected: Token<'_>) -> bool {
        let there = self.peek() == Some(expected);
        self.at += usize::from(there);
        there
    }

    fn demand(&mut self, expected: Token<'_>, words: &str) -> Result<(), ScriptError> {
        if self.take(expected) { Ok(()) } else { Err(self.unexpected(words)) }
    }

    fn unexpected(&self, expected: &str) -> ScriptError {
        self.source.error(self.place(), format!("{expected} is expected here"))
    }

    /// Parses an expression whose operators have at least this precedence.
    fn expression(&mut self, least: u8) -> Result<Expression, ScriptError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.source.error(self.place(), "this is nested too deep"));
        }
        let mut left = self.operand()?;
        while let Some((level, infix)) = self.peek().and_then(infix)
            && level >= least
        {
            self.at += 1;
            left = self.joined(left, level, infix)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn joined(
        &mut self,
        left: Expression,
        level: u8,
        infix: Infix,
    ) -> Result<Expression, ScriptError> {
        let null = Scalar::Null;
        Ok(match infix {
            Infix::IsNull => Expression::Is(Box::new(left), null),
            Infix::NotNull => not(Expression::Is(Box::new(left), null)),
            Infix::Is => self.is(left)?,
            Infix::And => Expression::And(Box::new([left, self.expression(level + 1)?])),
            Infix::Or => Expression::Or(Box::new([left, self.expression(level + 1)?])),
            Infix::Operator(operator) => {
                let right = self.expression(level + 1)?;
                let again = self.peek().and_then(self::infix);
                if level == COMPARISON && again.is_some_and(|(level, _)| level == COMPARISON) {
                    return Err(self.unexpected("a pair of brackets around one of two comparisons"));
                }
                Expression::Binary(operator, Box::new([left, right]))
            }
        })
    }

    fn is(&mut self, left: Expression) -> Result<Expression, ScriptError> {
        let negated = self.take(Token::Word(Word::Not));
        let constant = match self.peek() {
            Some(Token::Word(Word::Null)) => Scalar::Null,
            Some(Token::Word(Word::True)) => Scalar::Boolean(true),
            Some(Token::Word(Word::False)) => Scalar::Boolean(false),
            _ => return Err(self.unexpected("NULL, TRUE or FALSE")),
        };
        self.at += 1;
        let is = Expression::Is(Box::new(left), constant);
        Ok(if negated { not(is) } else { is })
    }

    fn operand(&mut self) -> Result<Expression, ScriptError> {
        let place = self.place();
        let Some(token) = self.peek() else {
            return Err(self.unexpected("an expression"));
        };
        self.at += 1;
        Ok(match token {
            Token::Integer(number) => Expression::Constant(Scalar::Integer(number)),
            Token::Double(number) => Expression::Constant(Scalar::Double(number)),
            Token::Variable(name) => Expression::Variable(self.names.slot(name)),
            Token::Word(Word::Null) => Expression::Constant(Scalar::Null),
            Token::Word(Word::True) => Expression::Constant(Scalar::Boolean(true)),
            Token::Word(Word::False) => Expression::Constant(Scalar::Boolean(false)),
            Token::Word(Word::Not) => not(self.expression(IS)?),
            Token::Word(Word::Case) => self.case()?,
            Token::Operator(Operator::Add) => self.expression(SIGN)?,
            Token::Operator(Operator::Subtract) => self.negated()?,
            Token::Invert => {
                let all = Expression::Constant(Scalar::Integer(-1));
                let operand = self.expression(SUM)?;
                Expression::Binary(Operator::BitXor, Box::new([all, operand]))
            }
            Token::Open => {
                let inside = self.expression(OR)?;
                self.demand(Token::Close, "a closing bracket")?;
                inside
            }
            Token::Name(name) => self.call(name, place)?,
            Token::BeyondInteger => {
                let what = "9223372036854775808 is too large an integer";
                return Err(self.source.error(place, what));
            }
            Token::Word(_) | Token::Operator(_) | Token::Close | Token::Comma => {
                self.at -= 1;
                return Err(self.unexpected("an expression"));
            }
        })
    }

    fn negated(&mut self) -> Result<Expression, ScriptError> {
        if self.take(Token::BeyondInteger) {
            return Ok(Expression::Constant(Scalar::Integer(i64::MIN)));
        }
        let zero = Expression::Constant(Scalar::Integer(0));
        let operand = self.expression(SIGN)?;
        Ok(Expression::Binary(Operator::Subtract, Box::new([zero, operand])))
    }

    fn case(&mut self) -> Result<Expression, ScriptError> {
        let mut branches = Vec::new();
        while self.take(Token::Word(Word::When)) {
            let condition = self.expression(OR)?;
            self.demand(Token::Word(Word::Then), "THEN")?;
            branches.push([condition, self.expression(OR)?]);
        }
        if branches.is_empty() {
            return Err(self.unexpected("WHEN"));
        }
        let otherwise = if self.take(Token::Word(Word::Else)) {
            self.expression(OR)?
        } else {
            Expression::Constant(Scalar::Null)
        };
        self.demand(Token::Word(Word::End), "END")?;
        Ok(Expression::Case(branches, Box::new(otherwise)))
    }

    fn call(&mut self, name: &str, place: usize) -> Result<Expression, ScriptError> {
        let Some(function) = Function::named(name) else {
            let what = format!("there is no function {name}");
            return Err(self.source.error(place, what));
        };
        self.demand(Token::Open, "an opening bracket")?;
        let mut arguments = Vec::new();
        if !self.take(Token::Close) {
            arguments.push(self.expression(OR)?);
            while self.take(Token::Comma) {
                arguments.push(self.expression(OR)?);
            }
            self.demand(Token::Close, "a comma or a closing bracket")?;
        }
        let wrong = |takes: String| {
            let given = arguments.len();
            let what = format!("{name} takes {takes}, but is given {given}");
            Err(self.source.error(place, what))
        };
        match function.arity() {
            Arity::Exactly(count) if arguments.len() != count => {
                return wrong(counted(count));
            }
            Arity::Any if arguments.is_empty() || arguments.len() > ARGUMENTS_MAX => {
                return wrong(format!("1 to {ARGUMENTS_MAX} arguments"));
            }
            Arity::Seeded(count) if arguments.len() == count => {
                let seed = self.names.slot("default_seed");
                arguments.push(Expression::Variable(seed));
            }
            Arity::Seeded(count) if arguments.len() != count + 1 => {
                return wrong(format!("{count} or {} arguments", count + 1));
            }
            _ => {}
        }
        Ok(Expression::Call(function, arguments))
    }
}

/// How an operand is joined with what precedes it.
#[derive(Clone, Copy)]
enum Infix {
    And,
    Or,
    Is,
    IsNull,
    NotNull,
    Operator(Operator),
}

fn infix(token: Token<'_>) -> Option<(u8, Infix)> {
    Some(match token {
        Token::Word(Word::Or) => (OR, Infix::Or),
        Token::Word(Word::And) => (AND, Infix::And),
        Token::Word(Word::Is) => (IS, Infix::Is),
        Token::Word(Word::IsNull) => (IS, Infix::IsNull),
        Token::Word(Word::NotNull) => (IS, Infix::NotNull),
        Token::Operator(operator) => (level(operator), Infix::Operator(operator)),
        _ => return None,
    })
}

fn level(operator: Operator) -> u8 {
    match operator {
        Operator::Equal
        | Operator::Unequal
        | Operator::Less
        | Operator::LessOrEqual
        | Operator::Greater
        | Operator::GreaterOrEqual => COMPARISON,
        Operator::BitAnd
        | Operator::BitOr
        | Operator::BitXor
        | Operator::ShiftLeft
        | Operator::ShiftRight => BITS,
        Operator::Add | Operator::Subtract => SUM,
        Operator::Multiply | Operator::Divide | Operator::Remainder => PRODUCT,
    }
}

fn not(operand: Expression) -> Expression {
    Expression::Not(Box::new(operand))
}

fn counted(count: usize) -> String {
    match count {
        0 => "no arguments".to_owned(),
        1 => "1 argument".to_owned(),
        more => format!("{more} arguments"),
    }
}

const _: () = assert!(NOT < IS);
