//! A small plan for tests that drive sessions themselves: accounts with balances.

use crate::server::Server;
use syncline_contract::conformance::block_on;
use syncline_contract::{
    AccessPattern, Int, Kind, Lock, OperationId, Plan, Session, Set, Stop, Table, Target, Value,
};
use syncline_stores::{AnySession, AnyTarget, AnyWorker};

/// Operations of the plan, by position.
pub(crate) const BALANCE: OperationId = OperationId(0);
pub(crate) const ADD: OperationId = OperationId(1);
pub(crate) const OPEN: OperationId = OperationId(2);
pub(crate) const LOCKED: OperationId = OperationId(3);

/// Accounts, pipelined or not.
pub(crate) fn plan(pipeline: bool) -> Plan {
    let mut plan = Plan::new();
    plan.pipeline = pipeline;
    let table =
        Table::new("accounts").column("id", Kind::Int).column("balance", Kind::Int).key(&["id"]);
    let table = plan.table(table);
    plan.get::<(Int,), (Int,)>("get balance", table, &["balance"], Lock::None);
    plan.update::<(Int, Int)>("add to balance", table, &[("balance", Set::Add)]);
    plan.insert::<(Int, Int)>("open account", table);
    plan.get::<(Int,), (Int,)>("lock balance", table, &["balance"], Lock::Update);
    plan
}

/// Runs a future that never waits for a worker.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    block_on(&(), future)
}

/// A created target, a worker, and its plan.
pub(crate) struct AccountFixture {
    pub(crate) target: AnyTarget,
    pub(crate) worker: AnyWorker,
    pub(crate) plan: Plan,
}

impl AccountFixture {
    /// On a server, with options, and accounts 1 to 9 of balance 0.
    pub(crate) fn on(server: &Server, options: &str) -> AccountFixture {
        AccountFixture::with(server, options, plan(true))
    }

    /// As [`AccountFixture::on`], with another plan.
    pub(crate) fn with(server: &Server, options: &str, plan: Plan) -> AccountFixture {
        let options = format!("live=yes&{options}");
        AccountFixture::at(&server.by_socket(options.trim_end_matches('&')), plan)
    }

    /// As [`AccountFixture::with`], with a URL.
    pub(crate) fn at(url: &str, plan: Plan) -> AccountFixture {
        let target = AnyTarget::open(url).expect("a good URL");
        now(target.create(&plan)).expect("tables");
        let worker = target.worker().expect("a worker");
        AccountFixture { target, worker, plan }
    }

    /// Opens accounts 1 to 9.
    pub(crate) fn filled(self) -> AccountFixture {
        let mut session = self.session();
        self.run(async {
            session.begin(AccessPattern::Several);
            for id in 1..=9 {
                send(&mut session, OPEN, &[id, 0])?;
            }
            session.commit().await
        })
        .expect("accounts");
        self
    }

    pub(crate) fn run<T>(&self, future: impl Future<Output = T>) -> T {
        block_on(&self.worker, future)
    }

    pub(crate) fn session(&self) -> AnySession {
        let connected = self.run(self.target.connect(&self.plan, &self.worker));
        connected.expect("a session")
    }

    /// A balance, read by a session of its own.
    pub(crate) fn balance(&self, id: i64) -> i64 {
        let mut session = self.session();
        let read = self.run(async {
            session.begin(AccessPattern::Single);
            let balance = ask(&mut session, BALANCE, id).await?;
            session.commit().await?;
            Ok::<_, Stop>(balance)
        });
        read.expect("a balance")
    }

    /// The name of its database, from the statement that would drop it.
    pub(crate) fn database(&self) -> String {
        let dry_run = self.target.dry_run(&self.plan, 1).expect("a dry-run plan");
        let name = dry_run.removes[0].split('`').nth(1);
        name.expect("a quoted name").to_owned()
    }
}

impl Drop for AccountFixture {
    fn drop(&mut self) {
        // A server that a test has killed keeps nothing.
        drop(now(self.target.remove()));
    }
}

/// Sends an operation of whole numbers.
pub(crate) fn send(
    session: &mut AnySession,
    operation: OperationId,
    numbers: &[i64],
) -> Result<(), Stop> {
    let values: Vec<_> = numbers.iter().copied().map(Value::Int).collect();
    session.send(operation, &values)
}

/// Reads a whole number by key.
pub(crate) async fn ask(
    session: &mut AnySession,
    operation: OperationId,
    id: i64,
) -> Result<i64, Stop> {
    send(session, operation, &[id])?;
    let rows = session.receive().await?;
    match rows.row(0).value(0) {
        Value::Int(number) => Ok(number),
        other => panic!("{other:?} is not a balance"),
    }
}
