//! Values of a script: those of expressions, those of variables, and conversions between them.
//!
//! Expressions know null, booleans, integers and doubles. A variable may also hold text or bytes from a store
//! or a command line, which are converted to one of the four for an expression.

use std::fmt;
use syncline_contract::Value;

/// A value of an expression.
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
    /// True if a condition with this value holds: any number except zero does, null does not.
    pub(super) fn holds(self) -> bool {
        match self {
            Scalar::Null => false,
            Scalar::Boolean(value) => value,
            Scalar::Integer(value) => value != 0,
            Scalar::Double(value) => value != 0.0,
        }
    }

    /// Converts to an integer; a double is rounded, halves to even.
    #[inline]
    pub(super) fn integer(self) -> Result<i64, Refusal> {
        match self {
            Scalar::Integer(value) => Ok(value),
            Scalar::Double(value) => rounded(value),
            Scalar::Null | Scalar::Boolean(_) => Err(self.no("an integer")),
        }
    }

    /// Converts to a double.
    #[inline]
    pub(super) fn double(self) -> Result<f64, Refusal> {
        match self {
            Scalar::Integer(value) => Ok(value as f64),
            Scalar::Double(value) => Ok(value),
            Scalar::Null | Scalar::Boolean(_) => Err(self.no("a double")),
        }
    }

    /// Converts to a boolean, which numbers cannot.
    pub(super) fn boolean(self) -> Result<bool, Refusal> {
        match self {
            Scalar::Boolean(value) => Ok(value),
            _ => Err(self.no("a boolean")),
        }
    }

    #[cold]
    fn no(self, expected: &str) -> Refusal {
        let kind = match self {
            Scalar::Null => "null",
            Scalar::Boolean(_) => "a boolean",
            Scalar::Integer(_) => "an integer",
            Scalar::Double(_) => "a double",
        };
        format!("{kind} is not {expected}")
    }
}

fn rounded(value: f64) -> Result<i64, Refusal> {
    /// The first double above all 64-bit integers; its negative is the smallest integer.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    let even = value.round_ties_even();
    if (-BEYOND..BEYOND).contains(&even) {
        Ok(even as i64)
    } else {
        Err("a double is too large for an integer".to_owned())
    }
}

/// The value of a variable.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum VariableValue {
    Scalar(Scalar),
    /// A double from a store: printed with all its digits, as the store wrote it.
    Answered(f64),
    Text(Box<str>),
    Bytes(Box<[u8]>),
}

impl VariableValue {
    /// A value from the command line: a number if it looks like one, otherwise text.
    pub(super) fn given(text: &str) -> VariableValue {
        let integer = text.parse().map(Scalar::Integer);
        let double = || text.parse().map(Scalar::Double);
        match integer.or_else(|_| double()) {
            Ok(Scalar::Double(value)) if !value.is_finite() => VariableValue::Text(text.into()),
            Ok(number) => VariableValue::Scalar(number),
            Err(_) => VariableValue::Text(text.into()),
        }
    }

    /// A value from a store.
    pub(super) fn answered(value: Value<'_>) -> VariableValue {
        match value {
            Value::Null => VariableValue::Scalar(Scalar::Null),
            Value::Int(number) | Value::Timestamp(number) => {
                VariableValue::Scalar(Scalar::Integer(number))
            }
            Value::Float(number) => VariableValue::Answered(number),
            // As digits, so that it goes back to the store unchanged.
            Value::Decimal(decimal) => {
                VariableValue::Text(digits(decimal.units, decimal.scale).into())
            }
            Value::Text(text) => VariableValue::Text(text.into()),
            Value::Bytes(bytes) => VariableValue::Bytes(bytes.into()),
        }
    }

    /// Converts to a parameter of a statement.
    #[inline]
    pub(super) fn parameter(&self) -> Value<'_> {
        match self {
            VariableValue::Scalar(Scalar::Null) => Value::Null,
            VariableValue::Scalar(Scalar::Boolean(value)) => Value::Int(i64::from(*value)),
            VariableValue::Scalar(Scalar::Integer(value)) => Value::Int(*value),
            VariableValue::Scalar(Scalar::Double(value)) | VariableValue::Answered(value) => {
                Value::Float(*value)
            }
            VariableValue::Text(text) => Value::Text(text),
            VariableValue::Bytes(bytes) => Value::Bytes(bytes),
        }
    }

    /// Converts for an expression.
    #[inline]
    pub(super) fn scalar(&self) -> Result<Scalar, Refusal> {
        match self {
            VariableValue::Scalar(scalar) => Ok(*scalar),
            VariableValue::Answered(value) => Ok(Scalar::Double(*value)),
            VariableValue::Text(text) => read(text),
            VariableValue::Bytes(_) => Err("bytes have no value in an expression".to_owned()),
        }
    }
}

/// The text for a shell command or a statement: as printed by pgbench.
impl fmt::Display for VariableValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VariableValue::Scalar(Scalar::Null) => f.write_str("NULL"),
            VariableValue::Scalar(Scalar::Boolean(value)) => write!(f, "{value}"),
            VariableValue::Scalar(Scalar::Integer(value)) => write!(f, "{value}"),
            VariableValue::Scalar(Scalar::Double(value)) => f.write_str(&fifteen_digits(*value)),
            VariableValue::Answered(value) => f.write_str(&all_digits(*value)),
            VariableValue::Text(text) => f.write_str(text),
            VariableValue::Bytes(bytes) => {
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

/// Converts text: null, the words for true and false and their prefixes, numbers.
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
        match VariableValue::given(text.trim_start()) {
            VariableValue::Scalar(number) => Ok(number),
            _ => Err(format!("\"{text}\" is not a value of an expression")),
        }
    }
}

/// A double as pgbench prints it: like C's `%.15g`, up to 15 digits without trailing zeros, except for
/// infinities and NaN.
fn fifteen_digits(value: f64) -> String {
    as_c_writes(value, &format!("{value:.14e}"))
}

/// A double as PostgreSQL returns it: the fewest digits that distinguish it from all others.
fn all_digits(value: f64) -> String {
    as_c_writes(value, &format!("{value:e}"))
}

/// Rewrites scientific notation: with an exponent only below -4 or above 14, and without trailing zeros.
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
    use super::{Scalar, VariableValue};
    use syncline_contract::{Decimal, Value};

    #[test]
    fn text_is_converted_as_in_pgbench() {
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
            assert_eq!(VariableValue::Text(text.into()).scalar(), Ok(value), "{text}");
        }
        for text in ["", "o", "house", "1x", "inf", "nan"] {
            assert!(VariableValue::Text(text.into()).scalar().is_err(), "{text}");
        }
    }

    #[test]
    fn a_stored_value_is_sent_back_unchanged() {
        for value in [
            Value::Null,
            Value::Int(-3),
            Value::Float(0.5),
            Value::Text("7"),
            Value::Bytes(&[1, 2]),
        ] {
            assert_eq!(VariableValue::answered(value).parameter(), value);
        }
        let price =
            |units, scale| VariableValue::answered(Value::Decimal(Decimal { units, scale }));
        assert_eq!(price(-5, 2).to_string(), "-0.05");
        assert_eq!(price(1234, 2).to_string(), "12.34");
        assert_eq!(price(12, 0).to_string(), "12");
        assert_eq!(price(1250, 3).scalar(), Ok(Scalar::Double(1.25)));
    }

    #[test]
    fn command_line_values_are_numbers_if_they_look_like_them() {
        assert_eq!(VariableValue::given("12"), VariableValue::Scalar(Scalar::Integer(12)));
        assert_eq!(VariableValue::given("1.5"), VariableValue::Scalar(Scalar::Double(1.5)));
        assert_eq!(VariableValue::given("x"), VariableValue::Text("x".into()));
        assert_eq!(VariableValue::given("inf"), VariableValue::Text("inf".into()));
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
            assert_eq!(VariableValue::Scalar(Scalar::Double(value)).to_string(), printed);
        }
    }

    #[test]
    fn a_double_from_a_store_keeps_all_its_digits() {
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
            let held = VariableValue::answered(Value::Float(value));
            assert_eq!(held.to_string(), printed);
            if value.is_finite() {
                assert_eq!(printed.parse(), Ok(value));
                assert_eq!(held.scalar(), Ok(Scalar::Double(value)));
                assert_eq!(held.parameter(), Value::Float(value));
            }
        }
    }

    #[test]
    fn doubles_are_rounded_half_to_even_and_must_fit() {
        assert_eq!(Scalar::Double(2.5).integer(), Ok(2));
        assert_eq!(Scalar::Double(3.5).integer(), Ok(4));
        assert_eq!(Scalar::Double(-5.9).integer(), Ok(-6));
        assert_eq!(Scalar::Double(-9_223_372_036_854_775_808.0).integer(), Ok(i64::MIN));
        for beyond in [1e30, 9_223_372_036_854_775_808.0, f64::NAN, f64::INFINITY] {
            assert!(Scalar::Double(beyond).integer().is_err(), "{beyond}");
        }
    }
}
