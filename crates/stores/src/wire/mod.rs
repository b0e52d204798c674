//! Connections of the network stores: one thread waits for all its sockets, and nothing else runs.
//!
//! | file | what it holds |
//! |---|---|
//! | `poller.rs` | the worker's part of a network store: waits for the sockets of all its sessions |
//! | `readiness.rs` | what the poller knows of one socket, and who waits for it |
//! | `endpoint.rs` | where a server listens, and how a socket to it is opened |
//! | `socket.rs` | one socket, of TCP or Unix, that blocks or is polled |
//! | `stream.rs` | one connection: bytes out, bytes in, in reused memory |
//! | `blocking.rs` | a stream that blocks its thread, for clients that are threads |
//! | `interrupt.rs` | whether the program was asked to stop, for waits that block |
//! | `tls.rs` | how a stream is encrypted, and whose word for the server's name is taken |
//! | `tls_refusal.rs` | why an encryption did not come about, in words with what to do |
//!
//! 1. A session waits only in [`Stream::fill`] and [`Stream::flush`]; both may be dropped at any await,
//!    and the stream is then only good for being dropped, if bytes were under way.
//! 2. A stream made with a [`Poller`] never blocks its thread, the look-up of a host's name apart. One
//!    made without blocks it, and then no future of it is ever pending: what is asked of a server outside
//!    a worker (creation, evidence, counters, removal) runs the same protocol code so.
//! 3. In the steady state nothing allocates, what TLS does inside itself apart.
//! 4. A lost connection is a failure of kind connection, and says whose and why.
//! 5. A limit is a moment, not a pause: a server that sends a byte now and then does not put it off.
//!    Connecting, encryption and log-in have one limit together.
//! 6. A wait that blocks ends when the program is asked to stop ([`interrupt_by`]). A peer whose machine
//!    is gone is noticed within a minute or two, by the kernel's own probes.

mod blocking;
mod endpoint;
mod interrupt;
mod poller;
mod readiness;
mod socket;
mod stream;
mod tls;
mod tls_refusal;

pub(crate) use blocking::{connected, done, lost};
pub use endpoint::Endpoint;
#[cfg(feature = "jdbc")]
pub(crate) use endpoint::aside;
pub use interrupt::interrupt_by;
pub(crate) use interrupt::{Cleanup, is_asked};
pub use poller::Poller;
pub use stream::Stream;
pub(crate) use stream::{at_login, speaker};
pub use tls::{Tls, TlsMode, certificates};
