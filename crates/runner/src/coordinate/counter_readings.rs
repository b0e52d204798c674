//! Reads the store's own counters, before the first client connects and after the last has left.

use crate::account::store_counters::{StoreCounter, grown};
use crate::drive::executor::block_on;
use syncline_contract::{Counter, Target};
use syncline_instrument::Nanos;

/// The store's counters and round trip around a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct CounterReadings {
    before: Vec<Counter>,
    pub(crate) round_trip_ns: Option<Nanos>,
    /// The reasons for missing answers.
    pub(crate) refusals: Vec<String>,
}

impl CounterReadings {
    /// Reads before the clients connect.
    pub(crate) fn before<T: Target>(target: &T) -> CounterReadings {
        let mut readings = CounterReadings::default();
        readings.round_trip_ns = readings.keep(block_on(target.round_trip_ns())).flatten();
        readings.before = readings.keep(block_on(target.counters())).unwrap_or_default();
        readings
    }

    /// Reads again after the clients have left.
    pub(crate) fn after<T: Target>(&mut self, target: &T) -> Vec<StoreCounter> {
        if self.before.is_empty() {
            return Vec::new();
        }
        let after = self.keep(block_on(target.counters())).unwrap_or_default();
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
