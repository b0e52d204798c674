//! The Java virtual machine of this process: found and started once, and called from any thread.
//!
//! | file | what stands in it |
//! |---|---|
//! | `libjvm.rs` | where the library of the JVM is |
//! | `attach.rs` | the one JVM: started at the first use, threads attached |
//! | `methods.rs` | the methods that are called, looked up once |
//! | `call.rs` | the calls themselves, and text in and out (the one `unsafe`) |
//!
//! A call by a method id that was looked up before costs some hundred nanoseconds; by name it costs
//! five times that. What a call answers is a local reference, which Java frees only when a native
//! thread ends, so that each is freed here as soon as it is dropped ([`Local`]).

mod attach;
mod call;
mod libjvm;
mod methods;

pub(super) use call::{Java, Local, Shared, Thrown, given};
pub(super) use methods::{Methods, methods};
