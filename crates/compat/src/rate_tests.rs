//! The rates that pgbench's, sysbench's and YCSB's lines print, of runs on a store of known delay in
//! simulated time (`syncline_runner::simulation`), held against arithmetic.
//!
//! What each tool counts is written down once more here, in [`expected`]: pgbench all transactions that it
//! started, sysbench and YCSB all that ended after the warm-up, and each divides by the time until the last
//! of them ended, or by the time asked for if that is longer.

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

/// Transactions that a tool counts, and the time that it divides them by.
#[derive(Clone, Copy, Debug, Default)]
struct Expected {
    counted: u64,
    /// The end of the last transaction of the measured span, from its begin.
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
    /// The client that is free first, of those that may start another transaction.
    fn next(&mut self) -> Option<&mut (Nanos, u64)> {
        let clients = self.clients.iter_mut();
        clients.filter(|(_, left)| *left > 0).min_by_key(|(free, _)| *free)
    }

    /// Serves what is due then by the client that is free first; false if there is none before the end.
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

/// What a plan comes to by arithmetic.
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
            // The backlog of the warm-up is left when the span begins.
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

/// A run to draw: what all three tools can be told.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    clients: usize,
    /// Whole seconds; none ends the run by `each`.
    seconds: Option<u64>,
    /// Transactions a client.
    each: u64,
    rate_per_s: Option<f64>,
    warm_up_s: u64,
    simulation: Simulation,
}

/// One of fifty.
fn drawn(random: &mut fastrand::Rng, warms_up: bool) -> Drawn {
    let clients = random.usize(1..=24);
    let seconds = random.u64(1..=8);
    // From a twentieth of the time a transaction to twice the time.
    let delay_ns = (seconds as f64 * 1e9 * (0.05 + 1.95 * random.f64().powi(3))) as Nanos;
    let capacity_per_s = clients as f64 * 1e9 / delay_ns as f64;
    let by_count = random.u32(0..3) == 0;
    let rate_per_s = (random.u32(0..3) == 0).then(|| capacity_per_s * (0.3 + 1.2 * random.f64()));
    Drawn {
        clients,
        seconds: (!by_count).then_some(seconds),
        each: random.u64(1..60),
        rate_per_s,
        warm_up_s: if warms_up && random.bool() { random.u64(1..5) } else { 0 },
        simulation: Simulation {
            delay_ns,
            // Workers share a budget, which they cannot in simulated time.
            workers: if by_count { 1 } else { random.usize(1..=clients.min(3)) },
        },
    }
}

/// Runs fifty of a tool and holds what it prints against arithmetic, to one part in a hundred and half of its
/// last digit.
fn fifty(
    tool: &str,
    warms_up: bool,
    last_digit: f64,
    plan: impl Fn(&Drawn) -> RunPlan,
    printed: impl Fn(&Drawn, &RunPlan) -> f64,
    per_transaction: f64,
) {
    let mut random = fastrand::Rng::with_seed(20_261_128);
    for number in 0..50 {
        let drawn = drawn(&mut random, warms_up);
        let plan = plan(&drawn);
        let found = expected(&plan, &drawn.simulation);
        let expected = found.rate(&plan) * per_transaction;
        let printed = printed(&drawn, &plan);
        assert!(
            (printed - expected).abs() <= expected * 0.01 + last_digit / 2.0,
            "{tool}, {number}: {printed}/s are printed, expected {expected}/s ({found:?}) of {drawn:?}"
        );
        // Within a transaction a client of what the store can do, and without a warm-up never above it.
        let simulation = drawn.simulation;
        let capacity = plan.clients as f64 * 1e9 / simulation.delay_ns as f64 * per_transaction;
        if plan.warm_up.is_zero() {
            assert!(printed <= capacity * 1.000_001 + last_digit, "{tool}: {drawn:?}");
        }
    }
}

/// The number between two texts of a line.
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

/// What was refused, as a panic.
fn good<T>(parsed: Result<T, impl std::fmt::Debug>) -> T {
    parsed.unwrap_or_else(|why| panic!("{why:?}"))
}

fn pgbench_args(drawn: &Drawn) -> PgbenchArgs {
    let mut line = format!("pgbench --on null -n -S -c {}", drawn.clients);
    line += &match drawn.seconds {
        Some(seconds) => format!(" -T {seconds}"),
        None => format!(" -t {}", drawn.each),
    };
    if let Some(rate) = drawn.rate_per_s {
        line += &format!(" -R {rate}");
    }
    let matches = good(pgbench_args::definition().try_get_matches_from(line.split_whitespace()));
    good(PgbenchArgs::of(&matches))
}

/// f01.
#[test]
fn pgbench_s_tps_are_what_arithmetic_says_of_a_store_of_known_delay() {
    let plan = |drawn: &Drawn| {
        let args = pgbench_args(drawn);
        good(pgbench::plan(&args, ClientModel::Futures, false))
    };
    let printed = |drawn: &Drawn, plan: &RunPlan| {
        let args = pgbench_args(drawn);
        let watch = good(pgbench_watch::Watch::new(&args, plan.seed));
        let counting = watch.listener();
        let listener = counting.as_ref().map(|one| -> &dyn TransactionListener { one });
        let result = drawn.simulation.run(plan, listener);
        let text = pgbench_report::summary(&args, &result, Protocol::Simple, &[1], &watch);
        between(&text, "tps = ", " (without")
    };
    fifty("pgbench", false, 1e-6, plan, printed, 1.0);
}

fn sysbench_flags(drawn: &Drawn, test: &str) -> SysbenchFlags {
    let mut line = format!("{test} --on=null --threads={} run", drawn.clients);
    line += &match drawn.seconds {
        Some(seconds) => format!(" --time={seconds}"),
        None => format!(" --time=0 --events={}", drawn.each * drawn.clients as u64),
    };
    if let Some(rate) = drawn.rate_per_s {
        line += &format!(" --rate={}", rate.ceil() as u64);
    }
    if drawn.warm_up_s > 0 {
        line += &format!(" --warmup-time={}", drawn.warm_up_s);
    }
    good(SysbenchFlags::parse(&words(&line), |_| Ok(String::new())))
}

/// f01.
#[test]
fn sysbench_s_rates_are_what_arithmetic_says_of_a_store_of_known_delay() {
    for test in ["oltp_point_select", "oltp_read_write"] {
        let workload = good(sysbench::workload(
            &sysbench_flags(&drawn(&mut fastrand::Rng::with_seed(1), false), test),
            false,
        ));
        let AnyWorkload::Oltp(oltp) = &workload else {
            panic!("{test} is another workload");
        };
        let events = oltp.events_of_transaction();
        let plan = |drawn: &Drawn| sysbench::plan(&sysbench_flags(drawn, test), oltp, false);
        let printed = |drawn: &Drawn, plan: &RunPlan| sysbench_rate(drawn, plan, test, oltp);
        fifty(test, true, 0.01, plan, printed, events);
    }
}

fn sysbench_rate(drawn: &Drawn, plan: &RunPlan, test: &str, oltp: &Oltp) -> f64 {
    let flags = sysbench_flags(drawn, test);
    let watch = sysbench_watch::Watch::new(&flags, oltp);
    let result = drawn.simulation.run(plan, Some(&watch));
    let events = oltp.events_of_transaction();
    let seconds = result.elapsed_ns() as f64 / 1e9;
    let (all, clients) = (watch.all(), watch.clients());
    let text = sysbench_report::cumulative(&flags, &all, &clients, events, seconds);
    let line = text.lines().find(|line| line.contains("transactions:"));
    between(line.unwrap_or_default(), "(", " per sec.)")
}

fn ycsb_args(drawn: &Drawn) -> (ycsb_flags::Flags, ParsedProperties) {
    let mut line = format!("-p recordcount=100 -threads {} --on null", drawn.clients);
    line += &match drawn.seconds {
        Some(seconds) => format!(" -p maxexecutiontime={seconds}"),
        None => format!(" -p operationcount={}", drawn.each * drawn.clients as u64),
    };
    if let Some(rate) = drawn.rate_per_s {
        line += &format!(" -target {rate}");
    }
    if drawn.warm_up_s > 0 {
        line += &format!(" -p warmuptime={}", drawn.warm_up_s);
    }
    let flags = good(ycsb_flags::Flags::parse(&words(&line), |_| Ok(String::new())));
    let meant = good(ParsedProperties::of(&flags.properties, true));
    (flags, meant)
}

/// f01.
#[test]
fn ycsb_s_throughput_is_what_arithmetic_says_of_a_store_of_known_delay() {
    let plan = |drawn: &Drawn| {
        let (flags, meant) = ycsb_args(drawn);
        ycsb::plan(&flags, &meant, false)
    };
    let printed = |drawn: &Drawn, plan: &RunPlan| {
        let (_, meant) = ycsb_args(drawn);
        let workload = good(AnyWorkload::parse("ycsb", &meant.options));
        let watch = ycsb_watch::Watch::new(meant.threads, &workload);
        let result = drawn.simulation.run(plan, Some(&watch));
        let text = ycsb_lines::of_run(&recorded(&result), &watch, &meant);
        between(&text, "[OVERALL], Throughput(ops/sec), ", "\n")
    };
    fifty("ycsb", true, 0.0, plan, printed, 1.0);
}

fn recorded(result: &RunResult) -> syncline_record::RunRecord {
    let given = RunInputs {
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
    from_run(std::slice::from_ref(result), &given)
}
