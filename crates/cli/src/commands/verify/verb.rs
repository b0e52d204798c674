//! Which verification was asked for.

use super::{disk, durability, isolation, witness};
use crate::args::{VerifyArgs, VerifyVerb};
use crate::registry::TargetRegistry;
use syncline_console::Outcome;

/// The argument that tells this program to be a child of a verification.
pub(crate) const CHILD: &str = "verify-child";

/// Does what the verb says.
pub(crate) fn verify<S: TargetRegistry>(args: &VerifyArgs, shelf: &S) -> Outcome {
    match &args.verb {
        VerifyVerb::Durability(args) => durability::durability(args, shelf),
        VerifyVerb::Isolation(args) => isolation::isolation(args, shelf),
        VerifyVerb::Disk(args) => disk::disk(args),
        VerifyVerb::Witness(args) => witness::witness(args),
    }
}
