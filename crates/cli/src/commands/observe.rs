//! `syncline observe URL --for 60s`: watches a server under other clients' load, adding none.

use super::live_option::with_live_option;
use super::sync_lines::{SyncLines, dropped_syncs};
use super::{environment, metrics_file};
use crate::args::ObserveArgs;
use crate::interrupt;
use crate::registry::TargetRegistry;
use syncline_benchmark::Benchmark;
use syncline_console::{CannotRun, LineArg, Outcome, Verdict, terminal};
use syncline_contract::Target;
use syncline_record::{ObservationRecord, ObservedInterval, Record, SyncLine, Writer, units};
use syncline_report::{export, table};
use syncline_runner::record::{ObservationInputs, from_observation};
use syncline_runner::{Observation, ObservePlan};
use syncline_stores::server::redacted_url;

/// Watches a server and prints a report.
pub(crate) fn observe<S: TargetRegistry>(args: &ObserveArgs, registry: &S) -> Outcome {
    // Ctrl-C must work at once while a server does not answer.
    interrupt::stop_flag();
    // The other sessions are the subject of the observation.
    let target = registry.open(&with_live_option(&args.url, true))?;
    // An invalid record is reported before the observation, not after it.
    if let LineArg::Record(_) = args.line {
        SyncLines::before(&args.line, &[], &terminal::Progress::of_messages())?;
    }
    let name = args.alias.clone().unwrap_or_else(|| target.name());
    // The head of the record is written before the observation, so the command line, which may name the
    // product, is withheld before that.
    let fresh = environment::identity("observation", 0);
    let identity = syncline_record::Identity {
        command: fresh.command.clone().filter(|_| args.alias.is_none()),
        ..fresh
    };
    let writer = Writer::create_observation(&args.output.runs, &identity, &name)?;
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
        url: Some(redacted_url(&args.url)),
        alias: args.alias.clone(),
        dropped_syncs: dropped_syncs(&seen.last.log_location),
        host: environment::host(),
        sync_line: line(args, &seen)?,
    };
    let record = from_observation(&seen, &given);
    let file = writer.finish_observation(&record);
    metrics_file::write(|| export::openmetrics(&[Record::from(record.clone())]));
    show(args, record)?;
    terminal::note(&format!("record: {}", file?.display()));
    Ok(Verdict::Holds)
}

fn watch<T: Benchmark>(args: &ObserveArgs, target: &T) -> Result<Observation, CannotRun> {
    let plan = ObservePlan { span: args.span, every: args.every };
    let tenths = u64::try_from(args.span.as_millis() / 100).unwrap_or(u64::MAX);
    let bar = terminal::Progress::of_time(tenths);
    let name = args.alias.clone().unwrap_or_else(|| target.name());
    let show_progress = |interval: &ObservedInterval| {
        metrics_file::write(|| export::openmetrics_of_observed(&name, interval));
        let commits = interval.commits.map_or_else(
            || "commits unknown".to_owned(),
            |commits| units::plural(commits, "commit"),
        );
        bar.at(interval.end_ns / 100_000_000, &format!("observing: {commits} in the last sample"));
    };
    Ok(target.watch(&plan, interrupt::stop_flag(), &show_progress)?)
}

/// The sync line of the log directory: from a record, or measured after the observation.
fn line(args: &ObserveArgs, seen: &Observation) -> Result<SyncLine, CannotRun> {
    let place = &seen.last.log_location;
    if args.line == LineArg::None {
        let why = "not measured: give --line RECORD with a probe of its log directory, or --line brief to \
                   measure there";
        return Ok(SyncLine::unknown(None, why));
    }
    let places = std::slice::from_ref(place);
    let bar = terminal::Progress::of_time(SyncLines::tenths_before(&args.line, places));
    let lines = SyncLines::before(&args.line, places, &bar)?;
    Ok(lines.of(place).0)
}

fn show(args: &ObserveArgs, record: ObservationRecord) -> Result<(), CannotRun> {
    if args.output.json {
        terminal::print(&(syncline_record::json(&[Record::from(record)]) + "\n"))?;
    } else {
        terminal::print_view(|| table::observation(&record))?;
    }
    Ok(())
}
