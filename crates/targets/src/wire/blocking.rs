//! An encrypted connection that blocks its thread, for clients that are threads.

use super::tls::Tls;
use rustls::{ClientConnection, StreamOwned};
use std::io::{self, ErrorKind};
use std::net::TcpStream;

/// See the module. It is read and written as the socket is whose bytes it encrypts.
pub type BlockingTls = StreamOwned<ClientConnection, TcpStream>;

/// Encrypts a socket to a host and shakes hands. A refusal says why, and is one of the connection.
pub fn blocking(tls: &Tls, host: &str, mut socket: TcpStream) -> io::Result<BlockingTls> {
    let refused = |why: &dyn std::fmt::Display| {
        let what = format!("the connection to {host} cannot be encrypted: {why}");
        io::Error::new(ErrorKind::ConnectionRefused, what)
    };
    let mut connection = tls.connection(host).map_err(|why| refused(&why))?;
    while connection.is_handshaking() {
        let shaken = connection.complete_io(&mut socket);
        shaken.map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => refused(&"the server does not answer the hand-shake in time"),
            _ => refused(&error),
        })?;
    }
    Ok(StreamOwned::new(connection, socket))
}
