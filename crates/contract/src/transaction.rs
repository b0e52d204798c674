//! What workload code sees of a session: it asks, takes answers and writes, and cannot commit.
//!
//! Questions and answers are separate calls, so that everything independent can travel in one round
//! trip: ask all, then take the answers in the order of asking.

use crate::fields::Fields;
use crate::operation::OperationId;
use crate::outcome::{Failure, FailureKind, Stop};
use crate::pause::{Pause, Timer};
use crate::plan::{Read, Write};
use crate::rows::{Row, Rows};
use crate::session::Session;
use std::collections::VecDeque;
use std::rc::Rc;
use syncline_metering::{Nanos, clock};

/// The questions of a transaction that wait for their answers, and the times of those that were
/// timed. One a client, reused.
#[derive(Debug, Default)]
pub struct Asked {
    waiting: VecDeque<(OperationId, Nanos)>,
    timed: Option<Vec<(OperationId, Nanos)>>,
    timer: Option<Rc<dyn Timer>>,
}

impl Asked {
    /// Nothing asked; `timed` measures each operation from its sending to its answer.
    pub fn new(timed: bool) -> Asked {
        Asked {
            waiting: VecDeque::new(),
            timed: timed.then(Vec::new),
            timer: None,
        }
    }

    /// The same, for clients that may pause.
    #[must_use]
    pub fn with_timer(mut self, timer: Rc<dyn Timer>) -> Asked {
        self.timer = Some(timer);
        self
    }

    /// Forgets what waits for an answer and what was timed.
    pub fn clear(&mut self) {
        self.waiting.clear();
        if let Some(times) = &mut self.timed {
            times.clear();
        }
    }

    /// The operations answered since the last [`Asked::clear`], with nanoseconds from send to answer.
    /// A write of an embedded store is answered when its `send` returns; one of a network store only
    /// with its commit, so its time is that of encoding it.
    pub fn times(&self) -> &[(OperationId, Nanos)] {
        self.timed.as_deref().unwrap_or_default()
    }

    #[inline]
    fn now(&self) -> Nanos {
        if self.timed.is_some() {
            clock::now()
        } else {
            0
        }
    }

    #[inline]
    fn answered(&mut self, operation: OperationId, since: Nanos) {
        if let Some(times) = &mut self.timed {
            times.push((operation, clock::now().saturating_sub(since)));
        }
    }

    #[inline]
    fn oldest(&mut self, expected: OperationId) -> Nanos {
        let (operation, since) = self
            .waiting
            .pop_front()
            .expect("an answer needs a question");
        assert!(
            operation == expected,
            "answers are taken in the order of asking"
        );
        since
    }
}

/// A transaction under way.
#[derive(Debug)]
pub struct Transaction<'t, S> {
    session: &'t mut S,
    asked: &'t mut Asked,
}

impl<'t, S: Session> Transaction<'t, S> {
    /// Around a session whose transaction has begun; for runners and tests.
    pub fn new(session: &'t mut S, asked: &'t mut Asked) -> Transaction<'t, S> {
        Transaction { session, asked }
    }

    /// Sends a write.
    #[inline]
    pub fn write<K: Fields>(&mut self, operation: &Write<K>, given: K::Of<'_>) -> Result<(), Stop> {
        let since = self.asked.now();
        K::put(given, |values| self.session.send(operation.id, values))?;
        self.asked.answered(operation.id, since);
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
        self.asked.waiting.push_back((operation.id, since));
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
    Failure::new(FailureKind::Statement, what)
        .in_operation(operation)
        .into()
}
