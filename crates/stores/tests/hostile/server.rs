//! A server that follows a script, and the required result of its client.

use parking_lot::Mutex;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use syncline_contract::Target;
use syncline_contract::conformance::block_on;
use syncline_stores::AnyTarget;

/// How long connecting and each request may take: an option of the URL.
pub(crate) const DEADLINE_MS: u64 = 150;
/// A client that is still running then hangs. No case takes as long even on a busy machine.
const HANGS_AFTER: Duration = Duration::from_secs(30);
/// The pause between the bytes of a drip: shorter than the deadline.
const DRIP: Duration = Duration::from_millis(10);
/// The maximum length of an error sentence.
const SENTENCE_MAX: usize = 1_000;
/// The maximum memory of a client, in KiB: the longest answer while its buffer grows.
const MEMORY_MAX_KIB: u64 = 192 * 1024;
/// The kernel counts the memory of the whole process, so clients run one at a time.
static ONE_CLIENT: Mutex<()> = Mutex::new(());

/// The next action of a server on a connection.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Waits for a request and reads it.
    Read,
    /// Sends bytes repeatedly, as fast as they are accepted.
    Forever(Vec<u8>),
    /// Sends bytes one by one, with a pause before each, repeatedly.
    Drip(Vec<u8>),
    /// Reads, and sends nothing more.
    Silence,
    /// Closes the connection.
    Close,
}

pub(crate) use Act::{Close, Drip, Forever, Read as Reads, Send, Silence};

/// Bytes to send.
pub(crate) fn send(bytes: impl AsRef<[u8]>) -> Act {
    Send(bytes.as_ref().to_vec())
}

fn follow(script: &[Act], stream: &mut TcpStream) -> std::io::Result<()> {
    let mut room = vec![0; 64 * 1024];
    for act in script {
        match act {
            Send(bytes) => stream.write_all(bytes)?,
            Reads => {
                if stream.read(&mut room)? == 0 {
                    return Ok(());
                }
            }
            Forever(bytes) => {
                let many = bytes.repeat(64 * 1024 / bytes.len().min(64 * 1024));
                loop {
                    stream.write_all(&many)?;
                }
            }
            Drip(bytes) => loop {
                for byte in bytes {
                    thread::sleep(DRIP);
                    stream.write_all(&[*byte])?;
                }
            },
            Silence => while stream.read(&mut room)? > 0 {},
            Close => return Ok(()),
        }
    }
    // After its end, a script is silent.
    while stream.read(&mut room)? > 0 {}
    Ok(())
}

/// A port on which a script serves every connection. Its threads end with the test's process.
fn serve(script: Vec<Act>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = Arc::new(script);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(mut stream), script) = (stream, Arc::clone(&script)) else {
                return;
            };
            // A client that has gone ends its script.
            thread::spawn(move || drop(follow(&script, &mut stream)));
        }
    });
    port
}

/// Runs a client against each script at the URL that `url` makes from a port: none may connect, none
/// may hang, and each must end with one sentence.
pub(crate) fn all_end(cases: Vec<(&'static str, Vec<Act>)>, url: impl Fn(u16) -> String) {
    all_end_within(cases, MEMORY_MAX_KIB, url);
}

/// As [`all_end`], with another memory limit.
pub(crate) fn all_end_within(
    cases: Vec<(&'static str, Vec<Act>)>,
    memory_max_kib: u64,
    url: impl Fn(u16) -> String,
) {
    let _alone = ONE_CLIENT.lock();
    for (name, script) in cases {
        let url = url(serve(script));
        let before = memory_peak_from_now_kib();
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || {
            let result = AnyTarget::open(&url).map_err(|error| error.to_string());
            let result = result.and_then(|target| {
                block_on(&(), target.preflight()).map_err(|failure| failure.to_string())
            });
            drop(sender.send(result));
        });
        let result = ended.recv_timeout(HANGS_AFTER);
        let result = result.unwrap_or_else(|_error| panic!("{name}: the client hangs or panics"));
        let message = result.err().unwrap_or_else(|| panic!("{name}: it was accepted as a server"));
        assert!(message.len() < SENTENCE_MAX, "{name}: {} bytes", message.len());
        assert!(message.len() > 20, "{name}: {message}");
        let taken = memory_kib("VmHWM:").saturating_sub(before);
        assert!(taken < memory_max_kib, "{name}: the client took {taken} KiB");
    }
}

/// Resets the peak that the kernel records; returns the current use in KiB. The allocator may still
/// hold memory of earlier clients, so only the increase counts.
fn memory_peak_from_now_kib() -> u64 {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    memory_kib("VmRSS:")
}

/// A line of the kernel's status of this process.
fn memory_kib(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let kib = status.lines().find_map(|each| each.strip_prefix(line));
    kib.unwrap().trim().trim_end_matches(" kB").parse().unwrap()
}
