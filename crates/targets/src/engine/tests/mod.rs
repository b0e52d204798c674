//! Tests of the target through the contract, file by file of what they are about.

mod crowd;
mod isolation;
mod life;
mod transactions;
mod transient;
mod walks;
