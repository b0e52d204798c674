//! A blocking stream for clients that are threads; its errors are I/O errors.

use super::endpoint::Endpoint;
use super::stream::Stream;
use super::tls::Tls;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use syncline_contract::{Failure, FailureKind};

/// The output of a future on streams without a poller, which is never pending (invariant 2 of the
/// module).
pub(crate) fn done<F: Future>(future: F) -> F::Output {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("a stream without a poller waits in its system call"),
    }
}

/// Connects, with TLS if requested, within that time, which remains the limit until [`Stream::limit`]
/// sets another.
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

/// Converts a failure of a stream to an I/O error.
pub(crate) fn lost(failure: Failure) -> io::Error {
    let kind = match failure.kind {
        FailureKind::Connection => ErrorKind::ConnectionReset,
        _ => ErrorKind::InvalidInput,
    };
    io::Error::new(kind, failure.what)
}
