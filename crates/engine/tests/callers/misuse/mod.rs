//! Every public call in every wrong state: a clear error, or the documented result; never a panic, never an
//! unbounded wait, and the database works afterwards.
//!
//! | file | what it holds |
//! |---|---|
//! | `calls.rs` | the table of calls, and what each of them needs |
//! | `fixture.rs` | the states: a database, a session and arguments with one thing wrong |
//! | `expected.rs` | the expected result of a call with these needs in a state |
//! | `arguments.rs` | calls that depend only on their arguments, with odd ones |
//! | `source.rs` | the public functions declared in the sources, all of which must be in the lists |

mod arguments;
mod calls;
mod expected;
mod fixture;
mod source;

use crate::support::returns;
use calls::{ALONE, CALLS, Call, PURE};
use expected::{Expected, expected};
use fixture::{Fixture, STATES, State};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a cell of the table.
#[derive(Debug)]
enum Outcome {
    /// The call does not apply: there is no database to call.
    None,
    Ok,
    Error {
        variant: String,
        sentence: String,
    },
    Panic,
}

fn outcome(state: State, call: &'static Call) -> Outcome {
    returns(move || {
        let mut fixture = Fixture::new(state);
        let result = catch_unwind(AssertUnwindSafe(|| fixture.make(call.run)));
        let outcome = match result {
            Err(_) => Outcome::Panic,
            Ok(None) => Outcome::None,
            Ok(Some(Ok(()))) => Outcome::Ok,
            Ok(Some(Err(error))) => {
                let debug = format!("{error:?}");
                let variant = debug.split([' ', '(', '{']).next().unwrap_or_default();
                Outcome::Error { variant: variant.to_owned(), sentence: error.to_string() }
            }
        };
        fixture.works_on();
        outcome
    })
}

fn is_right(outcome: &Outcome, expected: Expected) -> bool {
    match (outcome, expected) {
        (Outcome::Panic, expected) => expected == Expected::CallersPanic,
        (Outcome::Ok, expected) => matches!(expected, Expected::Ok | Expected::Either),
        (Outcome::Error { sentence, .. }, _) if sentence.is_empty() || sentence.contains('\n') => {
            false
        }
        (Outcome::Error { .. }, Expected::Either) => true,
        (Outcome::Error { variant, .. }, Expected::Error(expected)) => variant == expected,
        (Outcome::Error { .. } | Outcome::None, _) => false,
    }
}

/// There is nothing to call, or something else owns the database that the call would close.
fn is_absent(state: State, call: &Call) -> bool {
    let is_held = matches!(state, State::NestedRun | State::InShownRow);
    match call.name {
        "Database::close" => is_held || state == State::ClosedDatabase,
        name => {
            let needs_database = [
                "Database::",
                "LargeObjects::",
                "LargeObjectWriter::",
                "OwnedRow::",
                "Rows::",
                "Sequence::",
                "Transaction::",
            ];
            let ends_a_session = ["Transaction::commit", "Transaction::abort"].contains(&name);
            state == State::ClosedDatabase
                && !ends_a_session
                && needs_database.iter().any(|prefix| name.starts_with(prefix))
        }
    }
}

// D1, D5, D6, D7, D12, H4, H5
#[test]
fn each_call_in_each_wrong_state_returns_an_error_or_the_documented_result() {
    let (mut wrong, mut errors) = (Vec::new(), 0);
    for state in STATES {
        for call in CALLS {
            if is_absent(state, call) {
                continue;
            }
            let (outcome, expected) = (outcome(state, call), expected(state, call.needs));
            errors += u32::from(matches!(outcome, Outcome::Error { .. }));
            if !is_right(&outcome, expected) {
                wrong.push(format!("{state:?}, {}: {outcome:?}, not {expected:?}", call.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(errors > 250, "only {errors} cells are refused");
}

#[test]
fn every_public_function_is_in_one_of_the_lists() {
    let listed = CALLS.iter().map(|call| call.name);
    let listed = listed.chain(arguments::CALLS.iter().map(|call| call.0));
    let listed = listed.chain(PURE.iter().copied()).chain(ALONE.iter().copied());
    let listed: BTreeSet<String> = listed.map(str::to_owned).collect();
    let declared = source::public_functions();
    assert!(declared.len() > 100, "too few functions were parsed from the sources");
    let missing: Vec<_> = declared.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&declared).collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "not in the lists, so never called in a wrong state: {missing:?}; listed, but not declared: {gone:?}"
    );
}
