//! Every workload in miniature, on the targets that every build has, through the runner and with its
//! checks: on the null target they do not apply, everywhere else they must hold.

mod harness;
mod insert;
