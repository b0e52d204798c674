//! Connections of the network stores: one thread waits for all its sockets.
//!
//! | file | what it holds |
//! |---|---|
//! | `poller.rs` | the worker of a network store: waits for the sockets of all its sessions |
//! | `readiness.rs` | the readiness of one socket, and the task that waits for it |
//! | `endpoint.rs` | the address of a server, and how a socket to it is opened |
//! | `socket.rs` | one socket, TCP or Unix, blocking or polled |
//! | `stream.rs` | one connection: bytes out, bytes in, in reused memory |
//! | `blocking.rs` | a stream that blocks its thread, for clients that are threads |
//! | `interrupt.rs` | whether the program was asked to stop, for waits that block |
//! | `tls.rs` | how a stream is encrypted, and how certificates are verified |
//! | `tls_refusal.rs` | describes a failed TLS handshake, with advice |
//!
//! 1. A session waits only in [`Stream::fill`] and [`Stream::flush`]; both may be dropped at any await,
//!    but if bytes were in flight, the stream must then be dropped too.
//! 2. A stream with a [`Poller`] never blocks its thread, except to resolve a host's name. One without
//!    a poller blocks, and none of its futures is ever pending: requests outside of a worker (creation,
//!    reported settings, counters, removal) run the same protocol code in this way.
//! 3. In the steady state nothing allocates, except inside of TLS.
//! 4. A lost connection is a failure of kind connection, and names the server and the reason.
//! 5. A limit is a deadline, not an idle time-out: a server that sends a byte now and then does not
//!    extend it. Connecting, encryption and log-in share one limit.
//! 6. A blocking wait ends when the program is asked to stop ([`interrupt_by`]). A peer whose machine
//!    is gone is detected within a minute or two, by the kernel's keepalive probes.

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
pub(crate) use endpoint::in_thread;
pub use interrupt::interrupt_by;
pub(crate) use interrupt::{Cleanup, is_asked};
pub use poller::Poller;
pub use stream::Stream;
pub(crate) use stream::{at_login, speaker};
pub use tls::{Tls, TlsMode, certificates};
