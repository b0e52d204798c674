//! The runner, compiled once for the built-in stores and workloads.
//!
//! The runner is generic over store and workload, so a program compiles it together with every store's
//! session and every workload's transactions. This crate does that for
//! [`AnyTarget`](syncline_stores::AnyTarget) and [`AnyWorkload`](syncline_workloads::AnyWorkload) and is
//! optimized as the code that moves rows; the crates above it call [`Benchmark`] and need no optimization of
//! their own.
//!
//! A program with a store of its own implements [`Benchmark`] for its target by the provided methods, which
//! compile the runner there.

mod benchmark;
mod built_in;

pub use benchmark::Benchmark;
