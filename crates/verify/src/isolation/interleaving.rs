//! Interleaves several sessions step by step, each on its own thread.
//!
//! Each step is sent to its session. The next one follows when the step is done, or after [`PATIENCE`]: then
//! the store is making the session wait for another, and the schedule continues without it. The remaining
//! steps of a session run in their own order. So the order of steps is fixed except where the store delays
//! one. Slow operations get more time: connecting does not count as a step, and a commit may have to sync on
//! a busy disk.
//!
//! A session may buffer its writes until it must answer a read. So each write is followed by a read of a row
//! that no session writes: once the step is over, the store has the write.

use super::schedules::Play;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;
use syncline_contract::conformance::block_on;
use syncline_contract::{
    AccessPattern, By, IndexId, Int, Kind, Limit, Lock, Path, Plan, Range, Read, RequestTracker,
    Scan as ScanOf, Session, Set as SetOf, Stop, Table, Target, TargetResult, Transaction, Write,
};

/// How long a step may take before it counts as waiting for another session.
const PATIENCE: Duration = Duration::from_millis(400);

/// As `PATIENCE`, for a commit or abort when its session has no earlier step outstanding: hardly any store
/// makes one wait.
const PATIENCE_AT_END: Duration = Duration::from_secs(3);

/// The time limit for all outstanding steps after the last one: stores stop waiting earlier.
const END: Duration = Duration::from_secs(30);

/// A step of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScheduleStep {
    /// Inserts the row that is read after each write.
    Mark,
    /// Reads a row's value.
    Get(i64),
    /// Sets a row to a value.
    Set(i64, i64),
    /// Adds to a row's value.
    Add(i64, i64),
    /// Inserts a row.
    Insert(i64, i64),
    /// Reads the values of the rows in a range of values, through an index.
    Scan(i64, i64),
    Commit,
    Abort,
}

/// The result of playing a schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ScheduleResult {
    got: [Vec<i64>; 3],
    committed: [bool; 3],
    rows: Vec<(i64, i64)>,
    /// Why sessions stopped before their commit, in words.
    pub(super) stops: Vec<String>,
}

impl ScheduleResult {
    /// The values that a session has read, in order.
    pub(super) fn got(&self, session: usize) -> &[i64] {
        &self.got[session - 1]
    }

    /// True if the session's commit was acknowledged.
    pub(super) fn committed(&self, session: usize) -> bool {
        self.committed[session - 1]
    }

    /// True if sessions 1 and 2 committed.
    pub(super) fn both_committed(&self) -> bool {
        self.committed(1) && self.committed(2)
    }

    /// The rows at the end.
    pub(super) fn rows(&self) -> &[(i64, i64)] {
        &self.rows
    }
}

/// The plan and its operations.
#[derive(Debug)]
pub(super) struct Interleaver {
    pub(super) plan: Plan,
    get: Read<(Int,), (Int,)>,
    set: Write<(Int, Int)>,
    add: Write<(Int, Int)>,
    insert: Write<(Int, Int)>,
    mark: Write<(Int,)>,
    see_mark: Read<(Int,), (Int,)>,
    scan: Option<Read<(Int, Int), (Int,)>>,
}

impl Interleaver {
    /// With an index for predicates, if the store supports indexes.
    pub(super) fn new(has_indexes: bool) -> Interleaver {
        let mut plan = Plan::new();
        let table = Table::new("syncline_hermitage").column("id", Kind::Int);
        let mut table = table.column("amount", Kind::Int).key(&["id"]);
        if has_indexes {
            table = table.index("syncline_hermitage_amount", &["amount"], false);
        }
        let table = plan.table(table);
        let mark = Table::new("syncline_hermitage_mark").column("id", Kind::Int);
        let mark = plan.table(mark.key(&["id"]));
        let path = Path { table, by: By::Index(IndexId(0)), equal: 0, range: Range::Between };
        let scan = ScanOf::ascending(path, Limit::None, &["amount"]);
        Interleaver {
            get: plan.get("get row", table, &["amount"], Lock::None),
            set: plan.update("set row", table, &[("amount", SetOf::To)]),
            add: plan.update("add to row", table, &[("amount", SetOf::Add)]),
            insert: plan.insert("new row", table),
            mark: plan.insert("set mark", mark),
            see_mark: plan.get("see mark", mark, &["id"], Lock::None),
            scan: has_indexes.then(|| plan.scan("scan rows", scan)),
            plan,
        }
    }

    /// Plays a schedule on a target that does not exist yet; removes it at the end.
    pub(super) fn play<T: Target>(&self, target: &T, play: &Play) -> TargetResult<ScheduleResult> {
        block_on(&(), target.create(&self.plan))?;
        let played = self.play_on(target, play);
        block_on(&(), target.remove())?;
        played
    }

    fn play_on<T: Target>(&self, target: &T, play: &Play) -> TargetResult<ScheduleResult> {
        let mut setter = ScheduleResult::default();
        let fill = [(1, Mark), (1, Insert(1, 10)), (1, Insert(2, 20)), (1, Commit)];
        self.lead(target, &fill, &mut setter)?;
        let mut played = ScheduleResult::default();
        self.lead(target, play.steps, &mut played)?;
        let mut reader = ScheduleResult::default();
        self.lead(target, &[(1, Get(1)), (1, Get(2)), (1, Commit)], &mut reader)?;
        played.rows = (1..).zip(reader.got(1).iter().copied()).collect();
        Ok(played)
    }

    /// Runs the sessions through the steps.
    fn lead<T: Target>(
        &self,
        target: &T,
        steps: &[(usize, ScheduleStep)],
        played: &mut ScheduleResult,
    ) -> TargetResult<()> {
        thread::scope(|scope| {
            let (answer, answers) = channel();
            let sessions = (1..=3).filter(|one| steps.iter().any(|(session, _)| session == one));
            let mut senders: Vec<(usize, Sender<ScheduleStep>)> = Vec::new();
            let mut threads = Vec::new();
            for session in sessions {
                let acts = steps.iter().filter(|(of, _)| *of == session);
                let writes = acts
                    .clone()
                    .any(|(_, act)| matches!(act, Mark | Set(..) | Add(..) | Insert(..)));
                let (sender, orders) = channel();
                let answer = answer.clone();
                senders.push((session, sender));
                threads.push(scope.spawn(move || {
                    let part = SessionThread {
                        interleaver: self,
                        session,
                        access_pattern: if writes {
                            AccessPattern::Several
                        } else {
                            AccessPattern::ReadOnly
                        },
                        orders,
                        answer,
                    };
                    part.run(target)
                }));
            }
            drop(answer);
            run_steps(steps, senders, &answers, played);
            threads.into_iter().try_for_each(|thread| {
                let ended = thread.join();
                ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })
    }
}

use ScheduleStep::{Abort, Add, Commit, Get, Insert, Mark, Scan, Set};

/// The result of one step.
enum Reply {
    Got(Vec<i64>),
    Done,
    Committed,
    Stopped(String),
}

/// Sends the steps to the sessions, and collects the results.
fn run_steps(
    steps: &[(usize, ScheduleStep)],
    senders: Vec<(usize, Sender<ScheduleStep>)>,
    answers: &Receiver<(usize, Reply)>,
    played: &mut ScheduleResult,
) {
    let mut outstanding = [0_usize; 3];
    // Each session first reports that it is connected.
    for (session, _) in &senders {
        outstanding[session - 1] = 1;
    }
    receive_all(&mut outstanding, answers, played);
    for (session, act) in steps {
        let sender = senders.iter().find(|(of, _)| of == session);
        if sender.is_some_and(|(_, sender)| sender.send(*act).is_ok()) {
            outstanding[session - 1] += 1;
        }
        let patience = match act {
            Commit | Abort if outstanding[session - 1] == 1 => PATIENCE_AT_END,
            _ => PATIENCE,
        };
        while outstanding[session - 1] > 0 {
            let Ok((of, reply)) = answers.recv_timeout(patience) else {
                break;
            };
            outstanding[of - 1] -= 1;
            played.record(of, reply);
        }
    }
    drop(senders);
    receive_all(&mut outstanding, answers, played);
}

/// Waits for all outstanding results, up to a time limit.
fn receive_all(
    outstanding: &mut [usize; 3],
    answers: &Receiver<(usize, Reply)>,
    played: &mut ScheduleResult,
) {
    while outstanding.iter().any(|outstanding| *outstanding > 0)
        && let Ok((of, reply)) = answers.recv_timeout(END)
    {
        outstanding[of - 1] -= 1;
        played.record(of, reply);
    }
}

impl ScheduleResult {
    fn record(&mut self, session: usize, reply: Reply) {
        match reply {
            Reply::Got(values) => self.got[session - 1].extend(values),
            Reply::Committed => self.committed[session - 1] = true,
            Reply::Stopped(why) => self.stops.push(format!("T{session} {why}")),
            Reply::Done => {}
        }
    }
}

/// One session on its thread.
struct SessionThread<'p> {
    interleaver: &'p Interleaver,
    session: usize,
    access_pattern: AccessPattern,
    orders: Receiver<ScheduleStep>,
    answer: Sender<(usize, Reply)>,
}

impl SessionThread<'_> {
    fn run<T: Target>(&self, target: &T) -> TargetResult<()> {
        let worker = target.worker().inspect_err(|_| self.reply_with(Reply::Done))?;
        block_on(&worker, async {
            let connected = target.connect(&self.interleaver.plan, &worker).await;
            self.reply_with(Reply::Done);
            let mut session = connected?;
            let (mut begun, mut over) = (false, false);
            while let Ok(act) = self.orders.recv() {
                if over {
                    self.reply_with(Reply::Done);
                    continue;
                }
                if !begun {
                    session.begin(self.access_pattern);
                    begun = true;
                }
                match self.act(&mut session, act).await {
                    Ok(reply) => {
                        over = matches!(act, Commit | Abort);
                        self.reply_with(reply);
                    }
                    Err(stop) => {
                        session.abort().await;
                        over = true;
                        self.reply_with(Reply::Stopped(words(stop)));
                    }
                }
            }
            Ok(())
        })
    }

    async fn act<S: Session>(&self, session: &mut S, act: ScheduleStep) -> Result<Reply, Stop> {
        match act {
            Commit => {
                session.commit().await?;
                return Ok(Reply::Committed);
            }
            Abort => {
                session.abort().await;
                return Ok(Reply::Done);
            }
            Mark | Get(_) | Set(..) | Add(..) | Insert(..) | Scan(..) => {}
        }
        let (interleaver, mut requests) = (self.interleaver, RequestTracker::new(false));
        let mut transaction = Transaction::new(session, &mut requests);
        match act {
            Get(id) => {
                let (value,) = transaction.read(&interleaver.get, (id,)).await?;
                return Ok(Reply::Got(vec![value]));
            }
            Scan(from, to) => {
                let scan = interleaver.scan.as_ref().expect("a schedule that scans has an index");
                transaction.ask(scan, (from, to))?;
                let mut values = Vec::new();
                for row in transaction.answers(scan).await? {
                    values.push(row?.0);
                }
                return Ok(Reply::Got(values));
            }
            Mark => transaction.write(&interleaver.mark, (0,))?,
            Set(id, value) => transaction.write(&interleaver.set, (id, value))?,
            Add(id, value) => transaction.write(&interleaver.add, (id, value))?,
            Insert(id, value) => transaction.write(&interleaver.insert, (id, value))?,
            Commit | Abort => {}
        }
        transaction.read(&interleaver.see_mark, (0,)).await?;
        Ok(Reply::Done)
    }

    fn reply_with(&self, reply: Reply) {
        // The receiver may be gone after the end.
        drop(self.answer.send((self.session, reply)));
    }
}

fn words(stop: Stop) -> String {
    match stop {
        Stop::Abort => "aborted by itself".to_owned(),
        Stop::Conflict(cause) => format!("was refused ({})", cause.name()),
        Stop::Failed(failure) | Stop::Unknown(failure) => format!("failed: {}", failure.what),
    }
}
