//! Variables: names become places when a script is read, values are kept by place.
//!
//! All scripts of a run share their variables, and each client has its own values of them.

use super::value::Held;
use std::collections::HashMap;

/// The place of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(usize);

/// The names of all scripts.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    known: Vec<String>,
    /// The place of each name.
    places: HashMap<String, usize>,
    /// The places that something gives a value, as far as reading the scripts tells.
    given: Vec<bool>,
}

impl Names {
    /// The place of a name, a new one if it is new.
    pub(super) fn slot(&mut self, name: &str) -> Slot {
        if let Some(slot) = self.find(name) {
            return slot;
        }
        self.known.push(name.to_owned());
        self.places.insert(name.to_owned(), self.known.len() - 1);
        self.given.push(false);
        Slot(self.known.len() - 1)
    }

    /// The place of a name that something gives a value.
    pub(super) fn give(&mut self, name: &str) -> Slot {
        let slot = self.slot(name);
        self.given[slot.0] = true;
        slot
    }

    /// The place of a name that some script uses.
    pub(super) fn find(&self, name: &str) -> Option<Slot> {
        self.places.get(name).copied().map(Slot)
    }

    /// True if something is known to give the name a value.
    pub(super) fn is_given(&self, name: &str) -> bool {
        self.find(name).is_some_and(|slot| self.given[slot.0])
    }

    /// The name of a place.
    pub(super) fn name(&self, slot: Slot) -> &str {
        &self.known[slot.0]
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}

/// True for names that a variable may have: letters, digits and underscores, no digit first; any
/// character beyond ASCII counts as a letter.
pub(super) fn is_name(name: &str) -> bool {
    let first = name.chars().next();
    first.is_some_and(starts_name) && name.chars().all(in_name)
}

/// True if a name may begin with it.
pub(super) fn starts_name(sign: char) -> bool {
    sign.is_ascii_alphabetic() || sign == '_' || !sign.is_ascii()
}

/// True if a name may hold it.
pub(super) fn in_name(sign: char) -> bool {
    starts_name(sign) || sign.is_ascii_digit()
}

/// The values of one client.
#[derive(Clone, Debug, Default)]
pub(super) struct Values(Vec<Option<Held>>);

impl Values {
    /// None given yet.
    pub(super) fn none_of(names: &Names) -> Values {
        Values(vec![None; names.len()])
    }

    /// The value of a place, if it has one.
    #[inline]
    pub(super) fn get(&self, slot: Slot) -> Option<&Held> {
        self.0[slot.0].as_ref()
    }

    /// Gives a place a value.
    #[inline]
    pub(super) fn set(&mut self, slot: Slot, value: Held) {
        self.0[slot.0] = Some(value);
    }

    /// Takes over all values of another, in the memory that is there.
    #[inline]
    pub(super) fn restore(&mut self, from: &Values) {
        self.0.clone_from(&from.0);
    }
}

#[cfg(test)]
mod tests {
    use super::{Names, Values, is_name};
    use crate::script::value::{Held, Scalar};

    #[test]
    fn names_are_those_of_pgbench() {
        for name in ["a", "_1", "Ab_9", "ø"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "1a", "a-b", "?column?", "count(*)", ":x"] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn a_name_keeps_its_place_and_values_come_back() {
        let mut names = Names::default();
        let (a, b) = (names.slot("a"), names.give("b"));
        assert_eq!((names.slot("a"), names.len()), (a, 2));
        assert!(names.is_given("b") && !names.is_given("a") && !names.is_given("c"));
        let mut values = Values::none_of(&names);
        values.set(b, Held::Scalar(Scalar::Integer(1)));
        let before = values.clone();
        values.set(a, Held::Text("x".into()));
        values.restore(&before);
        assert_eq!((values.get(a), values.get(b)), (None, before.get(b)));
    }
}
