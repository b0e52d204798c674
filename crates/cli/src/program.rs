//! Runs the program: parses the command line, runs the command, and returns its exit code.

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
    run_program(&BuiltIn::default())
}

/// The same program with one more target, available as `--on NAME`: every workload, probe, report and meter
/// works on it as on a built-in target.
#[allow(clippy::needless_pass_by_value, reason = "the store ends with the program")]
pub fn main_with<T: Target>(name: &str, store: T) -> ExitCode {
    secrets::hide();
    run_program(&WithThirdParty { name, store: &store, private_servers: PrivateServers::default() })
}

/// Runs the parsed command; a child process of a verification reports to its parent only.
fn run_program<S: TargetRegistry>(registry: &S) -> ExitCode {
    match args::parse() {
        Verb::VerifyChild => syncline_verify::durability::child(),
        verb => exit_code(perform(verb, registry)),
    }
}

fn perform<S: TargetRegistry>(verb: Verb, registry: &S) -> Outcome {
    match verb {
        Verb::Survey(args) => commands::survey(&args, registry),
        Verb::Probe(args) => commands::probe(&args),
        Verb::Model(args) => commands::model(&args),
        Verb::Run { workload, options, args } => {
            commands::run(&workload, &options, &args, registry)
        }
        Verb::RunAgain(args) => commands::run_again(&args, registry),
        Verb::Verify(args) => commands::verify(&args, registry),
        Verb::VerifyChild => unreachable!("children are handled before this"),
        Verb::Show(args) => commands::show(&args),
        Verb::Compare(args) => commands::compare(&args),
        Verb::List(args) => commands::list(&args, registry),
        Verb::Observe(args) => commands::observe(&args, registry),
        Verb::Clean(args) => commands::clean(&args, registry),
        Verb::Engine(args) => commands::engine(&args),
        Verb::Private(args) => commands::private(&args),
        Verb::Compat(command) => commands::compat(&command, registry),
        Verb::Completions(args) => commands::completions(&args),
        Verb::Manual(args) => commands::manual(&args),
    }
}

fn exit_code(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(verdict) => verdict.code(),
        Err(why) => {
            terminal::error(&why.0);
            ExitCode::from(2)
        }
    }
}
