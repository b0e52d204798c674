//! Evaluates an expression with the values and the random stream of a client.

use super::parse::ARGUMENTS_MAX;
use super::tree::{Expression, Operator};
use crate::distributions::Stream;
use crate::script::functions::remainder;
use crate::script::value::{Refusal, Scalar};
use crate::script::variables::{Names, Values};

impl Expression {
    /// The value of the expression.
    pub(in crate::script) fn value(
        &self,
        names: &Names,
        values: &Values,
        random: &mut Stream,
    ) -> Result<Scalar, Refusal> {
        let mut of = |one: &Expression| one.value(names, values, random);
        match self {
            Expression::Constant(value) => Ok(*value),
            Expression::Variable(slot) => match values.get(*slot) {
                Some(held) => held.scalar(),
                None => Err(format!("the variable :{} has no value", names.name(*slot))),
            },
            Expression::Not(operand) => match of(operand)? {
                Scalar::Null => Ok(Scalar::Null),
                value => Ok(Scalar::Boolean(!value.boolean()?)),
            },
            Expression::And(operands) => {
                let [left, right] = &**operands;
                lazy(of(left)?, false, || of(right))
            }
            Expression::Or(operands) => {
                let [left, right] = &**operands;
                lazy(of(left)?, true, || of(right))
            }
            Expression::Is(operand, constant) => Ok(Scalar::Boolean(of(operand)? == *constant)),
            Expression::Binary(operator, operands) => {
                let [left, right] = &**operands;
                let (left, right) = (of(left)?, of(right)?);
                operator.of(left, right)
            }
            Expression::Case(branches, otherwise) => {
                for [condition, value] in branches {
                    if of(condition)?.holds() {
                        return of(value);
                    }
                }
                of(otherwise)
            }
            Expression::Call(function, arguments) => {
                let mut given = [Scalar::Null; ARGUMENTS_MAX];
                for (place, argument) in given.iter_mut().zip(arguments) {
                    *place = of(argument)?;
                }
                function.of(&given[..arguments.len()], random)
            }
        }
    }
}

/// `AND` and `OR`: if the left side decides or is null, it is the result.
fn lazy(
    left: Scalar,
    decides: bool,
    right: impl FnOnce() -> Result<Scalar, Refusal>,
) -> Result<Scalar, Refusal> {
    if left == Scalar::Null || left.boolean()? == decides {
        return Ok(left);
    }
    match right()? {
        Scalar::Null => Ok(Scalar::Null),
        value => value.boolean().map(Scalar::Boolean),
    }
}

impl Operator {
    fn of(self, left: Scalar, right: Scalar) -> Result<Scalar, Refusal> {
        if left == Scalar::Null || right == Scalar::Null {
            return Ok(Scalar::Null);
        }
        let double = matches!(left, Scalar::Double(_)) || matches!(right, Scalar::Double(_));
        match self {
            Operator::Remainder => remainder(left, right),
            Operator::BitAnd
            | Operator::BitOr
            | Operator::BitXor
            | Operator::ShiftLeft
            | Operator::ShiftRight => Ok(self.of_bits(left.integer()?, right.integer()?)),
            _ if double => Ok(self.of_doubles(left.double()?, right.double()?)),
            _ => self.of_integers(left.integer()?, right.integer()?),
        }
    }

    #[allow(clippy::float_cmp, reason = "an expression's = compares doubles as they are")]
    fn of_doubles(self, left: f64, right: f64) -> Scalar {
        match self {
            Operator::Add => Scalar::Double(left + right),
            Operator::Subtract => Scalar::Double(left - right),
            Operator::Multiply => Scalar::Double(left * right),
            Operator::Divide => Scalar::Double(left / right),
            Operator::Equal => Scalar::Boolean(left == right),
            Operator::Unequal => Scalar::Boolean(left != right),
            Operator::Less => Scalar::Boolean(left < right),
            Operator::LessOrEqual => Scalar::Boolean(left <= right),
            Operator::Greater => Scalar::Boolean(left > right),
            Operator::GreaterOrEqual => Scalar::Boolean(left >= right),
            _ => unreachable!("{self:?} takes integers only"),
        }
    }

    fn of_integers(self, left: i64, right: i64) -> Result<Scalar, Refusal> {
        let whole = |value: Option<i64>, word: &str| {
            let beyond = || format!("{left} {word} {right} is out of the range of integers");
            value.map(Scalar::Integer).ok_or_else(beyond)
        };
        match self {
            Operator::Add => whole(left.checked_add(right), "+"),
            Operator::Subtract => whole(left.checked_sub(right), "-"),
            Operator::Multiply => whole(left.checked_mul(right), "*"),
            Operator::Divide if right == 0 => Err("division by zero".to_owned()),
            Operator::Divide => whole(left.checked_div(right), "/"),
            Operator::Equal => Ok(Scalar::Boolean(left == right)),
            Operator::Unequal => Ok(Scalar::Boolean(left != right)),
            Operator::Less => Ok(Scalar::Boolean(left < right)),
            Operator::LessOrEqual => Ok(Scalar::Boolean(left <= right)),
            Operator::Greater => Ok(Scalar::Boolean(left > right)),
            Operator::GreaterOrEqual => Ok(Scalar::Boolean(left >= right)),
            _ => unreachable!("{self:?} is computed elsewhere"),
        }
    }

    fn of_bits(self, left: i64, right: i64) -> Scalar {
        Scalar::Integer(match self {
            Operator::BitAnd => left & right,
            Operator::BitOr => left | right,
            Operator::BitXor => left ^ right,
            Operator::ShiftLeft => left.wrapping_shl(right as u32),
            Operator::ShiftRight => left.wrapping_shr(right as u32),
            _ => unreachable!("{self:?} is computed elsewhere"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use crate::distributions::Stream;
    use crate::script::error::Source;
    use crate::script::value::{Scalar, VariableValue};
    use crate::script::variables::{Names, Values};

    /// The value as pgbench's `debug` prints it, or the error message.
    fn value(text: &str) -> String {
        let source = Source { name: "e", text };
        let mut names = Names::default();
        let given =
            [("v", "7"), ("d", "1.5"), ("t", "true"), ("nul", "null"), ("default_seed", "5432")];
        let slots = given.map(|(name, text)| (names.slot(name), VariableValue::given(text)));
        let expression = match parse(source, 0..text.len(), &mut names) {
            Ok(expression) => expression,
            Err(error) => return error.to_string(),
        };
        let mut values = Values::none_of(&names);
        for (slot, held) in slots {
            values.set(slot, held);
        }
        let mut random = Stream::of_client(1, 0, "test");
        match expression.value(&names, &values, &mut random) {
            Ok(Scalar::Null) => "null".to_owned(),
            Ok(Scalar::Boolean(value)) => format!("boolean {value}"),
            Ok(Scalar::Integer(value)) => format!("int {value}"),
            Ok(Scalar::Double(value)) => format!("double {value}"),
            Err(refusal) => refusal,
        }
    }

    /// Expressions and their values as printed by pgbench 15.
    const BY_PGBENCH: &[(&str, &str)] = &[
        ("1 + 2 * 3", "int 7"),
        ("-5 / 2", "int -2"),
        ("-5 % 3", "int -2"),
        ("5 % -3", "int 2"),
        ("1 / 2.0", "double 0.5"),
        ("7 & 3 | 8", "int 11"),
        ("1 << 65", "int 2"),
        ("1 << 64", "int 1"),
        ("-8 >> 1", "int -4"),
        ("~5", "int -6"),
        ("-2 - -3", "int 1"),
        ("2 # 3", "int 1"),
        ("1 + 1 = 2", "boolean true"),
        ("NOT 1 = 2", "boolean true"),
        ("1 = 1 AND 2 = 2", "boolean true"),
        ("NULL AND FALSE", "null"),
        ("NULL OR TRUE", "null"),
        ("false and 1/0 = 1", "boolean false"),
        ("true or 1/0 = 1", "boolean true"),
        ("NULL + 1", "null"),
        ("NULL = NULL", "null"),
        ("NULL IS NULL", "boolean true"),
        ("1 ISNULL", "boolean false"),
        ("1 NOTNULL", "boolean true"),
        ("1 IS TRUE", "boolean false"),
        ("1 is not true", "boolean true"),
        ("true is true", "boolean true"),
        ("null is not true", "boolean true"),
        ("1 is null is null", "boolean false"),
        ("-9223372036854775808", "int -9223372036854775808"),
        ("- 9223372036854775808", "int -9223372036854775808"),
        ("-9223372036854775808 % -1", "int 0"),
        ("case when 1 = 2 then 3 end", "null"),
        ("case when null then 3 else 4 end", "int 4"),
        ("case when 1 then 3 else 4 end", "int 3"),
        ("CASE WHEN true THEN 1 WHEN 1/0 = 1 THEN 2 ELSE 3 END", "int 1"),
        ("case when false then 1 end is null", "boolean true"),
        ("abs(-7)", "int 7"),
        ("abs(-7.5)", "double 7.5"),
        ("abs(-9223372036854775808)", "int -9223372036854775808"),
        ("debug(5)", "int 5"),
        ("double(5)", "double 5"),
        ("greatest(1, 2.5, 3)", "double 3"),
        ("greatest(1, 2, 3)", "int 3"),
        ("greatest(null, 1)", "null"),
        ("least(5, 4, 3, 2.1)", "double 2.1"),
        ("hash(10, 5432)", "int -5817877081768721676"),
        ("hash(10)", "int -5817877081768721676"),
        ("hash_fnv1a(10, 5432)", "int -7793829335365542153"),
        ("hash_murmur2(-1, 0)", "int 4219408603045787357"),
        ("hash(1.9, 0)", "int -4083905729319787502"),
        ("int(5.4 + 3.8)", "int 9"),
        ("int(-5.9)", "int -6"),
        ("int(2.5)", "int 2"),
        ("int(null)", "null"),
        ("sqrt(null)", "null"),
        ("mod(54, 32)", "int 22"),
        ("mod(-5, 3)", "int -2"),
        ("mod(5.5, 3)", "int 0"),
        ("permute(0, 4)", "int 3"),
        ("permute(10, 10, 5)", "int 6"),
        ("pow(2.0, 10)", "double 1024"),
        ("pow(2, 10)", "double 1024"),
        ("ln(exp(1))", "double 1"),
        ("random(5,5)", "int 5"),
        ("random(null, 3)", "null"),
        ("not null", "null"),
        ("1 = 1.0", "boolean true"),
        ("1 < 2.5", "boolean true"),
        (":v + 1", "int 8"),
        (":d + 1", "double 2.5"),
        (":t and true", "boolean true"),
        (":nul is null", "boolean true"),
        ("1.5 % 1", "int 0"),
        ("1.5 | 1", "int 3"),
        ("1e3", "double 1000"),
        (".5", "double 0.5"),
        ("5.", "double 5"),
        ("1.e2", "double 100"),
        ("2 * 3 - 4 / 2", "int 4"),
        ("2 - 3 - 4", "int -5"),
        ("100 / 10 / 2", "int 5"),
        ("- 2 + 3", "int 1"),
        ("-2 * 3", "int -6"),
        ("not true or true", "boolean true"),
        ("~ 1 + 1", "int -3"),
        ("~ 1 & 3", "int 2"),
        ("1 | 2 & 3", "int 3"),
        ("1 << 2 + 1", "int 8"),
        ("1 <> 2", "boolean true"),
        ("1 != 2", "boolean true"),
        ("(1)", "int 1"),
        ("+5", "int 5"),
        ("--5", "int 5"),
        ("1e17 + 0.5", "double 100000000000000000"),
        ("1.0 * 3", "double 3"),
    ];

    /// Expressions for which pgbench 15 ends the client, and our error messages.
    const REFUSED_BY_PGBENCH: &[(&str, &str)] = &[
        ("9223372036854775807 + 1", "out of the range of integers"),
        ("-9223372036854775807 - 2", "out of the range of integers"),
        ("9223372036854775807 * 2", "out of the range of integers"),
        ("-9223372036854775808 / -1", "out of the range of integers"),
        ("1 / 0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("int(1e30)", "too large for an integer"),
        ("int(true)", "a boolean is not an integer"),
        ("true + 1", "a boolean is not an integer"),
        ("true = 1", "a boolean is not an integer"),
        ("not true = false", "a boolean is not an integer"),
        ("1 and 2", "an integer is not a boolean"),
        ("1.5 and true", "a double is not a boolean"),
        ("not 1", "an integer is not a boolean"),
        ("permute(3, 0)", "must be above zero"),
        ("random(5, 1)", "does not exist"),
        ("random_gaussian(1, 10, 1.5)", "at least 2"),
        ("random_exponential(1, 10, 0)", "above zero"),
        ("random_zipfian(1, 10, 1.0)", "from 1.001 to 1000"),
        (":undefined", "the variable :undefined has no value"),
        // For the following, pgbench does not even start.
        ("9223372036854775808", "e:1:1: 9223372036854775808 is too large"),
        ("99999999999999999999", "e:1:1: 99999999999999999999 is too large"),
        ("1e400", "e:1:1: 1e400 is too large a double"),
        ("int('5')", "e:1:5: the character '\\'' has no meaning"),
        ("1 < 2 < 3", "e:1:7: a pair of brackets"),
        ("1 = 1 = 1", "e:1:7: a pair of brackets"),
        ("abs()", "e:1:1: abs takes 1 argument, but is given 0"),
        ("abs(1,2)", "e:1:1: abs takes 1 argument, but is given 2"),
        ("foo(1)", "e:1:1: there is no function foo"),
        ("1 +", "e:1:4: an expression is expected here"),
        ("1 2", "e:1:3: an operator or the end of the line is expected"),
        ("1 @ 2", "e:1:3: the character '@' has no meaning"),
        ("least()", "e:1:1: least takes 1 to 16 arguments, but is given 0"),
        ("hash()", "e:1:1: hash takes 1 or 2 arguments"),
        ("permute(1)", "e:1:1: permute takes 2 or 3 arguments"),
        ("case end", "e:1:6: WHEN is expected here"),
        ("1 is 1", "e:1:6: NULL, TRUE or FALSE is expected"),
        ("(1", "e:1:3: a closing bracket is expected"),
        ("", "e:1:1: an expression is expected"),
    ];

    #[test]
    fn values_match_those_of_pgbench() {
        for (text, expected) in BY_PGBENCH {
            assert_eq!(value(text), *expected, "{text}");
        }
    }

    #[test]
    fn what_pgbench_refuses_is_refused() {
        for (text, expected) in REFUSED_BY_PGBENCH {
            let refusal = value(text);
            assert!(refusal.contains(expected), "{text}: {refusal}");
        }
    }

    #[test]
    fn doubles_agree_to_the_printed_digits() {
        for (text, digits) in [
            ("exp(1)", "2.71828182845905"),
            ("pi()", "3.14159265358979"),
            ("sqrt(2.0)", "1.4142135623731"),
            ("power(2, 0.5)", "1.4142135623731"),
            ("1/3.0", "0.333333333333333"),
            ("0.1 + 0.2", "0.3"),
        ] {
            let got = value(text);
            let got: f64 = got.strip_prefix("double ").unwrap().parse().unwrap();
            let expected: f64 = digits.parse().unwrap();
            assert!((got - expected).abs() < 1e-14, "{text}: {got}");
        }
    }

    #[test]
    fn expressions_continue_after_a_backslash_and_have_limited_depth() {
        assert_eq!(value("1 + \\\n 2 \\\r\n * 3"), "int 7");
        let deep = "(".repeat(10_000);
        assert!(value(&deep).contains("too long"));
        let deep = "- ".repeat(300);
        assert!(value(&deep).contains("nested too deep"));
        let wide = "1 + ".repeat(400) + "1";
        assert_eq!(value(&wide), "int 401");
    }
}
