//! Sessions side by side, each on a thread of its own, led step by step.
//!
//! A step is handed to its session, and the next waits until it is done, or for [`PATIENCE`]: then the
//! store is letting it wait for another session, and the schedule goes on without it. What a session
//! still has to do waits in its own order. So the order of steps is fixed but for what the store delays.
//! What takes long by itself is given more time: connecting is no step, and a commit may sync a busy disk.
//!
//! A session may keep what it is to write until it is asked something. So behind each write a row is read
//! that nobody writes: when the step is over, the store has the write.

use super::schedules::Play;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;
use syncline_contract::conformance::block_on;
use syncline_contract::{
    AccessPattern, By, IndexId, Int, Kind, Limit, Lock, Order, Path, Plan, Range, Read,
    RequestTracker, Scan as ScanOf, Session, Set as SetOf, Stop, Table, Target, TargetResult,
    Transaction, Write,
};

/// How long a step may take before it counts as waiting for another session.
const PATIENCE: Duration = Duration::from_millis(400);

/// The same of a commit or abort that has nothing of its session before it: hardly a store lets one wait.
const PATIENCE_AT_END: Duration = Duration::from_secs(3);

/// How long the whole may take behind the last step: a store gives up waiting before.
const END: Duration = Duration::from_secs(30);

/// What a session does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScheduleStep {
    /// Makes the row that is read behind each write.
    Mark,
    /// Reads a row's value.
    Get(i64),
    /// Sets a row to a value.
    Set(i64, i64),
    /// Adds to a row's value.
    Add(i64, i64),
    /// A new row.
    Insert(i64, i64),
    /// Reads the values of rows from one value to another, by an index.
    Scan(i64, i64),
    Commit,
    Abort,
}

/// What came of a schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ScheduleResult {
    got: [Vec<i64>; 3],
    committed: [bool; 3],
    rows: Vec<(i64, i64)>,
    /// Why sessions stopped before their commit, in words.
    pub(super) stops: Vec<String>,
}

impl ScheduleResult {
    /// What a session has read, in order.
    pub(super) fn got(&self, session: usize) -> &[i64] {
        &self.got[session - 1]
    }

    /// True if its commit was acknowledged.
    pub(super) fn committed(&self, session: usize) -> bool {
        self.committed[session - 1]
    }

    /// True if the first two committed.
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
    /// With an index for predicates, where the store has them.
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
        let scan = ScanOf {
            path,
            order: Order::Ascending,
            limit: Limit::None,
            columns: &["amount"],
            lock: Lock::None,
        };
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

    /// Plays on a target that does not stand yet; it is removed at the end.
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

    /// Leads the sessions through the steps.
    fn lead<T: Target>(
        &self,
        target: &T,
        steps: &[(usize, ScheduleStep)],
        played: &mut ScheduleResult,
    ) -> TargetResult<()> {
        thread::scope(|scope| {
            let (answer, answers) = channel();
            let sessions = (1..=3).filter(|one| steps.iter().any(|(session, _)| session == one));
            let mut doors: Vec<(usize, Sender<ScheduleStep>)> = Vec::new();
            let mut threads = Vec::new();
            for session in sessions {
                let acts = steps.iter().filter(|(of, _)| *of == session);
                let writes = acts
                    .clone()
                    .any(|(_, act)| matches!(act, Mark | Set(..) | Add(..) | Insert(..)));
                let (door, orders) = channel();
                let answer = answer.clone();
                doors.push((session, door));
                threads.push(scope.spawn(move || {
                    let part = Part {
                        stage: self,
                        session,
                        shape: if writes {
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
            conduct(steps, doors, &answers, played);
            threads.into_iter().try_for_each(|thread| {
                let ended = thread.join();
                ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })
    }
}

use ScheduleStep::{Abort, Add, Commit, Get, Insert, Mark, Scan, Set};

/// What a session has to say of one step.
enum Reply {
    Got(Vec<i64>),
    Done,
    Committed,
    Stopped(String),
}

/// Hands out the steps, and gathers what is said.
fn conduct(
    steps: &[(usize, ScheduleStep)],
    doors: Vec<(usize, Sender<ScheduleStep>)>,
    answers: &Receiver<(usize, Reply)>,
    played: &mut ScheduleResult,
) {
    let mut owed = [0_usize; 3];
    // Each says first that it is there.
    for (session, _) in &doors {
        owed[session - 1] = 1;
    }
    hear_all(&mut owed, answers, played);
    for (session, act) in steps {
        let door = doors.iter().find(|(of, _)| of == session);
        if door.is_some_and(|(_, door)| door.send(*act).is_ok()) {
            owed[session - 1] += 1;
        }
        let patience = match act {
            Commit | Abort if owed[session - 1] == 1 => PATIENCE_AT_END,
            _ => PATIENCE,
        };
        while owed[session - 1] > 0 {
            let Ok((of, said)) = answers.recv_timeout(patience) else {
                break;
            };
            owed[of - 1] -= 1;
            played.hear(of, said);
        }
    }
    drop(doors);
    hear_all(&mut owed, answers, played);
}

/// Hears every session that owes an answer, within a limit.
fn hear_all(
    owed: &mut [usize; 3],
    answers: &Receiver<(usize, Reply)>,
    played: &mut ScheduleResult,
) {
    while owed.iter().any(|owed| *owed > 0)
        && let Ok((of, said)) = answers.recv_timeout(END)
    {
        owed[of - 1] -= 1;
        played.hear(of, said);
    }
}

impl ScheduleResult {
    fn hear(&mut self, session: usize, said: Reply) {
        match said {
            Reply::Got(values) => self.got[session - 1].extend(values),
            Reply::Committed => self.committed[session - 1] = true,
            Reply::Stopped(why) => self.stops.push(format!("T{session} {why}")),
            Reply::Done => {}
        }
    }
}

/// One session on its thread.
struct Part<'p> {
    stage: &'p Interleaver,
    session: usize,
    shape: AccessPattern,
    orders: Receiver<ScheduleStep>,
    answer: Sender<(usize, Reply)>,
}

impl Part<'_> {
    fn run<T: Target>(&self, target: &T) -> TargetResult<()> {
        let worker = target.worker().inspect_err(|_| self.say(Reply::Done))?;
        block_on(&worker, async {
            let connected = target.connect(&self.stage.plan, &worker).await;
            self.say(Reply::Done);
            let mut session = connected?;
            let (mut begun, mut over) = (false, false);
            while let Ok(act) = self.orders.recv() {
                if over {
                    self.say(Reply::Done);
                    continue;
                }
                if !begun {
                    session.begin(self.shape);
                    begun = true;
                }
                match self.act(&mut session, act).await {
                    Ok(said) => {
                        over = matches!(act, Commit | Abort);
                        self.say(said);
                    }
                    Err(stop) => {
                        session.abort().await;
                        over = true;
                        self.say(Reply::Stopped(words(stop)));
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
        let (stage, mut asked) = (self.stage, RequestTracker::new(false));
        let mut transaction = Transaction::new(session, &mut asked);
        match act {
            Get(id) => {
                let (value,) = transaction.read(&stage.get, (id,)).await?;
                return Ok(Reply::Got(vec![value]));
            }
            Scan(from, to) => {
                let scan = stage.scan.as_ref().expect("a schedule that scans has an index");
                transaction.ask(scan, (from, to))?;
                let mut values = Vec::new();
                for row in transaction.answers(scan).await? {
                    values.push(row?.0);
                }
                return Ok(Reply::Got(values));
            }
            Mark => transaction.write(&stage.mark, (0,))?,
            Set(id, value) => transaction.write(&stage.set, (id, value))?,
            Add(id, value) => transaction.write(&stage.add, (id, value))?,
            Insert(id, value) => transaction.write(&stage.insert, (id, value))?,
            Commit | Abort => {}
        }
        transaction.read(&stage.see_mark, (0,)).await?;
        Ok(Reply::Done)
    }

    fn say(&self, said: Reply) {
        // Nobody hears who speaks after the end.
        drop(self.answer.send((self.session, said)));
    }
}

fn words(stop: Stop) -> String {
    match stop {
        Stop::Abort => "aborted by itself".to_owned(),
        Stop::Conflict(cause) => format!("was refused ({})", cause.name()),
        Stop::Failed(failure) | Stop::Unknown(failure) => format!("failed: {}", failure.what),
    }
}
