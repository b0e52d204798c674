//! Transactions of a database: sessions, closures run as transactions, and waiting for what they committed.

use crate::database::handle::Database;
use crate::error::{Error, Result};
use crate::log::{Completion, Ticket, Worker};
use crate::table::{Prefetcher, Transaction, TypedSession};
use crate::txn::Begin;
use syncline_vfs::Disk;

impl<D: Disk> Database<D> {
    /// A session runs one transaction after another and reuses its memory. Each thread or client needs its
    /// own.
    ///
    /// # Errors
    ///
    /// [`Error::Sessions`] beyond 65,536 sessions.
    pub fn session(&self) -> Result<TypedSession<D>> {
        TypedSession::new(&self.engine().core)
    }

    /// Runs `body` in a serializable transaction, commits, and waits until the commit is stable. After a
    /// conflict it runs again, in the end exclusively, until it commits; so `body` must have no effects
    /// outside its transaction. If it fails for another reason, the transaction leaves no trace.
    ///
    /// A body may refuse with an error of its own, of any type that can be made from the engine's. Where the
    /// compiler cannot know the type, name it in the closure: `|transaction| -> Result<_> { .. }`.
    ///
    /// ```
    /// use syncline_engine::{Change, Database, Error, Kind, Options, Schema, values};
    ///
    /// #[derive(Debug)]
    /// enum Refusal {
    ///     NotEnough,
    ///     Engine(Error),
    /// }
    ///
    /// impl From<Error> for Refusal {
    ///     fn from(error: Error) -> Refusal {
    ///         Refusal::Engine(error)
    ///     }
    /// }
    ///
    /// fn pay<D: syncline_engine::Disk>(database: &Database<D>, sum: i64) -> Result<(), Refusal> {
    ///     let accounts = database.table("account")?;
    ///     database.run(|transaction| {
    ///         let account = transaction.get(&accounts, values![1])?.expect("it was inserted");
    ///         if account.get::<i64>("balance")? < sum {
    ///             return Err(Refusal::NotEnough);
    ///         }
    ///         Ok(transaction.update(&accounts, values![1], &[Change::add("balance", -sum)])?)
    ///     })
    /// }
    ///
    /// # fn main() -> syncline_engine::Result<()> {
    /// let database = Database::transient(Options::default())?;
    /// let schema = Schema::table("account").column("id", Kind::Int).column("balance", Kind::Int);
    /// let accounts = database.create_table(schema.key(["id"]).build()?)?;
    /// database.run(|transaction| transaction.insert(&accounts, values![1, 100]))?;
    /// assert!(matches!(pay(&database, 30), Ok(())));
    /// assert!(matches!(pay(&database, 80), Err(Refusal::NotEnough)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The error of `body`; what the rows refuse at the commit, such as a duplicate key;
    /// [`Error::Indeterminate`] if the log fails meanwhile.
    pub fn run<R, E: From<Error>>(
        &self,
        body: impl FnMut(&mut Transaction<'_, D>) -> Result<R, E>,
    ) -> Result<R, E> {
        let mut session = self.session()?;
        let (answer, ticket) = session.run(Begin::Serializable, body)?;
        session.wait(ticket)?;
        Ok(answer)
    }

    /// Runs `body` as [`Database::run`] does, and awaits the commit instead of blocking on it: the thread is
    /// free while the log writes. The body itself runs on the thread that polls: see
    /// [what may block](crate#what-may-block).
    ///
    /// # Errors
    ///
    /// As [`Database::run`].
    pub async fn run_async<R, E: From<Error>>(
        &self,
        body: impl FnMut(&mut Transaction<'_, D>) -> Result<R, E>,
    ) -> Result<R, E> {
        let (answer, ticket) = self.session()?.run(Begin::Serializable, body)?;
        self.completion(ticket).await?;
        Ok(answer)
    }

    /// Runs `body` in a read-only transaction, which reads stable commits only: nothing that it returns is
    /// lost in a crash. It conflicts only if it lasts longer than the versions that it reads; then it runs
    /// again, [`retries`](crate::Options::retries) times at most.
    ///
    /// # Errors
    ///
    /// The error of `body`; a conflict as described.
    pub fn read<R, E: From<Error>>(
        &self,
        mut body: impl FnMut(&Transaction<'_, D>) -> Result<R, E>,
    ) -> Result<R, E> {
        let run = self.session()?.run(Begin::ReadOnly, |transaction| body(transaction));
        run.map(|(answer, _)| answer)
    }

    /// Makes a commit's ticket a future for any executor. A thread of the log writes the group, so no call
    /// has to follow and no thread blocks.
    ///
    /// ```
    /// use syncline_engine::{Begin, Database, Kind, Options, Schema, Value};
    /// # use std::future::Future;
    /// # use std::task::{Context, Poll, Wake, Waker};
    /// # struct Unpark(std::thread::Thread);
    /// # impl Wake for Unpark {
    /// #     fn wake(self: std::sync::Arc<Self>) { self.0.unpark() }
    /// # }
    /// # fn block_on<F: Future>(future: F) -> F::Output {
    /// #     let mut future = std::pin::pin!(future);
    /// #     let waker = Waker::from(std::sync::Arc::new(Unpark(std::thread::current())));
    /// #     loop {
    /// #         match future.as_mut().poll(&mut Context::from_waker(&waker)) {
    /// #             Poll::Ready(output) => return output,
    /// #             Poll::Pending => std::thread::park(),
    /// #         }
    /// #     }
    /// # }
    /// # fn main() -> syncline_engine::Result<()> {
    /// # let folder = tempfile::tempdir().expect("a folder for the example");
    /// # let directory = folder.path().join("events");
    /// let database = Database::create(&directory, Options::default())?;
    /// let schema = Schema::table("event").column("id", Kind::Int).key(["id"]);
    /// let events = database.create_table(schema.build()?)?;
    /// let store = async |id: i64| -> syncline_engine::Result<()> {
    ///     let mut session = database.session()?;
    ///     let ((), ticket) = session.run(Begin::Serializable, |transaction| {
    ///         transaction.insert(&events, &[Value::Int(id)])
    ///     })?;
    ///     database.completion(ticket).await // stable from here on
    /// };
    /// block_on(store(1))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The future returns [`Error::Indeterminate`] if the log failed before the commit was stable, and
    /// [`Error::OtherTicket`] for a ticket of another database.
    pub fn completion(&self, ticket: Ticket) -> Completion<'_, D> {
        self.engine().core.log.completion(ticket)
    }

    /// A worker's handle on the log, which holds a batch while an executor makes a pass over its clients.
    pub fn worker(&self) -> Worker<D> {
        self.engine().core.log.worker()
    }

    /// A prefetcher, which descends for many reads at once so that their cache misses overlap.
    pub fn prefetcher(&self) -> Prefetcher<D> {
        Prefetcher::new(&self.engine().core)
    }
}
