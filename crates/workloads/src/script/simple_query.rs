//! A statement as sent by the simple protocol: one text, with the values of its variables inserted.
//!
//! As in pgbench, every `:name` in the text is replaced by the variable's printed value, in quotes and
//! comments too; a name without a value stays unchanged, so `'12:30'` and `x[1:n]` work. Values are not
//! quoted: that is up to the script.

use super::variables::{Names, Slot, Values, in_name, starts_name};
use std::fmt::Write;

/// A statement's text, split at its variables.
#[derive(Debug)]
pub(super) struct SimpleQuery(Vec<Part>);

#[derive(Debug)]
enum Part {
    Text(String),
    /// A variable, and its name as written, including the colon.
    Variable(Slot, String),
}

impl SimpleQuery {
    /// Splits a text.
    pub(super) fn of(written: &str, names: &mut Names) -> SimpleQuery {
        let (mut parts, mut text, mut rest) = (Vec::new(), String::new(), written);
        while let Some(colon) = rest.find(':') {
            let (before, after) = rest.split_at(colon);
            text.push_str(before);
            let name = &after[1..];
            let name = &name[..name.find(|sign| !in_name(sign)).unwrap_or(name.len())];
            if name.starts_with(starts_name) {
                parts.push(Part::Text(std::mem::take(&mut text)));
                parts.push(Part::Variable(names.slot(name), format!(":{name}")));
                rest = &after[1 + name.len()..];
            } else {
                // Consecutive colons stay together: `::int` is a cast.
                let colons = after.find(|sign| sign != ':').unwrap_or(after.len());
                text.push_str(&after[..colons]);
                rest = &after[colons..];
            }
        }
        text.push_str(rest);
        parts.push(Part::Text(text));
        SimpleQuery(parts)
    }

    /// True if its text depends on variables.
    pub(super) fn varies(&self) -> bool {
        self.0.len() > 1
    }

    /// Appends the text with values.
    pub(super) fn write(&self, values: &Values, text: &mut String) {
        for part in &self.0 {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Variable(slot, written) => match values.get(*slot) {
                    Some(held) => write!(text, "{held}").expect("a text takes everything"),
                    None => text.push_str(written),
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SimpleQuery;
    use crate::script::value::VariableValue;
    use crate::script::variables::{Names, Values};

    fn sent(written: &str) -> String {
        let mut names = Names::default();
        let given = [("a", "7"), ("word", "two words"), ("half", "0.5")];
        let slots = given.map(|(name, value)| (names.slot(name), VariableValue::given(value)));
        let sent = SimpleQuery::of(written, &mut names);
        let mut values = Values::none_of(&names);
        for (slot, value) in slots {
            values.set(slot, value);
        }
        let mut text = String::new();
        sent.write(&values, &mut text);
        text
    }

    #[test]
    fn values_replace_their_names_everywhere() {
        for (written, expected) in [
            ("SELECT 1", "SELECT 1"),
            ("SELECT :a, :a::int", "SELECT 7, 7::int"),
            ("SELECT ':word' /* :half */", "SELECT 'two words' /* 0.5 */"),
            ("SELECT '12:30', x[1:n], :nope", "SELECT '12:30', x[1:n], :nope"),
            (":a", "7"),
            (":a:a", "77"),
            ("::a :", "::a :"),
            ("", ""),
        ] {
            assert_eq!(sent(written), expected);
        }
    }

    #[test]
    fn only_a_text_with_variables_varies() {
        let varies = |written| SimpleQuery::of(written, &mut Names::default()).varies();
        assert!(varies("SELECT :a") && !varies("SELECT '12:30'::text"));
    }
}
