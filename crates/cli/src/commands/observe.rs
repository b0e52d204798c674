//! `syncline observe URL --for 60s`: what a server does for others, without any load.

use super::environment;
use super::live_option::with_live_option;
use super::sync_lines::{SyncLines, dropped_syncs};
use crate::args::ObserveArgs;
use crate::interrupt;
use crate::registry::TargetRegistry;
use syncline_benchmark::Benchmark;
use syncline_console::{CannotRun, LineArg, Outcome, Verdict, terminal};
use syncline_contract::Target;
use syncline_record::{ObservationRecord, ObservedInterval, Record, SyncLine, Writer, units};
use syncline_report::table;
use syncline_runner::record::{ObservationInputs, from_observation};
use syncline_runner::{Observation, ObservePlan};
use syncline_stores::server::shown;

/// Watches a server and reports.
pub(crate) fn observe<S: TargetRegistry>(args: &ObserveArgs, shelf: &S) -> Outcome {
    // A server that says nothing is left at the first Ctrl-C.
    interrupt::stop_flag();
    // Others who work there are what is looked at.
    let target = shelf.open(&with_live_option(&args.url, true))?;
    // A record that is none shows before the watching, not after it.
    if let LineArg::Record(_) = args.line {
        SyncLines::before(&args.line, &[], &terminal::Progress::of_words())?;
    }
    let name = args.alias.clone().unwrap_or_else(|| target.name());
    // The head of the record is written before the watching, so the command that names the product goes
    // before that.
    let fresh = environment::identity("observation", 0);
    let identity = syncline_record::Identity {
        command: fresh.command.clone().filter(|_| args.alias.is_none()),
        ..fresh
    };
    let writer = Writer::create_observation(&args.runs, &identity, &name)?;
    let seen = match watch(args, &target) {
        Ok(seen) => seen,
        Err(why) => {
            writer.discard()?;
            return Err(why);
        }
    };
    let given = ObservationInputs {
        identity,
        name: target.name(),
        url: Some(shown(&args.url)),
        alias: args.alias.clone(),
        dropped_syncs: dropped_syncs(&seen.last.log_place),
        host: environment::host(),
        sync_line: line(args, &seen)?,
    };
    let record = from_observation(&seen, &given);
    let file = writer.finish_observation(&record);
    show(args, record)?;
    terminal::note(&format!("record: {}", file?.display()));
    Ok(Verdict::Holds)
}

fn watch<T: Benchmark>(args: &ObserveArgs, target: &T) -> Result<Observation, CannotRun> {
    let plan = ObservePlan { span: args.span, every: args.every };
    let tenths = u64::try_from(args.span.as_millis() / 100).unwrap_or(u64::MAX);
    let bar = terminal::Progress::of_time(tenths);
    let told = |interval: &ObservedInterval| {
        let commits = interval.commits.map_or_else(
            || "commits unknown".to_owned(),
            |commits| units::plural(commits, "commit"),
        );
        bar.at(interval.end_ns / 100_000_000, &format!("observing: {commits} in the last sample"));
    };
    Ok(target.watch(&plan, interrupt::stop_flag(), &told)?)
}

/// The line of the log directory: given, or measured now that the watching is over.
fn line(args: &ObserveArgs, seen: &Observation) -> Result<SyncLine, CannotRun> {
    let place = &seen.last.log_place;
    if args.line == LineArg::None {
        let why = "not measured: --line RECORD names a probe of its log directory, --line brief \
                   measures there";
        return Ok(SyncLine::unknown(None, why));
    }
    let places = std::slice::from_ref(place);
    let bar = terminal::Progress::of_time(SyncLines::tenths_before(&args.line, places));
    let lines = SyncLines::before(&args.line, places, &bar)?;
    Ok(lines.of(place).0)
}

fn show(args: &ObserveArgs, record: ObservationRecord) -> Result<(), CannotRun> {
    if args.json {
        terminal::print(&(syncline_record::json(&[Record::from(record)]) + "\n"))?;
    } else {
        terminal::print_view(|| table::observation(&record))?;
    }
    Ok(())
}
