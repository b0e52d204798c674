//! The witness: hears promises, keeps them, says when a connection went silent, and tells them again.
//!
//! A thread a connection, over one ledger. Promises that have arrived together are synced together. Whoever
//! asks is answered when all is heard that had arrived before over the connection that is asked about.

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

/// How often it is looked whether a connection has come, or somebody asks to stop.
const LOOK: Duration = Duration::from_millis(5);

/// How long an answer may take to be taken.
const TAKE_LIMIT: Duration = Duration::from_secs(10);

/// How long it is waited for what a writer had said before its promises were asked for.
const HEAR_LIMIT: Duration = Duration::from_secs(10);

/// Connections at once.
const CONNECTIONS_MAX: usize = 64;

/// Promises that are synced together at most.
const BATCH_MAX: usize = 1024;

/// See the module.
#[derive(Debug)]
pub struct Witness<D: Disk> {
    listener: TcpListener,
    ledger: Mutex<Ledger<D>>,
    /// When nothing was left to be heard, last: of each run that is written over a connection.
    heard_out: Mutex<BTreeMap<usize, Nanos>>,
    silence: Duration,
}

impl<D: Disk> Witness<D> {
    /// Listens at `HOST:PORT` and keeps what it hears in a directory. A writer that says nothing for
    /// `silence` is said to have gone silent.
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
            heard_out: Mutex::default(),
            silence,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> Result<SocketAddr> {
        let address = self.listener.local_addr();
        address.map_err(|error| Error::cannot(format!("cannot tell where it listens: {error}")))
    }

    /// Listens until `stop` is set; `tell` is told what happens, a sentence each.
    pub fn serve(&self, stop: &AtomicBool, tell: &(dyn Fn(&str) + Sync)) -> Result<()> {
        let connections = AtomicUsize::new(0);
        thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                let stream = match self.listener.accept() {
                    Ok((stream, _)) => stream,
                    Err(error) if is_passing(&error) => {
                        thread::sleep(LOOK);
                        continue;
                    }
                    Err(error) => {
                        return Err(Error::cannot(format!("cannot hear anybody more: {error}")));
                    }
                };
                if connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
                    connections.fetch_sub(1, Ordering::Relaxed);
                    tell("a connection was turned away: there are too many");
                    continue;
                }
                let connections = &connections;
                scope.spawn(move || {
                    if let Err(why) = self.converse(stream, stop, tell) {
                        tell(&format!("a connection ended: {why}"));
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
        tell: &(dyn Fn(&str) + Sync),
    ) -> Result<()> {
        let mut talk = Talk {
            witness: self,
            lines: Lines::of(opened(&stream)?),
            stream,
            tell,
            writes: None,
            asked: None,
            pending: Vec::new(),
            heard_at: clock::now(),
            is_quiet: false,
        };
        let outcome = talk.greet(stop).and_then(|()| talk.run(stop));
        if let Err(why) = &outcome {
            // Whoever is gone cannot be told.
            drop(talk.reply(&Reply::Refused(why.to_string())));
            talk.end(End::Closed)?;
        }
        outcome
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger<D>> {
        self.ledger.lock()
    }

    fn heard_out(&self) -> MutexGuard<'_, BTreeMap<usize, Nanos>> {
        self.heard_out.lock()
    }

    /// Waits until all is heard that the writer of a run had said by now; false if it goes on and on.
    fn hear_out(&self, run: usize) -> bool {
        let asked = clock::now();
        while clock::now() - asked < clock::nanos(HEAR_LIMIT) {
            if self.heard_out().get(&run).is_none_or(|at| *at > asked) {
                return true;
            }
            thread::sleep(LOOK);
        }
        false
    }
}

/// One connection.
struct Talk<'t, D: Disk> {
    witness: &'t Witness<D>,
    stream: TcpStream,
    lines: Lines<TcpStream>,
    tell: &'t (dyn Fn(&str) + Sync),
    /// The run that is written over it.
    writes: Option<usize>,
    /// The run that was asked for over it.
    asked: Option<usize>,
    /// Promises heard and not yet kept.
    pending: Vec<(u64, u32)>,
    heard_at: u64,
    is_quiet: bool,
}

impl<D: Disk> Talk<'_, D> {
    fn greet(&mut self, stop: &AtomicBool) -> Result<()> {
        let began = clock::now();
        while clock::now() - began < clock::nanos(TAKE_LIMIT) && !stop.load(Ordering::Relaxed) {
            match self.lines.text() {
                ReadLine::Nothing => {}
                ReadLine::Message(text) if text == GREETING.as_bytes() => {
                    return self.write(format!("{GREETING}\n").as_bytes());
                }
                _ => break,
            }
        }
        Err(Error::cannot(format!("who speaks to this witness says {GREETING} first")))
    }

    fn run(&mut self, stop: &AtomicBool) -> Result<()> {
        loop {
            match self.lines.next() {
                ReadLine::Message(call) => {
                    self.hear_again();
                    self.hear(call)?;
                }
                ReadLine::Nothing if stop.load(Ordering::Relaxed) => return self.end(End::Unseen),
                ReadLine::Nothing => {
                    self.note_heard_out(clock::now());
                    self.wait();
                }
                ReadLine::Closed => return self.end(End::Closed),
                ReadLine::Broken => {
                    // A machine that comes back refuses what it knows nothing of: that is no kernel that
                    // outlived its writer.
                    let how = if self.silent_for() >= self.witness.silence {
                        End::Silent
                    } else {
                        End::Closed
                    };
                    return self.end(how);
                }
                ReadLine::Nonsense(why) => return Err(Error::cannot(format!("no message: {why}"))),
            }
        }
    }

    fn hear(&mut self, call: Call) -> Result<()> {
        match call {
            Call::Begin(begin) => {
                if self.writes.is_some() {
                    return Err(Error::cannot("a second run over one connection"));
                }
                let words = format!("{} writes by {}", begin.subject, begin.method);
                let number = self.witness.ledger().begin(begin)?;
                self.writes = Some(number);
                self.note_heard_out(0);
                (self.tell)(&words);
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
                let asked = self.asked.ok_or_else(|| Error::cannot("judged without asking"))?;
                let mut ledger = self.witness.ledger();
                let article = match judgement.kind {
                    Kind::NoCut => "",
                    _ => "a ",
                };
                let words = format!(
                    "{} was checked: {} of {} blocks bad, after {article}{}",
                    ledger.run(asked).begin.subject,
                    judgement.bad(),
                    judgement.looked,
                    judgement.kind.words()
                );
                ledger.judged(asked, judgement)?;
                let sum = ledger.sum(asked);
                drop(ledger);
                (self.tell)(&words);
                self.reply(&Reply::Sum(sum))
            }
        }
    }

    /// Makes what was heard stable, and says so.
    fn keep(&mut self) -> Result<()> {
        let writes = self.writes.ok_or_else(|| Error::cannot("a promise before its run began"))?;
        let pending = std::mem::take(&mut self.pending);
        let promised = self.witness.ledger().promise(writes, &pending)?;
        self.reply(&Reply::Kept(promised.checked_sub(1)))
    }

    fn answer(&mut self, subject: &str) -> Result<()> {
        let number = self.witness.ledger().latest(subject);
        let number = number.ok_or_else(|| {
            Error::cannot(format!(
                "nothing was ever promised for {subject}; name it as the writer did"
            ))
        })?;
        // What is said over this connection was heard in its order.
        if self.writes == Some(number) {
            self.keep()?;
        } else if !self.witness.hear_out(number) {
            return Err(Error::cannot(format!(
                "{subject} is being written; ask when its writer was cut off or has ended"
            )));
        }
        let mut ledger = self.witness.ledger();
        // Whoever asks has come back; a connection that is still open says nothing more.
        ledger.end(number, End::Silent)?;
        let run = ledger.run(number);
        let told = Reply::Run {
            begin: run.begin.clone(),
            promised: run.promised,
            end: run.end.unwrap_or(End::Silent),
        };
        let promises = ledger.promises(number, run.begin.slots.saturating_mul(2))?;
        drop(ledger);
        self.asked = Some(number);
        let mut lines = line(&told)?;
        for (sequence, checksum) in promises {
            lines.extend(line(&Reply::Promised(sequence, checksum))?);
        }
        lines.extend(line(&Reply::Done)?);
        self.write(&lines)
    }

    /// Ends the run that is written over this connection, if one is.
    fn end(&mut self, how: End) -> Result<()> {
        let Some(number) = self.writes else {
            return Ok(());
        };
        let mut ledger = self.witness.ledger();
        let was = ledger.run(number).end;
        ledger.end(number, how)?;
        let run = ledger.run(number);
        let words = match how {
            End::Leave => "ended in good order",
            End::Closed => "was cut off, and its kernel closed the connection",
            End::Silent => "was cut off, and came back",
            End::Unseen => "is left alone: this witness ends",
        };
        if was.is_none() {
            let (subject, promised) = (&run.begin.subject, run.promised);
            (self.tell)(&format!("{subject} {words}, {promised} blocks promised"));
        }
        Ok(())
    }

    /// Nothing was left to be heard of this writer then.
    fn note_heard_out(&self, at: Nanos) {
        if let Some(number) = self.writes {
            self.witness.heard_out().insert(number, at);
        }
    }

    fn hear_again(&mut self) {
        self.heard_at = clock::now();
        if std::mem::take(&mut self.is_quiet) {
            (self.tell)("it is heard again");
        }
    }

    /// Says once that nothing is heard of a writer any more.
    fn wait(&mut self) {
        if self.is_quiet || self.silent_for() < self.witness.silence {
            return;
        }
        let Some(number) = self.writes else {
            return;
        };
        let ledger = self.witness.ledger();
        let run = ledger.run(number);
        if run.end.is_none() {
            self.is_quiet = true;
            let (subject, promised) = (&run.begin.subject, run.promised);
            (self.tell)(&format!(
                "{subject} went silent after {promised} blocks promised: if its plug was pulled, power it \
                 on again and check with --check"
            ));
        }
    }

    fn silent_for(&self) -> Duration {
        Duration::from_nanos(clock::now() - self.heard_at)
    }

    fn reply(&mut self, reply: &Reply) -> Result<()> {
        self.write(&line(reply)?)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self.stream.write_all(bytes) {
            // A writer that was cut off takes no answer; that it is gone is heard in its own place.
            Err(_) if self.writes.is_some() => Ok(()),
            written => {
                written.map_err(|error| Error::cannot(format!("whoever asked is gone: {error}")))
            }
        }
    }
}

impl<D: Disk> Drop for Talk<'_, D> {
    /// However it ended, nothing more will be heard of its run: nobody shall wait for it.
    fn drop(&mut self) {
        if let Some(number) = self.writes {
            self.witness.heard_out().remove(&number);
        }
    }
}

fn opened(stream: &TcpStream) -> Result<TcpStream> {
    let set = || {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(TAKE_LIMIT))?;
        stream.try_clone()
    };
    set().map_err(|error: io::Error| Error::cannot(format!("a connection failed: {error}")))
}

/// What passes by itself: nobody there yet, or somebody who left at once.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted
    )
}
