//! One value of a row in JSON, by the kind of its column.
//!
//! | kind | JSON | example |
//! |---|---|---|
//! | `int` | a number | `-7` |
//! | `timestamp` | a number: microseconds since 1970-01-01 UTC | `1764400000000000` |
//! | `float` | a string: the shortest decimal number that reads as the same bits; `inf`, `-inf`; `NaN:` and the bits | `"0.1"`, `"NaN:7ff8000000000000"` |
//! | `decimal(s)` | a string with exactly `s` digits after the point | `"-12.34"` |
//! | `bool` | a boolean | `true` |
//! | `unsigned` | a number | `18446744073709551615` |
//! | `date` | a string | `"2026-11-30"` |
//! | `uuid` | a string | `"67e55044-10b1-426f-9247-bb680e5fe0c8"` |
//! | `text` | a string | `"ada"` |
//! | `bytes` | a string in Base64 with padding | `"AAEC"` |
//!
//! Null is `null` for every kind.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use syncline_engine::{Date, Decimal, Kind, OwnedValue, Uuid, Value};

/// The bytes of a value in memory, about.
pub(crate) fn memory_bytes(value: &OwnedValue) -> usize {
    match value {
        OwnedValue::Text(text) => text.len(),
        OwnedValue::Bytes(bytes) => bytes.len(),
        _ => size_of::<u64>(),
    }
}

/// Reads a value of a column of that kind; the error says what was expected.
pub(crate) fn read(json: Json, kind: Kind) -> Result<OwnedValue, String> {
    let value = match (kind, json) {
        (_, Json::Null) => Some(OwnedValue::Null),
        (Kind::Int, Json::Number(number)) => number.as_i64().map(OwnedValue::Int),
        (Kind::Timestamp, Json::Number(number)) => number.as_i64().map(OwnedValue::Timestamp),
        (Kind::Float, Json::String(text)) => float(&text).map(OwnedValue::Float),
        (Kind::Decimal { scale }, Json::String(text)) => {
            units(&text, scale).map(|units| OwnedValue::Decimal(Decimal { units, scale }))
        }
        (Kind::Bool, Json::Bool(flag)) => Some(OwnedValue::Bool(flag)),
        (Kind::Unsigned, Json::Number(number)) => number.as_u64().map(OwnedValue::Unsigned),
        (Kind::Date, Json::String(text)) => {
            text.parse().ok().map(|date: Date| OwnedValue::Date(date.days()))
        }
        (Kind::Uuid, Json::String(text)) => {
            text.parse().ok().map(|uuid: Uuid| OwnedValue::Uuid(uuid.0))
        }
        (Kind::Text, Json::String(text)) => Some(OwnedValue::Text(text)),
        (Kind::Bytes, Json::String(text)) => STANDARD.decode(text).ok().map(OwnedValue::Bytes),
        _ => None,
    };
    value.ok_or_else(|| format!("{kind} is expected there"))
}

/// Appends a value in JSON.
pub(crate) fn write(line: &mut Vec<u8>, value: Value<'_>) -> serde_json::Result<()> {
    let text = match value {
        Value::Null => return serde_json::to_writer(line, &Json::Null),
        Value::Int(number) | Value::Timestamp(number) => {
            return serde_json::to_writer(line, &number);
        }
        Value::Bool(flag) => return serde_json::to_writer(line, &flag),
        Value::Unsigned(number) => return serde_json::to_writer(line, &number),
        Value::Date(days) => Date::from_days(days).to_string(),
        Value::Uuid(bytes) => Uuid(*bytes).to_string(),
        Value::Text(text) => return serde_json::to_writer(line, text),
        Value::Float(number) if number.is_nan() => format!("NaN:{:016x}", number.to_bits()),
        Value::Float(number) => number.to_string(),
        Value::Decimal(number) => decimal(number),
        Value::Bytes(bytes) => STANDARD.encode(bytes),
    };
    serde_json::to_writer(line, &text)
}

fn float(text: &str) -> Option<f64> {
    if let Some(bits) = text.strip_prefix("NaN:") {
        let number = f64::from_bits(u64::from_str_radix(bits, 16).ok()?);
        return number.is_nan().then_some(number);
    }
    text.parse().ok().filter(|number: &f64| !number.is_nan())
}

fn decimal(number: Decimal) -> String {
    let sign = if number.units < 0 { "-" } else { "" };
    let (units, scale) = (number.units.unsigned_abs(), usize::from(number.scale));
    if scale == 0 {
        return format!("{sign}{units}");
    }
    let digits = format!("{units:0width$}", width = scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    format!("{sign}{whole}.{part}")
}

fn units(text: &str, scale: u8) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    let digits = if scale == 0 {
        digits.to_owned()
    } else {
        let (whole, part) = digits.split_once('.')?;
        if part.len() != usize::from(scale) || whole.is_empty() {
            return None;
        }
        format!("{whole}{part}")
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    format!("{sign}{digits}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::write;
    use syncline_engine::{Decimal, Kind, OwnedValue, Value};

    fn json(value: Value<'_>) -> String {
        let mut line = Vec::new();
        write(&mut line, value).unwrap();
        String::from_utf8(line).unwrap()
    }

    fn read(json: &str, kind: Kind) -> Result<OwnedValue, String> {
        super::read(serde_json::from_str(json).unwrap(), kind)
    }

    #[test]
    fn extreme_values_survive() {
        for number in [0, 1, -1, i64::MIN, i64::MAX] {
            assert_eq!(read(&json(Value::Int(number)), Kind::Int), Ok(OwnedValue::Int(number)));
            for scale in [0, 1, 2, 18] {
                let decimal = Decimal { units: number, scale };
                let text = json(Value::Decimal(decimal));
                assert_eq!(
                    read(&text, Kind::Decimal { scale }),
                    Ok(OwnedValue::Decimal(decimal)),
                    "{text}"
                );
            }
        }
        let floats = [0.0, -0.0, 0.1, 1e300, 5e-324, f64::MAX, f64::INFINITY, f64::NEG_INFINITY];
        let nans = [f64::NAN, -f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001)];
        for number in floats.into_iter().chain(nans) {
            let text = json(Value::Float(number));
            let Ok(OwnedValue::Float(back)) = read(&text, Kind::Float) else {
                panic!("{text} is not a float");
            };
            assert_eq!(back.to_bits(), number.to_bits(), "{text}");
        }
        assert_eq!(json(Value::Decimal(Decimal { units: -5, scale: 2 })), "\"-0.05\"");
        assert_eq!(json(Value::Bytes(&[0, 1, 2])), "\"AAEC\"");
        let others = [
            (Value::Bool(true), "true"),
            (Value::Unsigned(u64::MAX), "18446744073709551615"),
            (Value::Date(i32::MIN), "\"-5877641-06-23\""),
            (Value::Date(20_787), "\"2026-11-30\""),
            (Value::Uuid(&[0x5a; 16]), "\"5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a\""),
        ];
        for (value, text) in others {
            assert_eq!(json(value), text);
            assert_eq!(read(text, value.kind().unwrap()), Ok(OwnedValue::from(value)));
        }
        for text in ["", "\u{0}\n\r\t\"\\", "\u{1f600}\u{2028}"] {
            let written = json(Value::Text(text));
            assert!(!written.contains('\n'), "{written}");
            assert_eq!(read(&written, Kind::Text), Ok(OwnedValue::Text(text.to_owned())));
        }
    }

    #[test]
    fn values_of_another_kind_and_inexact_ones_are_refused() {
        let decimal = Kind::Decimal { scale: 2 };
        for (json, kind) in [
            ("1.5", Kind::Int),
            ("9223372036854775808", Kind::Int),
            ("\"1\"", Kind::Int),
            ("1.5", Kind::Float),
            ("\"nan\"", Kind::Float),
            ("\"NaN:0\"", Kind::Float),
            ("\"1.5\"", decimal),
            ("\"1.555\"", decimal),
            ("\".55\"", decimal),
            ("\"+1.55\"", decimal),
            ("\"1.-5\"", decimal),
            ("\"92233720368547758.08\"", decimal),
            ("1", Kind::Text),
            ("\"AAE\"", Kind::Bytes),
            ("[]", Kind::Bytes),
            ("true", Kind::Timestamp),
            ("1", Kind::Bool),
            ("-1", Kind::Unsigned),
            ("\"2026-02-29\"", Kind::Date),
            ("\"5a\"", Kind::Uuid),
        ] {
            assert!(read(json, kind).is_err(), "{json} as {kind}");
        }
    }
}
