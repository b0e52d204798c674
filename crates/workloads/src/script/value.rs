//! Values of a script: what expressions compute with, what variables hold, and how one becomes the
//! other.
//!
//! Expressions know null, booleans, integers and doubles; a variable may also hold text or bytes that a
//! store answered or a command line gave, which become one of the four when an expression asks.

use std::fmt;
use syncline_contract::Value;

/// A value that an expression computes with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
}

/// Why an expression has no value, in words.
pub(super) type Refusal = String;

impl Scalar {
    /// Whether a condition holds: numbers but zero do, null does not.
    pub(super) fn holds(self) -> bool {
        match self {
            Scalar::Null => false,
            Scalar::Boolean(value) => value,
            Scalar::Integer(value) => value != 0,
            Scalar::Double(value) => value != 0.0,
        }
    }

    /// As an integer; a double is rounded, halves to the even one.
    #[inline]
    pub(super) fn integer(self) -> Result<i64, Refusal> {
        match self {
            Scalar::Integer(value) => Ok(value),
            Scalar::Double(value) => rounded(value),
            Scalar::Null | Scalar::Boolean(_) => Err(self.no("integer")),
        }
    }

    /// As a double.
    #[inline]
    pub(super) fn double(self) -> Result<f64, Refusal> {
        match self {
            Scalar::Integer(value) => Ok(value as f64),
            Scalar::Double(value) => Ok(value),
            Scalar::Null | Scalar::Boolean(_) => Err(self.no("double")),
        }
    }

    /// As a boolean; numbers are none.
    pub(super) fn boolean(self) -> Result<bool, Refusal> {
        match self {
            Scalar::Boolean(value) => Ok(value),
            _ => Err(self.no("boolean")),
        }
    }

    #[cold]
    fn no(self, wanted: &str) -> Refusal {
        let kind = match self {
            Scalar::Null => "null",
            Scalar::Boolean(_) => "a boolean",
            Scalar::Integer(_) => "an integer",
            Scalar::Double(_) => "a double",
        };
        format!("{kind} is no {wanted}")
    }
}

fn rounded(value: f64) -> Result<i64, Refusal> {
    /// The first double above every 64-bit integer; its negative is the least of them.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    let even = value.round_ties_even();
    if (-BEYOND..BEYOND).contains(&even) {
        Ok(even as i64)
    } else {
        Err("a double is too large for an integer".to_owned())
    }
}

/// What a variable holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Held {
    Scalar(Scalar),
    /// A double that a store answered: written with all its digits, as the store wrote it.
    Answered(f64),
    Text(Box<str>),
    Bytes(Box<[u8]>),
}

impl Held {
    /// What was given on the command line: a number if it looks like one, else text.
    pub(super) fn given(text: &str) -> Held {
        let integer = text.parse().map(Scalar::Integer);
        let double = || text.parse().map(Scalar::Double);
        match integer.or_else(|_| double()) {
            Ok(Scalar::Double(value)) if !value.is_finite() => Held::Text(text.into()),
            Ok(number) => Held::Scalar(number),
            Err(_) => Held::Text(text.into()),
        }
    }

    /// What a store answered.
    pub(super) fn answered(value: Value<'_>) -> Held {
        match value {
            Value::Null => Held::Scalar(Scalar::Null),
            Value::Int(number) | Value::Timestamp(number) => Held::Scalar(Scalar::Integer(number)),
            Value::Float(number) => Held::Answered(number),
            // As its digits, so that it goes back to the store as exact as it came.
            Value::Decimal(decimal) => Held::Text(digits(decimal.units, decimal.scale).into()),
            Value::Text(text) => Held::Text(text.into()),
            Value::Bytes(bytes) => Held::Bytes(bytes.into()),
        }
    }

    /// As a parameter of a statement.
    #[inline]
    pub(super) fn parameter(&self) -> Value<'_> {
        match self {
            Held::Scalar(Scalar::Null) => Value::Null,
            Held::Scalar(Scalar::Boolean(value)) => Value::Int(i64::from(*value)),
            Held::Scalar(Scalar::Integer(value)) => Value::Int(*value),
            Held::Scalar(Scalar::Double(value)) | Held::Answered(value) => Value::Float(*value),
            Held::Text(text) => Value::Text(text),
            Held::Bytes(bytes) => Value::Bytes(bytes),
        }
    }

    /// As an expression takes it.
    #[inline]
    pub(super) fn scalar(&self) -> Result<Scalar, Refusal> {
        match self {
            Held::Scalar(scalar) => Ok(*scalar),
            Held::Answered(value) => Ok(Scalar::Double(*value)),
            Held::Text(text) => read(text),
            Held::Bytes(_) => Err("bytes have no value in an expression".to_owned()),
        }
    }
}

/// As it stands in a command of the shell, and in a statement's text: as pgbench prints it.
impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Held::Scalar(Scalar::Null) => f.write_str("NULL"),
            Held::Scalar(Scalar::Boolean(value)) => write!(f, "{value}"),
            Held::Scalar(Scalar::Integer(value)) => write!(f, "{value}"),
            Held::Scalar(Scalar::Double(value)) => f.write_str(&fifteen_digits(*value)),
            Held::Answered(value) => f.write_str(&all_digits(*value)),
            Held::Text(text) => f.write_str(text),
            Held::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

/// Text as a value: null, the words for true and false and their beginnings, numbers.
fn read(text: &str) -> Result<Scalar, Refusal> {
    let lower = text.to_ascii_lowercase();
    let begins = |word: &str| !lower.is_empty() && word.starts_with(&lower);
    if lower == "null" {
        Ok(Scalar::Null)
    } else if begins("true") || begins("yes") || lower == "on" {
        Ok(Scalar::Boolean(true))
    } else if begins("false") || begins("no") || lower == "off" || lower == "of" {
        Ok(Scalar::Boolean(false))
    } else {
        match Held::given(text.trim_start()) {
            Held::Scalar(number) => Ok(number),
            _ => Err(format!("\"{text}\" is no value of an expression")),
        }
    }
}

/// A double as pgbench prints it, which is C's `%.15g` but for what is no number: of 15 digits those that
/// are not trailing zeros.
fn fifteen_digits(value: f64) -> String {
    as_c_writes(value, &format!("{value:.14e}"))
}

/// A double as PostgreSQL answers it: the fewest digits that tell it from all others.
fn all_digits(value: f64) -> String {
    as_c_writes(value, &format!("{value:e}"))
}

/// A number from its scientific notation, with an exponent where that is below -4 or above 14, and without
/// trailing zeros.
fn as_c_writes(value: f64, scientific: &str) -> String {
    const DIGITS: i32 = 15;
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return format!("{}Infinity", if value < 0.0 { "-" } else { "" });
    }
    let (mantissa, exponent) = scientific.split_once('e').expect("it has an exponent");
    let power: i32 = exponent.parse().expect("an exponent is a number");
    let bare = |text: &str| {
        let stripped = text.trim_end_matches('0').trim_end_matches('.');
        (if text.contains('.') { stripped } else { text }).to_owned()
    };
    if (-4..DIGITS).contains(&power) {
        let given = mantissa.bytes().filter(u8::is_ascii_digit).count() as i32;
        let places = usize::try_from(given - 1 - power).unwrap_or(0);
        return bare(&format!("{value:.places$}"));
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", bare(mantissa), power.unsigned_abs())
}

fn digits(units: i64, scale: u8) -> String {
    let (sign, units) = (if units < 0 { "-" } else { "" }, units.unsigned_abs());
    let scale = usize::from(scale);
    let padded = format!("{units:0width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::{Held, Scalar};
    use syncline_contract::{Decimal, Value};

    #[test]
    fn text_becomes_what_pgbench_makes_of_it() {
        for (text, value) in [
            ("null", Scalar::Null),
            ("NULL", Scalar::Null),
            ("tr", Scalar::Boolean(true)),
            ("Y", Scalar::Boolean(true)),
            ("on", Scalar::Boolean(true)),
            ("n", Scalar::Boolean(false)),
            ("off", Scalar::Boolean(false)),
            ("of", Scalar::Boolean(false)),
            ("+7", Scalar::Integer(7)),
            (" -7", Scalar::Integer(-7)),
            ("1.5", Scalar::Double(1.5)),
            ("1e3", Scalar::Double(1000.0)),
        ] {
            assert_eq!(Held::Text(text.into()).scalar(), Ok(value), "{text}");
        }
        for text in ["", "o", "house", "1x", "inf", "nan"] {
            assert!(Held::Text(text.into()).scalar().is_err(), "{text}");
        }
    }

    #[test]
    fn an_answer_goes_back_as_it_came() {
        for value in [
            Value::Null,
            Value::Int(-3),
            Value::Float(0.5),
            Value::Text("7"),
            Value::Bytes(&[1, 2]),
        ] {
            assert_eq!(Held::answered(value).parameter(), value);
        }
        let price = |units, scale| Held::answered(Value::Decimal(Decimal { units, scale }));
        assert_eq!(price(-5, 2).to_string(), "-0.05");
        assert_eq!(price(1234, 2).to_string(), "12.34");
        assert_eq!(price(12, 0).to_string(), "12");
        assert_eq!(price(1250, 3).scalar(), Ok(Scalar::Double(1.25)));
    }

    #[test]
    fn what_a_command_line_gives_is_a_number_if_it_looks_like_one() {
        assert_eq!(Held::given("12"), Held::Scalar(Scalar::Integer(12)));
        assert_eq!(Held::given("1.5"), Held::Scalar(Scalar::Double(1.5)));
        assert_eq!(Held::given("x"), Held::Text("x".into()));
        assert_eq!(Held::given("inf"), Held::Text("inf".into()));
    }

    #[test]
    fn doubles_print_as_c_prints_fifteen_digits() {
        for (value, printed) in [
            (0.1 + 0.2, "0.3"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (123_456_789_012_345_678.0, "1.23456789012346e+17"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (2.0 / 3.0, "0.666666666666667"),
            (1e-300, "1e-300"),
            (100.0, "100"),
            (0.0, "0"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (-f64::NAN, "NaN"),
        ] {
            assert_eq!(Held::Scalar(Scalar::Double(value)).to_string(), printed);
        }
    }

    #[test]
    fn an_answered_double_keeps_all_its_digits() {
        for (value, printed) in [
            (0.1 + 0.2, "0.30000000000000004"),
            (0.1, "0.1"),
            (-2.0, "-2"),
            (0.0, "0"),
            (100.0, "100"),
            (123_456_789_012_345.67, "123456789012345.67"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (1_234_567_890_123_456.0, "1.234567890123456e+15"),
            (0.0001, "0.0001"),
            (0.000_012_345_678_901_234_567, "1.2345678901234568e-05"),
            (2.0 / 3.0, "0.6666666666666666"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ] {
            let held = Held::answered(Value::Float(value));
            assert_eq!(held.to_string(), printed);
            if value.is_finite() {
                assert_eq!(printed.parse(), Ok(value));
                assert_eq!(held.scalar(), Ok(Scalar::Double(value)));
                assert_eq!(held.parameter(), Value::Float(value));
            }
        }
    }

    #[test]
    fn doubles_are_rounded_to_the_even_integer_and_must_fit() {
        assert_eq!(Scalar::Double(2.5).integer(), Ok(2));
        assert_eq!(Scalar::Double(3.5).integer(), Ok(4));
        assert_eq!(Scalar::Double(-5.9).integer(), Ok(-6));
        assert_eq!(Scalar::Double(-9_223_372_036_854_775_808.0).integer(), Ok(i64::MIN));
        for beyond in [1e30, 9_223_372_036_854_775_808.0, f64::NAN, f64::INFINITY] {
            assert!(Scalar::Double(beyond).integer().is_err(), "{beyond}");
        }
    }
}
