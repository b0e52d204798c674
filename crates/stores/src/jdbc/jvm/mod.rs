//! The Java virtual machine of this process: found and started once, and called from any thread.
//!
//! | file | what it holds |
//! |---|---|
//! | `libjvm.rs` | finds the library of the JVM |
//! | `attach.rs` | the JVM: started at the first use, threads attached |
//! | `methods.rs` | the table of methods, looked up once |
//! | `call.rs` | the calls, and conversion of text (the one `unsafe`) |
//!
//! A call by a cached method id costs some hundred nanoseconds; a call by name costs five times that. A
//! call returns a local reference, which Java frees only when a native thread ends, so each is freed
//! here as soon as it is dropped ([`Local`]).

mod attach;
mod call;
mod libjvm;
mod methods;

pub(super) use call::{Java, Local, Shared, Thrown, given};
pub(super) use methods::{Methods, methods};
