//! Connections of the network stores: one thread waits for all its sockets, and nothing else runs.
//!
//! | file | what it holds |
//! |---|---|
//! | `poller.rs` | the worker's part of a network store: waits for the sockets of all its sessions |
//! | `readiness.rs` | what the poller knows of one socket, and who waits for it |
//! | `endpoint.rs` | where a server listens, and how a socket to it is opened |
//! | `socket.rs` | one socket, of TCP or Unix, that blocks or is polled |
//! | `stream.rs` | one connection: bytes out, bytes in, in reused memory |
//! | `blocking.rs` | an encrypted connection that blocks its thread, for clients that are threads |
//! | `tls.rs` | how a stream is encrypted, and whose word for the server's name is taken |
//!
//! 1. A session waits only in [`Stream::fill`] and [`Stream::flush`]; both may be dropped at any await,
//!    and the stream is then only good for being dropped, if bytes were under way.
//! 2. A stream made with a [`Poller`] never blocks its thread, the look-up of a host's name apart. One
//!    made without blocks it, and then no future of it is ever pending: what is asked of a server outside
//!    a worker (creation, evidence, counters, removal) runs the same protocol code so.
//! 3. In the steady state nothing allocates, what TLS does inside itself apart.
//! 4. A lost connection is a failure of kind connection, and says whose and why.

mod blocking;
mod endpoint;
mod poller;
mod readiness;
mod socket;
mod stream;
mod tls;

pub use blocking::{BlockingTls, blocking};
pub use endpoint::Endpoint;
pub use poller::Poller;
pub use stream::Stream;
pub use tls::{Tls, TlsMode, certificates};
