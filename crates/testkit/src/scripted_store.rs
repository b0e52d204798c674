//! The store: a set of keys, and a script that determines how each commit ends.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread::JoinHandle;
use syncline_contract::{
    AccessPattern, Capabilities, Cause, ClientModel, Counter, Durability, Failure, FailureKind,
    Isolation, LogLocation, Meaning, OperationId, Plan, ReportedSettings, Rows, Session, Stop,
    StoreObservation, StoreProcess, TableId, Target, TargetResult, Value, Worker,
};
use syncline_instrument::{Nanos, clock};

/// How a commit ends.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// With a commit, at once.
    Committed,
    /// With a commit, after another thread has completed a ticket.
    ByTicket,
    /// With a commit, at the end of the worker's pass.
    ByPass,
    /// With a commit, after the thread was busy for that many nanoseconds.
    Busy(u64),
    /// Never.
    Never,
    /// Without a commit, because of a conflict.
    Conflict(Cause),
    /// Without a commit, because of a failure.
    Fails(FailureKind),
    /// With a commit, but the connection is lost before the acknowledgement.
    Unknown,
    /// With a panic, as from a bug in the store.
    Panics,
}

/// The calls that the store received, in all its sessions.
#[derive(Debug, Default)]
pub struct CallLog {
    /// How often its tables were created.
    pub created: AtomicUsize,
    /// How often they were removed.
    pub removed: AtomicUsize,
    /// The number of sessions that were opened.
    pub sessions: AtomicUsize,
    /// The number of these that are still open.
    pub sessions_open: AtomicUsize,
    /// The number of transactions that were aborted.
    pub aborts: AtomicUsize,
    /// The number of workers' passes that ended.
    pub passes: AtomicUsize,
    /// The number of commits of each committed key.
    pub keys: Mutex<BTreeMap<i64, u32>>,
    /// The keys in the order in which their insertion was tried.
    pub attempts: Mutex<Vec<i64>>,
    /// The number of times that each loaded key was loaded.
    pub loaded: Mutex<BTreeMap<i64, u32>>,
}

/// A ticket that another thread completes.
#[derive(Debug, Default)]
pub(crate) struct Ticket(Mutex<(bool, Option<Waker>)>);

impl Ticket {
    fn complete(&self) {
        let mut state = self.0.lock().unwrap();
        state.0 = true;
        if let Some(waker) = state.1.take() {
            drop(state);
            waker.wake();
        }
    }

    async fn wait(&self) {
        poll_fn(|context| {
            let mut state = self.0.lock().unwrap();
            if state.0 {
                return Poll::Ready(());
            }
            state.1 = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// The script: how the n-th try of a key ends.
type Script = dyn Fn(i64, usize) -> Answer + Send + Sync;

/// A store that follows a script.
pub struct Store {
    /// Its name.
    pub name: &'static str,
    /// Its capabilities.
    pub capabilities: Capabilities,
    /// The calls that it received.
    pub calls: Arc<CallLog>,
    /// How each commit ends.
    pub script: Arc<Script>,
    /// The step that fails: `preflight`, `counters`, `create`, `reported_settings`, `worker`, `connect`,
    /// `load` or `remove`.
    pub broken: Option<&'static str>,
    /// The step that never ends: "load".
    pub hangs: Option<&'static str>,
    /// The process whose system calls it reports as its own.
    pub process: StoreProcess,
    /// The location that it reports for its log.
    pub log_location: LogLocation,
    /// The reason why it accepts no writes, or `None` if it does.
    pub read_only_reason: Option<String>,
    /// True if it reports counters, with one sync for two commits, and a round trip of 50 us.
    pub counts: bool,
    /// The number of observations, each of which it counts as a commit.
    pub observations: AtomicUsize,
    log: Mutex<Option<Sender<Arc<Ticket>>>>,
    thread: Option<JoinHandle<()>>,
}

impl Store {
    /// A store for clients that are futures, with a script that depends on the key and the try.
    pub fn new(script: impl Fn(i64, usize) -> Answer + Send + Sync + 'static) -> Store {
        let (sender, receiver) = channel::<Arc<Ticket>>();
        let thread = std::thread::spawn(move || {
            let mut held = Vec::new();
            while let Ok(ticket) = receiver.recv() {
                held.push(ticket);
                held.extend(receiver.try_iter());
                // Completes groups of any size, the last ticket first.
                while let Some(ticket) = held.pop() {
                    ticket.complete();
                }
            }
        });
        Store {
            name: "scripted",
            capabilities: Capabilities {
                client_model: ClientModel::Futures,
                loads: true,
                ..Capabilities::least()
            },
            calls: Arc::default(),
            script: Arc::new(script),
            broken: None,
            hangs: None,
            process: StoreProcess::InProcess,
            log_location: LogLocation::Nowhere("it keeps no log".to_owned()),
            read_only_reason: None,
            counts: false,
            observations: AtomicUsize::new(0),
            log: Mutex::new(Some(sender)),
            thread: Some(thread),
        }
    }

    /// A store in which every commit ends in that way.
    pub fn always(answer: Answer) -> Store {
        Store::new(move |_, _| answer)
    }

    /// A store in which that step fails.
    pub fn broken(step: &'static str) -> Store {
        let mut store = Store::always(Answer::Committed);
        store.broken = Some(step);
        store
    }

    fn counted(&self) -> Vec<Counter> {
        let open = self.calls.sessions_open.load(Ordering::SeqCst);
        assert_eq!(open, 0, "counters are read only while no session is open");
        let keys = self.calls.keys.lock().unwrap();
        let commits: u64 = keys.values().map(|times| u64::from(*times)).sum();
        let observations = self.observations.load(Ordering::SeqCst) as u64;
        vec![
            Counter::read(Meaning::Commits, "commits", commits + observations, "the script"),
            Counter::read(Meaning::LogSyncs, "syncs", commits / 2, "the script"),
            Counter::unavailable(Meaning::SyncTime, "time", "it is not timed", "the script"),
        ]
    }

    /// Makes the store require one thread for each client.
    #[must_use]
    pub fn blocking(mut self) -> Store {
        self.capabilities.client_model = ClientModel::Threads;
        self
    }

    /// The number of times that its tables were removed.
    pub fn removed(&self) -> usize {
        self.calls.removed.load(Ordering::SeqCst)
    }

    fn step(&self, step: &'static str) -> TargetResult<()> {
        if self.broken == Some(step) {
            let what = format!("{step} does not work today");
            return Err(Failure::new(FailureKind::Storage, what));
        }
        Ok(())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.log.lock().unwrap().take();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// A worker's part of the store, which completes the waiting tickets at the end of a pass.
#[derive(Clone)]
pub struct Part {
    calls: Arc<CallLog>,
    running: Rc<Cell<bool>>,
    waiting: Rc<Cell<Vec<Arc<Ticket>>>>,
}

impl Worker for Part {
    fn pass_started(&self) {
        assert!(!self.running.replace(true), "passes do not nest");
    }

    fn pass_ended(&self) {
        assert!(self.running.replace(false), "a pass ends only after it has started");
        self.calls.passes.fetch_add(1, Ordering::SeqCst);
        for ticket in self.waiting.take() {
            ticket.complete();
        }
    }
}

/// One client's connection.
pub struct Connection {
    part: Part,
    log: Option<Sender<Arc<Ticket>>>,
    script: Arc<Script>,
    key: Option<(i64, OperationId)>,
    tries: BTreeMap<i64, usize>,
    lost: bool,
    load_broken: bool,
    load_hangs: bool,
    rows: Rows,
}

impl Connection {
    fn commit_key(&self) {
        if let Some((key, _)) = self.key {
            *self.part.calls.keys.lock().unwrap().entry(key).or_default() += 1;
        }
    }

    async fn answer(&mut self, key: i64, operation: OperationId) -> Result<(), Stop> {
        let tries = self.tries.entry(key).or_default();
        *tries += 1;
        let ticket = Arc::<Ticket>::default();
        match (self.script)(key, *tries) {
            Answer::Committed => {}
            Answer::ByTicket => {
                let log = self.log.as_ref().expect("the log thread runs as long as the store");
                log.send(ticket.clone()).unwrap();
                ticket.wait().await;
            }
            Answer::ByPass => {
                let mut waiting = self.part.waiting.take();
                waiting.push(ticket.clone());
                self.part.waiting.set(waiting);
                ticket.wait().await;
            }
            Answer::Busy(ns) => {
                let until = clock::now() + ns;
                while clock::now() < until {
                    std::hint::spin_loop();
                }
            }
            Answer::Never => ticket.wait().await,
            Answer::Conflict(cause) => return Err(Stop::Conflict(cause)),
            Answer::Fails(kind) => {
                self.lost = kind == FailureKind::Connection;
                let failure = Failure::new(kind, format!("key {key} does not fit"));
                return Err(failure.in_operation(operation).into());
            }
            Answer::Unknown => {
                self.commit_key();
                self.lost = true;
                let failure = Failure::new(FailureKind::Connection, "the line went dead");
                return Err(Stop::Unknown(Box::new(failure)));
            }
            Answer::Panics => panic!("the store panicked at key {key}"),
        }
        self.commit_key();
        self.tries.remove(&key);
        Ok(())
    }
}

impl Session for Connection {
    fn begin(&mut self, pattern: AccessPattern) {
        assert_eq!(pattern, AccessPattern::Single);
        assert!(self.key.is_none(), "a transaction begins only after the previous one has ended");
        assert!(!self.lost, "a lost connection is not used again");
    }

    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        let [Value::Int(key)] = values else {
            panic!("the plan declares one integer, not {values:?}");
        };
        self.part.calls.attempts.lock().unwrap().push(*key);
        self.key = Some((*key, operation));
        Ok(())
    }

    async fn receive(&mut self) -> Result<&Rows, Stop> {
        Ok(&self.rows)
    }

    async fn commit(&mut self) -> Result<(), Stop> {
        let (key, operation) = self.key.expect("a commit follows an insert");
        let answered = self.answer(key, operation).await;
        if answered.is_ok() {
            self.key = None;
        }
        answered
    }

    async fn abort(&mut self) {
        self.part.calls.aborts.fetch_add(1, Ordering::SeqCst);
        self.key = None;
    }

    async fn load(&mut self, _table: TableId, batch: &Rows) -> Result<(), Stop> {
        if self.load_broken {
            let what = "load does not work today";
            return Err(Failure::new(FailureKind::Storage, what).into());
        }
        if self.load_hangs {
            std::future::pending::<()>().await;
        }
        let mut loaded = self.part.calls.loaded.lock().unwrap();
        for row in batch.iter() {
            let Value::Int(key) = row.value(0) else {
                panic!("a loaded row is one integer");
            };
            *loaded.entry(key).or_default() += 1;
        }
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.part.calls.sessions_open.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Target for Store {
    type Session = Connection;
    type Worker = Part;

    fn name(&self) -> String {
        self.name.to_owned()
    }

    async fn preflight(&self) -> TargetResult<()> {
        self.step("preflight")
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    fn read_only_reason(&self) -> Option<String> {
        self.read_only_reason.clone()
    }

    fn log_location(&self) -> LogLocation {
        self.log_location.clone()
    }

    async fn unfinished_wait(&self) -> TargetResult<Option<String>> {
        Ok(self.hangs.map(|step| format!("a {step} waits forever")))
    }

    fn process(&self) -> StoreProcess {
        self.process
    }

    async fn counters(&self) -> TargetResult<Vec<Counter>> {
        self.step("counters")?;
        Ok(if self.counts { self.counted() } else { Vec::new() })
    }

    async fn round_trip_ns(&self) -> TargetResult<Option<Nanos>> {
        Ok(self.counts.then_some(50_000))
    }

    async fn observe(&self) -> TargetResult<StoreObservation> {
        let observations = self.observations.fetch_add(1, Ordering::SeqCst) as u64;
        let key = self.calls.keys.lock().unwrap().len() as i64;
        // Another client commits four times between two observations.
        for number in 0..4 {
            self.calls.keys.lock().unwrap().insert(key + number, 1);
        }
        Ok(StoreObservation {
            product: "scripted".to_owned(),
            version: "1".to_owned(),
            log_location: self.log_location(),
            process: self.process,
            unseen_syncs: None,
            counters: self.counted(),
            own_commits: observations + 1,
            settings: Vec::new(),
            replication: Err("it has none".to_owned()),
        })
    }

    async fn create(&self, _plan: &Plan) -> TargetResult<()> {
        self.calls.created.fetch_add(1, Ordering::SeqCst);
        self.step("create")
    }

    async fn reported_settings(&self) -> TargetResult<ReportedSettings> {
        self.step("reported_settings")?;
        Ok(ReportedSettings {
            product: "scripted".to_owned(),
            version: "1".to_owned(),
            durability: Durability::None,
            durability_evidence: "it lives in memory".to_owned(),
            isolation: Isolation::NoneClaimed,
            settings: Vec::new(),
        })
    }

    fn worker(&self) -> TargetResult<Part> {
        self.step("worker")?;
        Ok(Part { calls: self.calls.clone(), running: Rc::default(), waiting: Rc::default() })
    }

    async fn connect(&self, _plan: &Plan, part: &Part) -> TargetResult<Connection> {
        self.step("connect")?;
        self.calls.sessions.fetch_add(1, Ordering::SeqCst);
        self.calls.sessions_open.fetch_add(1, Ordering::SeqCst);
        Ok(Connection {
            part: part.clone(),
            log: self.log.lock().unwrap().clone(),
            script: self.script.clone(),
            key: None,
            tries: BTreeMap::new(),
            lost: false,
            load_broken: self.broken == Some("load"),
            load_hangs: self.hangs == Some("load"),
            rows: Rows::new(1),
        })
    }

    async fn remove(&self) -> TargetResult<()> {
        self.calls.removed.fetch_add(1, Ordering::SeqCst);
        let open = self.calls.sessions_open.load(Ordering::SeqCst);
        assert_eq!(open, 0, "sessions are closed before the store is removed");
        self.step("remove")
    }
}
