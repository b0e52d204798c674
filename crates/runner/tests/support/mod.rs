//! Plans and observers for runs on the scripted store.

#![allow(dead_code, reason = "each test file uses its part of the support")]
#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use syncline_runner::{Error, Event, Observer, RunPlan, RunResult, run};
use syncline_testkit::{Keys, Store};

/// A plan of a few clients over two workers that measures `ms` milliseconds without warm-up.
pub(crate) fn plan(clients: usize, ms: u64) -> RunPlan {
    RunPlan {
        clients,
        workers: Some(2),
        duration: Some(Duration::from_millis(ms)),
        warm_up: Duration::ZERO,
        drain: Duration::from_secs(20),
        interval: Duration::from_millis(20),
        ..RunPlan::default()
    }
}

/// The same plan, but ended only by a number of transactions.
pub(crate) fn counted(clients: usize, transactions: u64) -> RunPlan {
    RunPlan { duration: None, transactions: Some(transactions), ..plan(clients, 1) }
}

/// Runs keys on a store, without an observer.
pub(crate) fn go(store: &Store, plan: &RunPlan) -> Result<RunResult, Error> {
    run(store, &Keys::new(store), plan, &AtomicBool::new(false), &())
}

/// Records the names of events, and calls `react` for each.
pub(crate) struct EventRecorder<F: Fn(&str)> {
    pub(crate) events: Mutex<Vec<String>>,
    pub(crate) react: F,
}

impl<F: Fn(&str)> EventRecorder<F> {
    pub(crate) fn new(react: F) -> EventRecorder<F> {
        let events = Mutex::default();
        EventRecorder { events, react }
    }

    pub(crate) fn events(&self) -> Vec<String> {
        self.events.lock().unwrap().clone()
    }
}

impl<F: Fn(&str)> Observer for EventRecorder<F> {
    fn event(&self, event: Event<'_>) {
        let name = match event {
            Event::Case { name, repetition, .. } => format!("case {name}{repetition}"),
            Event::Creating => "creating".to_owned(),
            Event::Loading { units, of } => format!("loading {units}/{of}"),
            Event::Connecting { clients } => format!("connecting {clients}"),
            Event::Started(head) => format!("started {}", head.target.name),
            Event::WarmingUp => "warming up".to_owned(),
            Event::MeasuringOverhead => "measuring overhead".to_owned(),
            Event::Measuring => "measuring".to_owned(),
            Event::Interval(_) => "interval".to_owned(),
            Event::Draining => "draining".to_owned(),
            Event::Checking => "checking".to_owned(),
            Event::Removing => "removing".to_owned(),
            Event::Ended(_) => "ended".to_owned(),
        };
        (self.react)(&name);
        self.events.lock().unwrap().push(name);
    }
}
