//! Variables: names are mapped to slots when a script is parsed; values are stored by slot.
//!
//! All scripts of a run share their variables; each client has its own values.

use super::value::VariableValue;
use std::collections::HashMap;

/// The slot of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(usize);

/// The names in all scripts.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    known: Vec<String>,
    /// The slot of each name.
    places: HashMap<String, usize>,
    /// Whether something assigns a value to each slot, according to the parsed scripts.
    given: Vec<bool>,
}

impl Names {
    /// The slot of a name; adds the name if it is new.
    pub(super) fn slot(&mut self, name: &str) -> Slot {
        if let Some(slot) = self.find(name) {
            return slot;
        }
        self.known.push(name.to_owned());
        self.places.insert(name.to_owned(), self.known.len() - 1);
        self.given.push(false);
        Slot(self.known.len() - 1)
    }

    /// The slot of a name to which something assigns a value.
    pub(super) fn give(&mut self, name: &str) -> Slot {
        let slot = self.slot(name);
        self.given[slot.0] = true;
        slot
    }

    /// The slot of a name, if a script uses it.
    pub(super) fn find(&self, name: &str) -> Option<Slot> {
        self.places.get(name).copied().map(Slot)
    }

    /// True if something assigns a value to the name.
    pub(super) fn is_given(&self, name: &str) -> bool {
        self.find(name).is_some_and(|slot| self.given[slot.0])
    }

    /// The name of a slot.
    pub(super) fn name(&self, slot: Slot) -> &str {
        &self.known[slot.0]
    }

    /// Number of names.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}

/// True for valid names of variables: letters, digits and underscores, no digit first; characters beyond
/// ASCII count as letters.
pub(super) fn is_name(name: &str) -> bool {
    let first = name.chars().next();
    first.is_some_and(starts_name) && name.chars().all(in_name)
}

/// True if a name may begin with this character.
pub(super) fn starts_name(sign: char) -> bool {
    sign.is_ascii_alphabetic() || sign == '_' || !sign.is_ascii()
}

/// True if a name may contain this character.
pub(super) fn in_name(sign: char) -> bool {
    starts_name(sign) || sign.is_ascii_digit()
}

/// The values of one client.
#[derive(Clone, Debug, Default)]
pub(super) struct Values(Vec<Option<VariableValue>>);

impl Values {
    /// No values yet.
    pub(super) fn none_of(names: &Names) -> Values {
        Values(vec![None; names.len()])
    }

    /// The value of a slot, if it has one.
    #[inline]
    pub(super) fn get(&self, slot: Slot) -> Option<&VariableValue> {
        self.0[slot.0].as_ref()
    }

    /// Sets the value of a slot.
    #[inline]
    pub(super) fn set(&mut self, slot: Slot, value: VariableValue) {
        self.0[slot.0] = Some(value);
    }

    /// Copies all values from another, reusing memory.
    #[inline]
    pub(super) fn restore(&mut self, from: &Values) {
        self.0.clone_from(&from.0);
    }
}

#[cfg(test)]
mod tests {
    use super::{Names, Values, is_name};
    use crate::script::value::{Scalar, VariableValue};

    #[test]
    fn valid_names_match_those_of_pgbench() {
        for name in ["a", "_1", "Ab_9", "ø"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "1a", "a-b", "?column?", "count(*)", ":x"] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn a_name_keeps_its_slot_and_values_can_be_restored() {
        let mut names = Names::default();
        let (a, b) = (names.slot("a"), names.give("b"));
        assert_eq!((names.slot("a"), names.len()), (a, 2));
        assert!(names.is_given("b") && !names.is_given("a") && !names.is_given("c"));
        let mut values = Values::none_of(&names);
        values.set(b, VariableValue::Scalar(Scalar::Integer(1)));
        let before = values.clone();
        values.set(a, VariableValue::Text("x".into()));
        values.restore(&before);
        assert_eq!((values.get(a), values.get(b)), (None, before.get(b)));
    }
}
