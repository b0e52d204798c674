//! Tests of the target through the contract, file by file of what they are about.

mod after_checkpoint;
mod batched_reads;
mod isolation;
mod lifecycle;
mod transactions;
mod transient;
