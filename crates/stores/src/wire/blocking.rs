//! A stream for clients that are threads: it blocks its thread, and its errors are those of a socket.

use super::endpoint::Endpoint;
use super::stream::Stream;
use super::tls::Tls;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use syncline_contract::{Failure, FailureKind};

/// The output of a future of streams that have no poller, which is never pending (the module, 2).
pub(crate) fn done<F: Future>(future: F) -> F::Output {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("a stream without a poller waits in its system call"),
    }
}

/// Connects and, if asked for, encrypts within that time, which goes on counting until
/// [`Stream::limit`] sets another.
pub(crate) fn connected(
    endpoint: &Endpoint,
    tls: Option<(&Tls, &str)>,
    limit: Duration,
) -> io::Result<Stream> {
    let opened = done(async {
        let mut stream = Stream::connect(endpoint, None, limit).await?;
        if let Some((tls, host)) = tls {
            stream.start_tls(tls, host).await?;
        }
        Ok(stream)
    });
    opened.map_err(lost)
}

/// A failure of a stream as an error of a socket.
pub(crate) fn lost(failure: Failure) -> io::Error {
    let kind = match failure.kind {
        FailureKind::Connection => ErrorKind::ConnectionReset,
        _ => ErrorKind::InvalidInput,
    };
    io::Error::new(kind, failure.what)
}
