//! Runs a model under the checker, counts the executions, and shows that faults are found.
//!
//! [`hold`] explores the code as it is, and fails if the checker finds an error. [`find`] explores it with a
//! fault, and fails if the checker finds nothing: a model that cannot fail checks nothing.

use crate::planted_bug::{self, PlantedBug};
#[cfg(loom)]
use crate::sync::weak::{self, CodeLocation};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A fault in the code that a model runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// No fault.
    None,
    /// A fault injected into the model itself, by name.
    #[cfg(loom)]
    InModel(&'static str),
    /// A planted bug of the code.
    Planted(PlantedBug),
    /// One access is relaxed, or one fence is omitted.
    #[cfg(loom)]
    Weak(CodeLocation),
}

impl Fault {
    fn text(self) -> String {
        match self {
            Fault::None => "no fault".to_owned(),
            #[cfg(loom)]
            Fault::InModel(name) => name.to_owned(),
            Fault::Planted(plant) => format!("{plant:?}"),
            #[cfg(loom)]
            Fault::Weak((file, line, _)) => format!("{file}:{line} weakened"),
        }
    }
}

/// How far a model is explored: the maximum number of preemptions in an execution (loom), or the number of
/// random executions (shuttle).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound(pub(crate) usize);

/// Explores, and fails if an error is found.
pub(crate) fn hold<M: Fn() + Send + Sync + 'static>(name: &str, bound: Bound, model: M) {
    let (executions, found) = search(Fault::None, bound, model);
    if let Some(found) = found {
        panic!("{name}: in execution {executions}: {found}");
    }
    println!("{name}: {executions} executions, all hold");
}

/// Explores with a fault, and fails if it is not found.
pub(crate) fn find<M: Fn() + Send + Sync + 'static>(
    name: &str,
    fault: Fault,
    bound: Bound,
    model: M,
) {
    let (executions, found) = quietly(|| search(fault, bound, model));
    let Some(found) = found else {
        panic!("{name}: {} was not found in {executions} executions", fault.text());
    };
    let what = found.lines().next().unwrap_or_default();
    println!("{name}: {} found in execution {executions}: {what}", fault.text());
}

/// Weakens each ordering in a file by itself, and returns the source lines of those that are found. For the
/// others something else in this model, such as a mutex, provides the order.
#[cfg(loom)]
pub(crate) fn find_weak<M: Fn() + Clone + Send + Sync + 'static>(
    name: &str,
    (file, source): (&str, &str),
    bound: Bound,
    model: M,
) -> Vec<String> {
    let first = {
        let model = model.clone();
        std::thread::spawn(move || weak::locations(|| check(Bound(0), model))).join()
    };
    let locations = first.expect("the model holds with everything in order");
    let mut found = Vec::new();
    let (mut missed, mut explored) = (0, 0);
    for location in locations.into_iter().filter(|location| location.0.ends_with(file)) {
        let line = source.lines().nth(location.1 as usize - 1).unwrap_or_default();
        let (executions, what) = quietly(|| search(Fault::Weak(location), bound, model.clone()));
        explored += executions;
        if what.is_some() {
            found.push(format!("{}: {}", location.1, line.trim()));
        } else {
            missed += 1;
        }
    }
    println!(
        "{name}: {} of {} orderings of {file} found when weakened, {explored} executions; for the \
         others something else in this model provides the order",
        found.len(),
        found.len() + missed
    );
    found
}

/// Explores on a thread of its own; returns the number of executions, and the error found in the last one.
fn search<M: Fn() + Send + Sync + 'static>(
    fault: Fault,
    bound: Bound,
    model: M,
) -> (u64, Option<String>) {
    let executions = Arc::new(AtomicU64::new(0));
    let counted = {
        let executions = Arc::clone(&executions);
        move || {
            executions.fetch_add(1, Ordering::Relaxed);
            model();
        }
    };
    let explored = std::thread::spawn(move || match fault {
        Fault::None => check(bound, counted),
        #[cfg(loom)]
        Fault::InModel(_) => check(bound, counted),
        Fault::Planted(plant) => planted_bug::with(Some(plant), || check(bound, counted)),
        #[cfg(loom)]
        Fault::Weak(location) => weak::weakened(location, || check(bound, counted)),
    });
    let found = explored.join().err().map(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
            .unwrap_or_else(|| "a panic without a message".to_owned())
    });
    (executions.load(Ordering::Relaxed), found)
}

/// Suppresses the checker's report of an expected error. Models run one after another.
fn quietly<R>(body: impl FnOnce() -> R) -> R {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = body();
    std::panic::set_hook(hook);
    result
}

#[cfg(loom)]
fn check(bound: Bound, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(bound.0);
    builder.max_branches = 20_000;
    builder.check(model);
}

/// Half of the interleavings are drawn step by step, half by priorities with few changes: the first mix
/// evenly, the second let one thread run far ahead.
#[cfg(shuttle)]
fn check(bound: Bound, model: impl Fn() + Send + Sync + 'static) {
    use shuttle::scheduler::{PctScheduler, RandomScheduler};
    const CHANGES: usize = 3;
    // Opening a store needs more stack than shuttle's default of 60 KiB if the compiler puts much into one
    // frame.
    const STACK_BYTES: usize = 256 << 10;
    let mut config = shuttle::Config::new();
    config.stack_size = STACK_BYTES;
    config.failure_persistence = shuttle::FailurePersistence::None;
    config.silence_warnings = true;
    let model = Arc::new(model);
    let half = bound.0 / 2;
    let random = RandomScheduler::new_from_seed(1, half);
    let first = Arc::clone(&model);
    shuttle::Runner::new(random, config.clone()).run(move || first());
    let priorities = PctScheduler::new_from_seed(1, CHANGES, half);
    shuttle::Runner::new(priorities, config).run(move || model());
}
