//! Dispatches to the subcommands of `verify`.

use super::{disk, durability, isolation, witness};
use crate::args::{VerifyArgs, VerifyVerb};
use crate::registry::TargetRegistry;
use syncline_console::Outcome;

/// The argument that makes this program a child process of a verification.
pub(crate) const CHILD: &str = "verify-child";

/// Runs the subcommand.
pub(crate) fn verify<S: TargetRegistry>(args: &VerifyArgs, registry: &S) -> Outcome {
    match &args.verb {
        VerifyVerb::Durability(args) => durability::durability(args, registry),
        VerifyVerb::Isolation(args) => isolation::isolation(args, registry),
        VerifyVerb::Disk(args) => disk::disk(args),
        VerifyVerb::Witness(args) => witness::witness(args),
    }
}
