//! A relay in front of a server that counts round trips: how often a request followed an answer of the
//! server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Forwards bytes between clients and a server, and counts how often a request followed an answer of
/// the server.
pub(crate) struct Relay {
    pub(crate) port: u16,
    turns: Arc<AtomicUsize>,
}

impl Relay {
    /// To the server on that port of this machine.
    pub(crate) fn to(server: u16) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let turns = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&turns);
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.expect("a client");
                let server = TcpStream::connect(("127.0.0.1", server)).expect("the server");
                for socket in [&client, &server] {
                    socket.set_nodelay(true).expect("a socket without delay");
                }
                let answered = Arc::new(AtomicBool::new(true));
                let (from, to) = (client.try_clone().expect("it"), server.try_clone().expect("it"));
                let (turns, spoken) = (Arc::clone(&counted), Arc::clone(&answered));
                thread::spawn(move || {
                    forward(from, to, || {
                        if spoken.swap(false, Ordering::SeqCst) {
                            turns.fetch_add(1, Ordering::SeqCst);
                        }
                    });
                });
                thread::spawn(move || {
                    forward(server, client, || answered.store(true, Ordering::SeqCst));
                });
            }
        });
        Relay { port, turns }
    }

    /// Round trips so far, of all connections.
    pub(crate) fn turns(&self) -> usize {
        self.turns.load(Ordering::SeqCst)
    }
}

/// Forwards bytes until either side closes; calls `on_data` before each part.
fn forward(mut from: TcpStream, mut to: TcpStream, on_data: impl Fn()) {
    let mut buffer = [0; 8 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        on_data();
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    // Closes the other side too; it may be closed already.
    drop(to.shutdown(Shutdown::Both));
}
