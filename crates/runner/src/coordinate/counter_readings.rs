//! Asks the store for its own counters, before the first client connected and after the last had gone.

use crate::account::store_counters::{StoreCounter, grown};
use crate::drive::executor::ask;
use syncline_contract::{Counter, Target};
use syncline_instrument::Nanos;

/// What a store was asked around its run.
#[derive(Clone, Debug, Default)]
pub(crate) struct CounterReadings {
    before: Vec<Counter>,
    pub(crate) round_trip_ns: Option<Nanos>,
    /// Why something was not answered.
    pub(crate) refusals: Vec<String>,
}

impl CounterReadings {
    /// Asks before the clients connect.
    pub(crate) fn before<T: Target>(target: &T) -> CounterReadings {
        let mut asked = CounterReadings::default();
        asked.round_trip_ns = asked.keep(ask(target.round_trip_ns())).flatten();
        asked.before = asked.keep(ask(target.counters())).unwrap_or_default();
        asked
    }

    /// Asks again when they are gone.
    pub(crate) fn after<T: Target>(&mut self, target: &T) -> Vec<StoreCounter> {
        if self.before.is_empty() {
            return Vec::new();
        }
        let after = self.keep(ask(target.counters())).unwrap_or_default();
        grown(&self.before, &after)
    }

    fn keep<V>(&mut self, answer: Result<V, syncline_contract::Failure>) -> Option<V> {
        match answer {
            Ok(value) => Some(value),
            Err(failure) => {
                self.refusals.push(failure.what);
                None
            }
        }
    }
}
