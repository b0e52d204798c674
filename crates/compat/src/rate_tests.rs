//! Tests the rates that pgbench's, sysbench's and YCSB's lines print, for runs on a store of known delay in
//! simulated time (`syncline_runner::simulation`), against calculated rates.
//!
//! [`expected`] repeats what each tool counts: pgbench all transactions that it started, sysbench and YCSB
//! all that ended after the warm-up. Each divides by the time until the last of them ended, or by the
//! requested time if that is longer.

use super::sysbench_flags::Flags as SysbenchFlags;
use super::ycsb_properties::ParsedProperties;
use super::{
    pgbench, pgbench_report, pgbench_watch, sysbench, sysbench_report, sysbench_watch, ycsb,
    ycsb_flags, ycsb_lines, ycsb_watch,
};
use crate::pgbench_args::{self, PgbenchArgs};
use syncline_contract::{ClientModel, Protocol};
use syncline_instrument::{Nanos, clock};
use syncline_record::{Identity, SyncLine};
use syncline_runner::record::{RunInputs, from_run};
use syncline_runner::simulation::{Dues, Simulation};
use syncline_runner::{Arrival, RunPlan, RunResult, TransactionListener};
use syncline_workloads::AnyWorkload;
use syncline_workloads::oltp::Oltp;

/// The transactions that a tool counts, and the time that it divides them by.
#[derive(Clone, Copy, Debug, Default)]
struct Expected {
    counted: u64,
    /// The end of the last transaction of the measured span, from the span's begin.
    last_end_ns: Nanos,
}

impl Expected {
    fn rate(self, plan: &RunPlan) -> f64 {
        let asked = plan.duration.map_or(0, clock::nanos);
        self.counted as f64 * 1e9 / self.last_end_ns.max(asked) as f64
    }
}

/// The clients of one worker.
struct Group<'p> {
    plan: &'p RunPlan,
    delay_ns: Nanos,
    warm_up_ns: Nanos,
    end_ns: Nanos,
    /// When each client is free, and how many transactions of the measured span it may still start.
    clients: Vec<(Nanos, u64)>,
}

impl Group<'_> {
    /// The client that is free first, of those that may still start a transaction.
    fn next(&mut self) -> Option<&mut (Nanos, u64)> {
        let clients = self.clients.iter_mut();
        clients.filter(|(_, left)| *left > 0).min_by_key(|(free, _)| *free)
    }

    /// The first free client serves the arrival at `due`; false if none is free before the end.
    fn serve(&mut self, due: Nanos, budget: &mut u64, found: &mut Expected) -> bool {
        let (delay_ns, warm_up_ns, end_ns) = (self.delay_ns, self.warm_up_ns, self.end_ns);
        let counts_carried = self.plan.transactions.is_none();
        let Some((free, left)) = self.next().filter(|(free, _)| *free < end_ns) else {
            return false;
        };
        let measured = due >= warm_up_ns;
        if measured && *budget == 0 {
            return false;
        }
        *free = (*free).max(due) + delay_ns;
        if measured {
            *budget -= 1;
            *left -= 1;
            found.counted += 1;
            found.last_end_ns = found.last_end_ns.max(*free - warm_up_ns);
        } else if counts_carried && *free > warm_up_ns && *free < end_ns {
            found.counted += 1;
        }
        true
    }
}

/// The calculated result of a plan.
fn expected(plan: &RunPlan, simulation: &Simulation) -> Expected {
    let warm_up_ns = clock::nanos(plan.warm_up);
    let length_ns = plan.duration.map_or(Nanos::MAX / 2, clock::nanos);
    let mut budget = plan.transactions.unwrap_or(u64::MAX);
    let mut found = Expected::default();
    let most = usize::try_from(budget).unwrap_or(usize::MAX);
    for (worker, dues) in simulation.dues(plan, most).into_iter().enumerate() {
        let clients = (worker..plan.clients).step_by(simulation.workers);
        let mut group = Group {
            plan,
            delay_ns: simulation.delay_ns,
            warm_up_ns,
            end_ns: warm_up_ns + length_ns,
            clients: clients.map(|_| (0, plan.transactions_each.unwrap_or(u64::MAX))).collect(),
        };
        if plan.arrival == Arrival::Closed {
            while let Some((free, _)) = group.next().map(|one| *one) {
                if !group.serve(free, &mut budget, &mut found) {
                    break;
                }
            }
            continue;
        }
        let Dues { warm_up, measured } = dues;
        for due in warm_up {
            // The backlog of the warm-up remains when the span begins.
            if group.next().is_some_and(|(free, _)| *free < warm_up_ns) {
                group.serve(due, &mut budget, &mut found);
            }
        }
        for due in measured {
            if !group.serve(due, &mut budget, &mut found) {
                break;
            }
        }
    }
    found
}

/// A random run, with settings that all three tools accept.
#[derive(Clone, Copy, Debug)]
struct RandomRun {
    clients: usize,
    /// Whole seconds; none ends the run after `each` transactions.
    seconds: Option<u64>,
    /// Transactions of each client.
    each: u64,
    rate_per_s: Option<f64>,
    warm_up_s: u64,
    simulation: Simulation,
}

/// One random run of the fifty.
fn random_run(random: &mut fastrand::Rng, warms_up: bool) -> RandomRun {
    let clients = random.usize(1..=24);
    let seconds = random.u64(1..=8);
    // A transaction takes from a twentieth of the time to twice the time.
    let delay_ns = (seconds as f64 * 1e9 * (0.05 + 1.95 * random.f64().powi(3))) as Nanos;
    let capacity_per_s = clients as f64 * 1e9 / delay_ns as f64;
    let by_count = random.u32(0..3) == 0;
    let rate_per_s = (random.u32(0..3) == 0).then(|| capacity_per_s * (0.3 + 1.2 * random.f64()));
    RandomRun {
        clients,
        seconds: (!by_count).then_some(seconds),
        each: random.u64(1..60),
        rate_per_s,
        warm_up_s: if warms_up && random.bool() { random.u64(1..5) } else { 0 },
        simulation: Simulation {
            delay_ns,
            // Several workers share a budget, which is impossible in simulated time.
            workers: if by_count { 1 } else { random.usize(1..=clients.min(3)) },
        },
    }
}

/// Runs a tool fifty times and compares its printed rates with calculated ones, to one part in a hundred and
/// half of the last digit.
fn check_fifty_runs(
    tool: &str,
    warms_up: bool,
    last_digit: f64,
    plan: impl Fn(&RandomRun) -> RunPlan,
    printed: impl Fn(&RandomRun, &RunPlan) -> f64,
    per_transaction: f64,
) {
    let mut random = fastrand::Rng::with_seed(20_261_128);
    for number in 0..50 {
        let random_run = random_run(&mut random, warms_up);
        let plan = plan(&random_run);
        let found = expected(&plan, &random_run.simulation);
        let expected = found.rate(&plan) * per_transaction;
        let printed = printed(&random_run, &plan);
        assert!(
            (printed - expected).abs() <= expected * 0.01 + last_digit / 2.0,
            "{tool}, {number}: printed {printed}/s, expected {expected}/s ({found:?}) of {random_run:?}"
        );
        // At most one transaction per client above the store's capacity, and without a warm-up never above
        // it.
        let simulation = random_run.simulation;
        let capacity = plan.clients as f64 * 1e9 / simulation.delay_ns as f64 * per_transaction;
        if plan.warm_up.is_zero() {
            assert!(printed <= capacity * 1.000_001 + last_digit, "{tool}: {random_run:?}");
        }
    }
}

/// The number between two strings of a line.
fn between(lines: &str, before: &str, after: &str) -> f64 {
    let number = lines.split(before).nth(1).and_then(|rest| {
        let (number, _) = rest.split_once(after)?;
        number.trim().parse().ok()
    });
    number.unwrap_or_else(|| panic!("nothing between {before:?} and {after:?}: {lines}"))
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// Unwraps a parse result.
fn unwrapped<T>(parsed: Result<T, impl std::fmt::Debug>) -> T {
    parsed.unwrap_or_else(|why| panic!("{why:?}"))
}

fn pgbench_args(random_run: &RandomRun) -> PgbenchArgs {
    let mut line = format!("pgbench --on null -n -S -c {}", random_run.clients);
    line += &match random_run.seconds {
        Some(seconds) => format!(" -T {seconds}"),
        None => format!(" -t {}", random_run.each),
    };
    if let Some(rate) = random_run.rate_per_s {
        line += &format!(" -R {rate}");
    }
    let matches =
        unwrapped(pgbench_args::definition().try_get_matches_from(line.split_whitespace()));
    unwrapped(PgbenchArgs::of(&matches))
}

/// f01.
#[test]
fn pgbench_s_rates_match_calculated_rates() {
    let plan = |random_run: &RandomRun| {
        let args = pgbench_args(random_run);
        unwrapped(pgbench::plan(&args, ClientModel::Futures, false))
    };
    let printed = |random_run: &RandomRun, plan: &RunPlan| {
        let args = pgbench_args(random_run);
        let watch = unwrapped(pgbench_watch::Watch::new(&args, plan.seed));
        let counting = watch.listener();
        let listener = counting.as_ref().map(|one| -> &dyn TransactionListener { one });
        let result = random_run.simulation.run(plan, listener);
        let text = pgbench_report::summary(&args, &result, Protocol::Simple, &[1], &watch);
        between(&text, "tps = ", " (without")
    };
    check_fifty_runs("pgbench", false, 1e-6, plan, printed, 1.0);
}

fn sysbench_flags(random_run: &RandomRun, test: &str) -> SysbenchFlags {
    let mut line = format!("{test} --on=null --threads={} run", random_run.clients);
    line += &match random_run.seconds {
        Some(seconds) => format!(" --time={seconds}"),
        None => format!(" --time=0 --events={}", random_run.each * random_run.clients as u64),
    };
    if let Some(rate) = random_run.rate_per_s {
        line += &format!(" --rate={}", rate.ceil() as u64);
    }
    if random_run.warm_up_s > 0 {
        line += &format!(" --warmup-time={}", random_run.warm_up_s);
    }
    unwrapped(SysbenchFlags::parse(&words(&line), |_| Ok(String::new())))
}

/// f01.
#[test]
fn sysbench_s_rates_match_calculated_rates() {
    for test in ["oltp_point_select", "oltp_read_write"] {
        let workload = unwrapped(sysbench::workload(
            &sysbench_flags(&random_run(&mut fastrand::Rng::with_seed(1), false), test),
            false,
        ));
        let AnyWorkload::Oltp(oltp) = &workload else {
            panic!("{test} is another workload");
        };
        let events = oltp.events_of_transaction();
        let plan =
            |random_run: &RandomRun| sysbench::plan(&sysbench_flags(random_run, test), oltp, false);
        let printed =
            |random_run: &RandomRun, plan: &RunPlan| sysbench_rate(random_run, plan, test, oltp);
        check_fifty_runs(test, true, 0.01, plan, printed, events);
    }
}

fn sysbench_rate(random_run: &RandomRun, plan: &RunPlan, test: &str, oltp: &Oltp) -> f64 {
    let flags = sysbench_flags(random_run, test);
    let watch = sysbench_watch::Watch::new(&flags, oltp);
    let result = random_run.simulation.run(plan, Some(&watch));
    let events = oltp.events_of_transaction();
    let seconds = result.elapsed_ns() as f64 / 1e9;
    let (all, clients) = (watch.all(), watch.clients());
    let text = sysbench_report::cumulative(&flags, &all, &clients, events, seconds);
    let line = text.lines().find(|line| line.contains("transactions:"));
    between(line.unwrap_or_default(), "(", " per sec.)")
}

fn ycsb_args(random_run: &RandomRun) -> (ycsb_flags::Flags, ParsedProperties) {
    let mut line = format!("-p recordcount=100 -threads {} --on null", random_run.clients);
    line += &match random_run.seconds {
        Some(seconds) => format!(" -p maxexecutiontime={seconds}"),
        None => format!(" -p operationcount={}", random_run.each * random_run.clients as u64),
    };
    if let Some(rate) = random_run.rate_per_s {
        line += &format!(" -target {rate}");
    }
    if random_run.warm_up_s > 0 {
        line += &format!(" -p warmuptime={}", random_run.warm_up_s);
    }
    let flags = unwrapped(ycsb_flags::Flags::parse(&words(&line), |_| Ok(String::new())));
    let parsed = unwrapped(ParsedProperties::of(&flags.properties, true));
    (flags, parsed)
}

/// f01.
#[test]
fn ycsb_s_throughput_matches_calculated_rates() {
    let plan = |random_run: &RandomRun| {
        let (flags, parsed) = ycsb_args(random_run);
        ycsb::plan(&flags, &parsed, false)
    };
    let printed = |random_run: &RandomRun, plan: &RunPlan| {
        let (_, parsed) = ycsb_args(random_run);
        let workload = unwrapped(AnyWorkload::parse("ycsb", &parsed.options));
        let watch = ycsb_watch::Watch::new(parsed.threads, &workload);
        let result = random_run.simulation.run(plan, Some(&watch));
        let text = ycsb_lines::of_run(&recorded(&result), &watch, &parsed);
        between(&text, "[OVERALL], Throughput(ops/sec), ", "\n")
    };
    check_fifty_runs("ycsb", true, 0.0, plan, printed, 1.0);
}

fn recorded(result: &RunResult) -> syncline_record::RunRecord {
    let inputs = RunInputs {
        identity: Identity::new("run", 0, 0),
        url: None,
        alias: None,
        host: None,
        repeat: 1,
        interleave: false,
        map: None,
        dropped_syncs: None,
        sync_line: SyncLine::unknown(None, "it keeps no log"),
    };
    from_run(std::slice::from_ref(result), &inputs)
}
