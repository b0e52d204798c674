//! The story of the program: parse, do what the verb says, end with its exit code.

use crate::args::{self, Verb};
use crate::commands;
use crate::private_servers::PrivateServers;
use crate::registry::{BuiltIn, TargetRegistry, WithThirdParty};
use crate::secrets;
use std::process::ExitCode;
use syncline_console::{Outcome, terminal};
use syncline_contract::Target;

/// The program `syncline` with its built-in targets.
pub fn main() -> ExitCode {
    secrets::hide();
    story(&BuiltIn::default())
}

/// The same program with one more target, which `--on NAME` names: every workload, probe, report and
/// meter works on it as on a built-in one.
#[allow(clippy::needless_pass_by_value, reason = "the store ends with the program")]
pub fn main_with<T: Target>(name: &str, store: T) -> ExitCode {
    secrets::hide();
    story(&WithThirdParty { name, store: &store, privates: PrivateServers::default() })
}

/// A child of a verification speaks to its parent only, and ends as that wants it.
fn story<S: TargetRegistry>(shelf: &S) -> ExitCode {
    match args::parse() {
        Verb::VerifyChild => syncline_verify::durability::child(),
        verb => end(perform(verb, shelf)),
    }
}

fn perform<S: TargetRegistry>(verb: Verb, shelf: &S) -> Outcome {
    match verb {
        Verb::Survey(args) => commands::survey(&args, shelf),
        Verb::Probe(args) => commands::probe(&args),
        Verb::Model(args) => commands::model(&args),
        Verb::Run { workload, options, args } => commands::run(&workload, &options, &args, shelf),
        Verb::RunAgain(args) => commands::run_again(&args, shelf),
        Verb::Verify(args) => commands::verify(&args, shelf),
        Verb::VerifyChild => unreachable!("a child has its own end"),
        Verb::Show(args) => commands::show(&args),
        Verb::Compare(args) => commands::compare(&args),
        Verb::List(args) => commands::list(&args, shelf),
        Verb::Observe(args) => commands::observe(&args, shelf),
        Verb::Clean(args) => commands::clean(&args, shelf),
        Verb::Private(args) => commands::private(&args),
        Verb::Compat(command) => commands::compat(&command, shelf),
        Verb::Completions(args) => commands::completions(&args),
        Verb::Manual(args) => commands::manual(&args),
    }
}

fn end(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(verdict) => verdict.code(),
        Err(why) => {
            terminal::error(&why.0);
            ExitCode::from(2)
        }
    }
}
