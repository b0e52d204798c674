//! The workload's view of a session: it can read and write, but not commit.
//!
//! Requests and answers are separate calls, so that independent requests can share a round trip: make all
//! requests, then take the answers in the same order.

use crate::fields::Fields;
use crate::operation::OperationId;
use crate::outcome::{Failure, FailureKind, Stop};
use crate::pause::{Pause, Timer};
use crate::plan::{Read, Write};
use crate::queue::Queue;
use crate::rows::{Row, Rows};
use crate::session::Session;
use std::rc::Rc;
use syncline_instrument::{Nanos, clock};

/// The requests of a transaction that wait for their answers, and the times of those that were timed. One per
/// client, reused.
#[derive(Debug, Default)]
pub struct RequestTracker {
    waiting: Queue<(OperationId, Nanos)>,
    timed: Option<Vec<(OperationId, Nanos)>>,
    /// When each of `timed` was answered.
    answered: Vec<Nanos>,
    timer: Option<Rc<dyn Timer>>,
}

impl RequestTracker {
    /// No requests; `timed` measures each operation from its request to its answer.
    pub fn new(timed: bool) -> RequestTracker {
        RequestTracker {
            waiting: Queue::default(),
            timed: timed.then(Vec::new),
            answered: Vec::new(),
            timer: None,
        }
    }

    /// The same, for clients that may pause.
    #[must_use]
    pub fn with_timer(mut self, timer: Rc<dyn Timer>) -> RequestTracker {
        self.timer = Some(timer);
        self
    }

    /// Removes the waiting requests and the times.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.answered.clear();
        if let Some(times) = &mut self.timed {
            times.clear();
        }
    }

    /// Completes the times after the transaction has ended, with those of its writes if the session reports
    /// them ([`Session::answered_writes`]). A read that was sent after such a write counts from the write's
    /// answer, not from its request.
    #[inline]
    pub fn complete_times<S: Session>(&mut self, session: &mut S) {
        let Some(times) = &mut self.timed else {
            return;
        };
        let Some(writes) = session.answered_writes() else {
            return;
        };
        for ((_, time_ns), answered) in times.iter_mut().zip(&self.answered) {
            let before = writes.iter().map(|write| write.answered);
            let before = before.filter(|at| at <= answered).max();
            *time_ns = before.map_or(*time_ns, |at| (*time_ns).min(answered - at));
        }
        times.extend(writes.drain(..).map(|write| {
            let time_ns = write.answered.saturating_sub(write.sent);
            (write.operation, time_ns)
        }));
    }

    /// The operations answered since the last [`RequestTracker::clear`], with nanoseconds from request to
    /// answer. Includes those writes of a network store whose times are known, after
    /// [`RequestTracker::complete_times`].
    pub fn times(&self) -> &[(OperationId, Nanos)] {
        self.timed.as_deref().unwrap_or_default()
    }

    #[inline]
    fn now(&self) -> Nanos {
        if self.timed.is_some() { clock::now() } else { 0 }
    }

    #[inline]
    fn answered(&mut self, operation: OperationId, since: Nanos) {
        if let Some(times) = &mut self.timed {
            let now = clock::now();
            times.push((operation, now.saturating_sub(since)));
            self.answered.push(now);
        }
    }

    #[inline]
    fn oldest(&mut self, expected: OperationId) -> Nanos {
        let (operation, since) = self.waiting.pop().expect("an answer needs a request");
        assert!(operation == expected, "answers are taken in the order of the requests");
        since
    }
}

/// A transaction in progress.
#[derive(Debug)]
pub struct Transaction<'t, S> {
    session: &'t mut S,
    requests: &'t mut RequestTracker,
}

impl<'t, S: Session> Transaction<'t, S> {
    /// Wraps a session whose transaction has begun; for runners and tests.
    pub fn new(session: &'t mut S, requests: &'t mut RequestTracker) -> Transaction<'t, S> {
        Transaction { session, requests }
    }

    /// Sends a write.
    #[inline]
    pub fn write<K: Fields>(
        &mut self,
        operation: &Write<K>,
        parameters: K::Of<'_>,
    ) -> Result<(), Stop> {
        let since = self.requests.now();
        K::put(parameters, |values| self.session.send(operation.id, values))?;
        if self.requests.timed.is_some() && self.session.answered_writes().is_none() {
            self.requests.answered(operation.id, since);
        }
        Ok(())
    }

    /// Sends a read.
    #[inline]
    pub fn ask<K: Fields, R>(
        &mut self,
        operation: &Read<K, R>,
        parameters: K::Of<'_>,
    ) -> Result<(), Stop> {
        let since = self.requests.now();
        K::put(parameters, |values| self.session.send(operation.id, values))?;
        self.requests.waiting.push((operation.id, since));
        Ok(())
    }

    /// The rows of the oldest read's answer, borrowed until the next call. Each row is an error if its kinds
    /// are not the declared ones.
    #[inline]
    pub async fn answers<K, R: Fields>(
        &mut self,
        operation: &Read<K, R>,
    ) -> Result<impl ExactSizeIterator<Item = Result<R::Of<'_>, Stop>>, Stop> {
        let id = operation.id;
        let rows = self.rows(id).await?;
        Ok(rows.iter().map(move |row| take::<R>(id, row)))
    }

    /// The only row of the oldest read's answer; no row is a failure that stops the run.
    #[inline]
    pub async fn answer<K, R: Fields>(
        &mut self,
        operation: &Read<K, R>,
    ) -> Result<R::Of<'_>, Stop> {
        let id = operation.id;
        let found = self.answer_if_any(operation).await?;
        found.ok_or_else(|| misanswered(id, "no row, although the workload loaded one"))
    }

    /// The row of the oldest read's answer, if it has one.
    #[inline]
    pub async fn answer_if_any<K, R: Fields>(
        &mut self,
        operation: &Read<K, R>,
    ) -> Result<Option<R::Of<'_>>, Stop> {
        let id = operation.id;
        let rows = self.rows(id).await?;
        match rows.len() {
            0 => Ok(None),
            1 => match R::take(rows.row(0)) {
                None => Err(of_other_kinds(id)),
                some => Ok(some),
            },
            _ => Err(misanswered(id, "several rows instead of one")),
        }
    }

    /// Sends a read and takes the only row of its answer.
    #[inline]
    pub async fn read<K: Fields, R: Fields>(
        &mut self,
        operation: &Read<K, R>,
        parameters: K::Of<'_>,
    ) -> Result<R::Of<'_>, Stop> {
        self.ask(operation, parameters)?;
        self.answer(operation).await
    }

    /// Sends a read and takes the row of its answer, if it has one.
    #[inline]
    pub async fn read_if_any<K: Fields, R: Fields>(
        &mut self,
        operation: &Read<K, R>,
        parameters: K::Of<'_>,
    ) -> Result<Option<R::Of<'_>>, Stop> {
        self.ask(operation, parameters)?;
        self.answer_if_any(operation).await
    }

    /// The names of the columns that a statement returns, as reported by the store; none if it does not
    /// report them.
    pub fn columns<K, R>(&self, operation: &Read<K, R>) -> Option<Vec<String>> {
        self.session.columns(operation.id)
    }

    /// Sleeps inside the transaction. A run that ends meanwhile waits for it as for any transaction in
    /// progress.
    pub async fn pause(&mut self, length_ns: Nanos) -> Result<(), Stop> {
        let Some(timer) = &self.requests.timer else {
            let what = "a pause inside a transaction needs an executor with a timer";
            return Err(Failure::new(FailureKind::Limit, what).into());
        };
        let due = clock::now().saturating_add(length_ns);
        Pause::until(Rc::clone(timer), due).await;
        Ok(())
    }

    #[inline]
    async fn rows(&mut self, operation: OperationId) -> Result<&Rows, Stop> {
        let since = self.requests.oldest(operation);
        let rows = self.session.receive().await?;
        self.requests.answered(operation, since);
        Ok(rows)
    }
}

#[inline]
fn take<R: Fields>(operation: OperationId, row: Row<'_>) -> Result<R::Of<'_>, Stop> {
    R::take(row).ok_or_else(|| of_other_kinds(operation))
}

#[cold]
fn of_other_kinds(operation: OperationId) -> Stop {
    misanswered(operation, "a row whose kinds differ from the plan's")
}

#[cold]
fn misanswered(operation: OperationId, what: &str) -> Stop {
    let what = format!("the target answered {what}");
    Failure::new(FailureKind::Statement, what).in_operation(operation).into()
}

#[cfg(test)]
mod tests {
    use super::{RequestTracker, Transaction};
    use crate::Int;
    use crate::conformance::block_on;
    use crate::operation::{Lock, OperationId};
    use crate::outcome::Stop;
    use crate::plan::{Plan, Read, Write};
    use crate::rows::Rows;
    use crate::schema::Table;
    use crate::session::{AccessPattern, AnsweredWrite, Session};
    use crate::value::{Kind, Value};
    use syncline_instrument::clock;

    /// Answers each operation at the next receive or commit, like a network store; or at once.
    #[derive(Default)]
    struct Far {
        sent: Vec<OperationId>,
        writes: Option<Vec<AnsweredWrite>>,
        rows: Rows,
    }

    /// The time until an answer.
    const ANSWER_NS: u64 = 3_000_000;

    impl Far {
        fn answer(&mut self, write: OperationId) {
            let sent: Vec<_> = self.sent.drain(..).collect();
            for operation in sent.into_iter().filter(|operation| *operation == write) {
                let sent = clock::now();
                std::thread::sleep(std::time::Duration::from_nanos(ANSWER_NS));
                let answered = clock::now();
                self.writes.as_mut().unwrap().push(AnsweredWrite { operation, sent, answered });
            }
        }
    }

    impl Session for Far {
        fn begin(&mut self, _shape: AccessPattern) {}

        fn send(&mut self, operation: OperationId, _values: &[Value<'_>]) -> Result<(), Stop> {
            self.sent.push(operation);
            Ok(())
        }

        async fn receive(&mut self) -> Result<&Rows, Stop> {
            if self.writes.is_some() {
                self.answer(OperationId(0));
            }
            self.rows.reset(1);
            self.rows.push(Value::Int(1));
            Ok(&self.rows)
        }

        async fn commit(&mut self) -> Result<(), Stop> {
            if self.writes.is_some() {
                self.answer(OperationId(0));
            }
            Ok(())
        }

        async fn abort(&mut self) {}

        fn answered_writes(&mut self) -> Option<&mut Vec<AnsweredWrite>> {
            self.writes.as_mut()
        }
    }

    #[test]
    fn a_later_answered_write_is_timed_separately_from_reads() {
        let mut plan = Plan::new();
        let table = plan.table(Table::new("t").column("id", Kind::Int).key(&["id"]));
        let insert: Write<(Int,)> = plan.insert("insert", table);
        let get: Read<(Int,), (Int,)> = plan.get("get", table, &["id"], Lock::None);
        assert_eq!(insert.id, OperationId(0));
        let mut session = Far { writes: Some(Vec::new()), ..Far::default() };
        let mut requests = RequestTracker::new(true);
        block_on(&(), async {
            let mut transaction = Transaction::new(&mut session, &mut requests);
            transaction.write(&insert, (1,)).unwrap();
            transaction.read(&get, (1,)).await.unwrap();
            transaction.write(&insert, (2,)).unwrap();
            session.commit().await.unwrap();
        });
        requests.complete_times(&mut session);
        let of = |id| {
            let times = requests.times().iter().filter(move |(operation, _)| *operation == id);
            times.map(|(_, time_ns)| *time_ns).collect::<Vec<_>>()
        };
        assert_eq!(of(insert.id).len(), 2);
        assert!(of(insert.id).iter().all(|time_ns| *time_ns >= ANSWER_NS));
        let [read_time] = of(get.id)[..] else {
            panic!("expected one read: {:?}", requests.times())
        };
        assert!(read_time < ANSWER_NS, "{read_time}");
        // If a write is answered when it is sent, that is its time.
        let (mut near, mut requests) = (Far::default(), RequestTracker::new(true));
        let mut transaction = Transaction::new(&mut near, &mut requests);
        transaction.write(&insert, (1,)).unwrap();
        requests.complete_times(&mut near);
        assert_eq!(requests.times().len(), 1);
    }
}
