//! What workload code sees of a session: it asks, takes answers and writes, and cannot commit.
//!
//! Questions and answers are separate calls, so that everything independent can travel in one round
//! trip: ask all, then take the answers in the order of asking.

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

/// The questions of a transaction that wait for their answers, and the times of those that were
/// timed. One a client, reused.
#[derive(Debug, Default)]
pub struct RequestTracker {
    waiting: Queue<(OperationId, Nanos)>,
    timed: Option<Vec<(OperationId, Nanos)>>,
    /// When each of `timed` was answered.
    answered: Vec<Nanos>,
    timer: Option<Rc<dyn Timer>>,
}

impl RequestTracker {
    /// Nothing asked; `timed` measures each operation from its sending to its answer.
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

    /// Forgets what waits for an answer and what was timed.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.answered.clear();
        if let Some(times) = &mut self.timed {
            times.clear();
        }
    }

    /// The transaction has ended: the times of its writes are known where the session tells them
    /// ([`Session::answered_writes`]). A question that went out behind such a write did so when that was
    /// answered, not when it was asked.
    #[inline]
    pub fn settle<S: Session>(&mut self, session: &mut S) {
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

    /// The operations answered since the last [`RequestTracker::clear`], with nanoseconds from send to
    /// answer; of a network store's writes those of which that is known, once settled.
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
        let (operation, since) = self.waiting.pop().expect("an answer needs a question");
        assert!(operation == expected, "answers are taken in the order of asking");
        since
    }
}

/// A transaction under way.
#[derive(Debug)]
pub struct Transaction<'t, S> {
    session: &'t mut S,
    asked: &'t mut RequestTracker,
}

impl<'t, S: Session> Transaction<'t, S> {
    /// Around a session whose transaction has begun; for runners and tests.
    pub fn new(session: &'t mut S, asked: &'t mut RequestTracker) -> Transaction<'t, S> {
        Transaction { session, asked }
    }

    /// Sends a write.
    #[inline]
    pub fn write<K: Fields>(&mut self, operation: &Write<K>, given: K::Of<'_>) -> Result<(), Stop> {
        let since = self.asked.now();
        K::put(given, |values| self.session.send(operation.id, values))?;
        if self.asked.timed.is_some() && self.session.answered_writes().is_none() {
            self.asked.answered(operation.id, since);
        }
        Ok(())
    }

    /// Sends a question.
    #[inline]
    pub fn ask<K: Fields, R>(
        &mut self,
        operation: &Read<K, R>,
        given: K::Of<'_>,
    ) -> Result<(), Stop> {
        let since = self.asked.now();
        K::put(given, |values| self.session.send(operation.id, values))?;
        self.asked.waiting.push((operation.id, since));
        Ok(())
    }

    /// The rows of the oldest question's answer, lent until the next call. Each row says whether the
    /// store answered the declared kinds.
    #[inline]
    pub async fn answers<K, R: Fields>(
        &mut self,
        operation: &Read<K, R>,
    ) -> Result<impl ExactSizeIterator<Item = Result<R::Of<'_>, Stop>>, Stop> {
        let id = operation.id;
        let rows = self.rows(id).await?;
        Ok(rows.iter().map(move |row| take::<R>(id, row)))
    }

    /// The one row of the oldest question's answer; no row is a failure that stops the run.
    #[inline]
    pub async fn answer<K, R: Fields>(
        &mut self,
        operation: &Read<K, R>,
    ) -> Result<R::Of<'_>, Stop> {
        let id = operation.id;
        let found = self.answer_if_any(operation).await?;
        found.ok_or_else(|| misanswered(id, "no row where the workload loaded one"))
    }

    /// The row of the oldest question's answer, if it has one.
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
            _ => Err(misanswered(id, "several rows where one was asked for")),
        }
    }

    /// Asks and takes the one row of the answer.
    #[inline]
    pub async fn read<K: Fields, R: Fields>(
        &mut self,
        operation: &Read<K, R>,
        given: K::Of<'_>,
    ) -> Result<R::Of<'_>, Stop> {
        self.ask(operation, given)?;
        self.answer(operation).await
    }

    /// Asks and takes the row of the answer, if it has one.
    #[inline]
    pub async fn read_if_any<K: Fields, R: Fields>(
        &mut self,
        operation: &Read<K, R>,
        given: K::Of<'_>,
    ) -> Result<Option<R::Of<'_>>, Stop> {
        self.ask(operation, given)?;
        self.answer_if_any(operation).await
    }

    /// The names of the columns that a statement answers, as the store says them; none where it does
    /// not say.
    pub fn columns<K, R>(&self, operation: &Read<K, R>) -> Option<Vec<String>> {
        self.session.columns(operation.id)
    }

    /// Sleeps inside the transaction, which lasts that much longer; a run that ends meanwhile waits for it
    /// as it waits for any transaction under way.
    pub async fn pause(&mut self, length_ns: Nanos) -> Result<(), Stop> {
        let Some(timer) = &self.asked.timer else {
            let what = "there is no timer here that could end a pause inside a transaction";
            return Err(Failure::new(FailureKind::Limit, what).into());
        };
        let due = clock::now().saturating_add(length_ns);
        Pause::until(Rc::clone(timer), due).await;
        Ok(())
    }

    #[inline]
    async fn rows(&mut self, operation: OperationId) -> Result<&Rows, Stop> {
        let since = self.asked.oldest(operation);
        let rows = self.session.receive().await?;
        self.asked.answered(operation, since);
        Ok(rows)
    }
}

#[inline]
fn take<R: Fields>(operation: OperationId, row: Row<'_>) -> Result<R::Of<'_>, Stop> {
    R::take(row).ok_or_else(|| of_other_kinds(operation))
}

#[cold]
fn of_other_kinds(operation: OperationId) -> Stop {
    misanswered(operation, "a row of other kinds than the plan declares")
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

    /// Answers each operation with the receive or commit behind it, as over a network; or at once.
    #[derive(Default)]
    struct Far {
        sent: Vec<OperationId>,
        writes: Option<Vec<AnsweredWrite>>,
        rows: Rows,
    }

    /// How long an answer takes.
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
    fn a_write_that_is_answered_later_has_the_time_to_its_answer_and_no_question_has_it_too() {
        let mut plan = Plan::new();
        let table = plan.table(Table::new("t").column("id", Kind::Int).key(&["id"]));
        let insert: Write<(Int,)> = plan.insert("insert", table);
        let get: Read<(Int,), (Int,)> = plan.get("get", table, &["id"], Lock::None);
        assert_eq!(insert.id, OperationId(0));
        let mut session = Far { writes: Some(Vec::new()), ..Far::default() };
        let mut asked = RequestTracker::new(true);
        block_on(&(), async {
            let mut transaction = Transaction::new(&mut session, &mut asked);
            transaction.write(&insert, (1,)).unwrap();
            transaction.read(&get, (1,)).await.unwrap();
            transaction.write(&insert, (2,)).unwrap();
            session.commit().await.unwrap();
        });
        asked.settle(&mut session);
        let of = |id| {
            let times = asked.times().iter().filter(move |(operation, _)| *operation == id);
            times.map(|(_, time_ns)| *time_ns).collect::<Vec<_>>()
        };
        assert_eq!(of(insert.id).len(), 2);
        assert!(of(insert.id).iter().all(|time_ns| *time_ns >= ANSWER_NS));
        let [question] = of(get.id)[..] else { panic!("one question: {:?}", asked.times()) };
        assert!(question < ANSWER_NS, "{question}");
        // Where a write is answered as it is sent, its time is that.
        let (mut near, mut asked) = (Far::default(), RequestTracker::new(true));
        let mut transaction = Transaction::new(&mut near, &mut asked);
        transaction.write(&insert, (1,)).unwrap();
        asked.settle(&mut near);
        assert_eq!(asked.times().len(), 1);
    }
}
