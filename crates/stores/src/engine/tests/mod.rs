//! Tests of the target through the contract, by topic.

mod after_checkpoint;
mod batched_reads;
mod isolation;
mod lifecycle;
mod transactions;
mod transient;
