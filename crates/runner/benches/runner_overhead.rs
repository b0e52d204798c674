//! The runner's own cost per transaction: an insert of one key into a store that does nothing, with both
//! histograms. Run with `cargo bench -p syncline-runner`; `cargo test` runs it in miniature.

#![allow(clippy::print_stdout, reason = "a bench prints its results")]

#[path = "../src/coordinate/inserts.rs"]
mod inserts;

use inserts::Inserts;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use syncline_contract::{
    AccessPattern, Capabilities, ClientModel, Durability, Failure, Isolation, LogLocation,
    OperationId, Plan, ReportedSettings, Rows, Session, Stop, Target, TargetResult, Value,
};
use syncline_runner::{RunPlan, run};

struct Idle;
#[derive(Default)]
struct IdleSession(Rows);

impl Session for IdleSession {
    fn begin(&mut self, _shape: AccessPattern) {}

    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        std::hint::black_box((operation, values));
        Ok(())
    }

    async fn receive(&mut self) -> Result<&Rows, Stop> {
        Ok(&self.0)
    }

    async fn commit(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    async fn abort(&mut self) {}
}

impl Target for Idle {
    type Session = IdleSession;
    type Worker = ();

    fn name(&self) -> String {
        "idle".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            client_model: ClientModel::Futures,
            keeps_rows: false,
            ..Capabilities::least()
        }
    }

    fn log_location(&self) -> LogLocation {
        LogLocation::Nowhere("it keeps no log".to_owned())
    }

    async fn create(&self, _plan: &Plan) -> TargetResult<()> {
        Ok(())
    }

    async fn reported_settings(&self) -> TargetResult<ReportedSettings> {
        Ok(ReportedSettings {
            product: "idle".to_owned(),
            version: "1".to_owned(),
            durability: Durability::None,
            durability_evidence: "it keeps nothing".to_owned(),
            isolation: Isolation::NoneClaimed,
            settings: Vec::new(),
        })
    }

    fn worker(&self) -> Result<(), Failure> {
        Ok(())
    }

    async fn connect(&self, _plan: &Plan, _worker: &()) -> TargetResult<IdleSession> {
        Ok(IdleSession::default())
    }

    async fn remove(&self) -> TargetResult<()> {
        Ok(())
    }
}

fn main() {
    let in_miniature = !std::env::args().any(|word| word == "--bench");
    let (duration, warm_up) = if in_miniature {
        (Duration::from_millis(20), Duration::ZERO)
    } else {
        (Duration::from_secs(2), Duration::from_millis(200))
    };
    let workload = Inserts::new();
    for (clients, workers) in [(1, 1), (64, 1), (64, 2), (1_000, 2)] {
        let plan = RunPlan {
            clients,
            workers: Some(workers),
            duration: Some(duration),
            warm_up,
            ..RunPlan::default()
        };
        let result = run(&Idle, &workload, &plan, &AtomicBool::new(false), &())
            .expect("an idle store refuses nothing");
        assert!(result.outcomes.committed > 0, "an idle store commits");
        println!(
            "{clients:>5} clients, {workers} workers: {:>6.2} M transactions/s, {:>5.1} ns of a worker each",
            result.throughput_per_s / 1e6,
            result.client_cpu_ns_per_transaction.unwrap_or_default()
        );
    }
}
