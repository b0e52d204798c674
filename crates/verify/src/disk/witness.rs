//! The witness: receives promises, keeps them, reports a silent connection, and returns the promises on
//! request.
//!
//! Each connection has a thread; all share one ledger. Promises that arrive together are synced together. An
//! answer about a run waits until everything that had arrived over that run's connection is processed.

use super::cut_kind::{End, Kind};
use super::ledger::Ledger;
use super::protocol::{Call, GREETING, Reply, line};
use super::witness_client::{Lines, ReadLine};
use crate::error::{Error, Result};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use syncline_instrument::{Nanos, clock};
use syncline_vfs::Disk;

/// Interval at which the listener checks for connections and for the request to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Time limit for sending an answer.
const REPLY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a question waits for the promises that a writer had already sent.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The most connections at once.
const CONNECTIONS_MAX: usize = 64;

/// The most promises that are synced together.
const BATCH_MAX: usize = 1024;

/// A witness that listens for writers and checkers.
#[derive(Debug)]
pub struct Witness<D: Disk> {
    listener: TcpListener,
    ledger: Mutex<Ledger<D>>,
    /// By run that is being written: the last time at which its connection had no unread message.
    drained_at: Mutex<BTreeMap<usize, Nanos>>,
    silence: Duration,
}

impl<D: Disk> Witness<D> {
    /// Listens at `HOST:PORT` and keeps its ledger in a directory. A writer that sends nothing for `silence`
    /// is reported as silent.
    pub fn listen(
        address: &str,
        disk: &D,
        directory: &Path,
        silence: Duration,
    ) -> Result<Witness<D>> {
        let cannot =
            |error: io::Error| Error::cannot(format!("cannot listen at {address}: {error}"));
        let listener = TcpListener::bind(address).map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        Ok(Witness {
            listener,
            ledger: Mutex::new(Ledger::open(disk, directory)?),
            drained_at: Mutex::default(),
            silence,
        })
    }

    /// The address it listens at.
    pub fn address(&self) -> Result<SocketAddr> {
        let address = self.listener.local_addr();
        address.map_err(|error| {
            Error::cannot(format!("cannot read the address of the witness's socket: {error}"))
        })
    }

    /// Serves until `stop` is set; passes one sentence per event to `notify`.
    pub fn serve(&self, stop: &AtomicBool, notify: &(dyn Fn(&str) + Sync)) -> Result<()> {
        let connections = AtomicUsize::new(0);
        thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                let stream = match self.listener.accept() {
                    Ok((stream, _)) => stream,
                    Err(error) if is_transient(&error) => {
                        thread::sleep(POLL_INTERVAL);
                        continue;
                    }
                    Err(error) => {
                        return Err(Error::cannot(format!("cannot accept connections: {error}")));
                    }
                };
                if connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
                    connections.fetch_sub(1, Ordering::Relaxed);
                    notify("a connection was refused: too many are open");
                    continue;
                }
                let connections = &connections;
                scope.spawn(move || {
                    if let Err(why) = self.converse(stream, stop, notify) {
                        notify(&format!("a connection ended: {why}"));
                    }
                    connections.fetch_sub(1, Ordering::Relaxed);
                });
            }
            Ok(())
        })
    }

    fn converse(
        &self,
        stream: TcpStream,
        stop: &AtomicBool,
        notify: &(dyn Fn(&str) + Sync),
    ) -> Result<()> {
        let mut connection = Connection {
            witness: self,
            lines: Lines::of(opened(&stream)?),
            stream,
            notify,
            writing: None,
            asked: None,
            pending: Vec::new(),
            received_at: clock::now(),
            is_silent: false,
        };
        let outcome = connection.greet(stop).and_then(|()| connection.run(stop));
        if let Err(why) = &outcome {
            // The peer may be gone, so a failure to reply is ignored.
            drop(connection.reply(&Reply::Refused(why.to_string())));
            connection.end(End::Closed)?;
        }
        outcome
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger<D>> {
        self.ledger.lock()
    }

    fn drained_at(&self) -> MutexGuard<'_, BTreeMap<usize, Nanos>> {
        self.drained_at.lock()
    }

    /// Waits until everything is processed that the writer of a run had sent by now; false on a timeout.
    fn wait_until_drained(&self, run: usize) -> bool {
        let asked = clock::now();
        while clock::now() - asked < clock::nanos(DRAIN_TIMEOUT) {
            if self.drained_at().get(&run).is_none_or(|at| *at > asked) {
                return true;
            }
            thread::sleep(POLL_INTERVAL);
        }
        false
    }
}

/// One connection.
struct Connection<'t, D: Disk> {
    witness: &'t Witness<D>,
    stream: TcpStream,
    lines: Lines<TcpStream>,
    notify: &'t (dyn Fn(&str) + Sync),
    /// The run that this connection writing.
    writing: Option<usize>,
    /// The run that this connection has requested.
    asked: Option<usize>,
    /// Received promises that are not yet stable.
    pending: Vec<(u64, u32)>,
    received_at: u64,
    is_silent: bool,
}

impl<D: Disk> Connection<'_, D> {
    fn greet(&mut self, stop: &AtomicBool) -> Result<()> {
        let began = clock::now();
        while clock::now() - began < clock::nanos(REPLY_TIMEOUT) && !stop.load(Ordering::Relaxed) {
            match self.lines.text() {
                ReadLine::Nothing => {}
                ReadLine::Message(text) if text == GREETING.as_bytes() => {
                    return self.write(format!("{GREETING}\n").as_bytes());
                }
                _ => break,
            }
        }
        Err(Error::cannot(format!(
            "the first line must be {GREETING}; is the other side syncline verify disk?"
        )))
    }

    fn run(&mut self, stop: &AtomicBool) -> Result<()> {
        loop {
            match self.lines.next() {
                ReadLine::Message(call) => {
                    self.note_received();
                    self.handle(call)?;
                }
                ReadLine::Nothing if stop.load(Ordering::Relaxed) => return self.end(End::Unseen),
                ReadLine::Nothing => {
                    self.note_drained(clock::now());
                    self.wait();
                }
                ReadLine::Closed => return self.end(End::Closed),
                ReadLine::Broken => {
                    // A machine that has restarted resets connections that it does not know. That does not
                    // mean that its kernel outlived the writer.
                    let how = if self.silent_for() >= self.witness.silence {
                        End::Silent
                    } else {
                        End::Closed
                    };
                    return self.end(how);
                }
                ReadLine::Nonsense(why) => {
                    return Err(Error::cannot(format!("not a message: {why}")));
                }
            }
        }
    }

    fn handle(&mut self, call: Call) -> Result<()> {
        match call {
            Call::Begin(begin) => {
                if self.writing.is_some() {
                    return Err(Error::cannot("a second run over one connection"));
                }
                let words = format!("{} writing by {}", begin.subject, begin.method);
                let number = self.witness.ledger().begin(begin)?;
                self.writing = Some(number);
                self.note_drained(0);
                (self.notify)(&words);
                self.reply(&Reply::Begun)
            }
            Call::Promise(sequence, checksum) => {
                self.pending.push((sequence, checksum));
                if self.pending.len() < BATCH_MAX && self.lines.is_ready() {
                    return Ok(());
                }
                self.keep()
            }
            Call::Leave => {
                self.keep()?;
                self.end(End::Leave)
            }
            Call::Ask(subject) => self.answer(&subject),
            Call::Judged(judgement) => {
                let asked =
                    self.asked.ok_or_else(|| Error::cannot("a judgement without a question"))?;
                let mut ledger = self.witness.ledger();
                let article = match judgement.kind {
                    Kind::NoCut => "",
                    _ => "a ",
                };
                let words = format!(
                    "{} was checked: {} of {} blocks bad, after {article}{}",
                    ledger.run(asked).begin.subject,
                    judgement.bad(),
                    judgement.inspected,
                    judgement.kind.words()
                );
                ledger.judged(asked, judgement)?;
                let sum = ledger.sum(asked);
                drop(ledger);
                (self.notify)(&words);
                self.reply(&Reply::Sum(sum))
            }
        }
    }

    /// Makes the received promises stable and acknowledges them.
    fn keep(&mut self) -> Result<()> {
        let writing =
            self.writing.ok_or_else(|| Error::cannot("a promise before its run began"))?;
        let pending = std::mem::take(&mut self.pending);
        let promised = self.witness.ledger().promise(writing, &pending)?;
        self.reply(&Reply::Kept(promised.checked_sub(1)))
    }

    fn answer(&mut self, subject: &str) -> Result<()> {
        let number = self.witness.ledger().latest(subject);
        let number = number.ok_or_else(|| {
            Error::cannot(format!(
                "nothing has been promised for {subject}; use the name that the writer used"
            ))
        })?;
        // Messages over this connection were handled in order.
        if self.writing == Some(number) {
            self.keep()?;
        } else if !self.witness.wait_until_drained(number) {
            return Err(Error::cannot(format!(
                "{subject} is still being written; check after its writer has ended or was cut off"
            )));
        }
        let mut ledger = self.witness.ledger();
        // The subject's machine is running again, so an open connection of the old run is dead.
        ledger.end(number, End::Silent)?;
        let run = ledger.run(number);
        let reply = Reply::Run {
            begin: run.begin.clone(),
            promised: run.promised,
            end: run.end.unwrap_or(End::Silent),
        };
        let promises = ledger.promises(number, run.begin.slots.saturating_mul(2))?;
        drop(ledger);
        self.asked = Some(number);
        let mut lines = line(&reply)?;
        for (sequence, checksum) in promises {
            lines.extend(line(&Reply::LastPromises(sequence, checksum))?);
        }
        lines.extend(line(&Reply::Done)?);
        self.write(&lines)
    }

    /// Ends the run that this connection writing, if there is one.
    fn end(&mut self, how: End) -> Result<()> {
        let Some(number) = self.writing else {
            return Ok(());
        };
        let mut ledger = self.witness.ledger();
        let was = ledger.run(number).end;
        ledger.end(number, how)?;
        let run = ledger.run(number);
        let words = match how {
            End::Leave => "ended normally",
            End::Closed => "was cut off, and its kernel closed the connection",
            End::Silent => "was cut off, and its machine is back",
            End::Unseen => "has lost its witness, which is stopping",
        };
        if was.is_none() {
            let (subject, promised) = (&run.begin.subject, run.promised);
            (self.notify)(&format!("{subject} {words}, {promised} blocks promised"));
        }
        Ok(())
    }

    /// Records that this writer had no unread message at time `at`.
    fn note_drained(&self, at: Nanos) {
        if let Some(number) = self.writing {
            self.witness.drained_at().insert(number, at);
        }
    }

    fn note_received(&mut self) {
        self.received_at = clock::now();
        if std::mem::take(&mut self.is_silent) {
            (self.notify)("a silent writer is sending again");
        }
    }

    /// Reports once that a writer has gone silent.
    fn wait(&mut self) {
        if self.is_silent || self.silent_for() < self.witness.silence {
            return;
        }
        let Some(number) = self.writing else {
            return;
        };
        let ledger = self.witness.ledger();
        let run = ledger.run(number);
        if run.end.is_none() {
            self.is_silent = true;
            let (subject, promised) = (&run.begin.subject, run.promised);
            (self.notify)(&format!(
                "{subject} went silent after {promised} promised blocks: if its plug was pulled, power it \
                 on again and check with --check"
            ));
        }
    }

    fn silent_for(&self) -> Duration {
        Duration::from_nanos(clock::now() - self.received_at)
    }

    fn reply(&mut self, reply: &Reply) -> Result<()> {
        self.write(&line(reply)?)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self.stream.write_all(bytes) {
            // A writer that was cut off reads no answer; `run` notices that it is gone.
            Err(_) if self.writing.is_some() => Ok(()),
            written => {
                written.map_err(|error| Error::cannot(format!("the client is gone: {error}")))
            }
        }
    }
}

impl<D: Disk> Drop for Connection<'_, D> {
    /// Removes the run, so that no question waits for a connection that has ended.
    fn drop(&mut self) {
        if let Some(number) = self.writing {
            self.witness.drained_at().remove(&number);
        }
    }
}

fn opened(stream: &TcpStream) -> Result<TcpStream> {
    let set = || {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(POLL_INTERVAL))?;
        stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
        stream.try_clone()
    };
    set().map_err(|error: io::Error| Error::cannot(format!("a connection failed: {error}")))
}

/// True for errors that pass: no connection yet, or one that was closed at once.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted
    )
}
