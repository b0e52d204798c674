//! `syncline survey`: probes the disk, runs the stores, probes again, and compares each store with the disk's
//! sync rate.
//!
//! The order keeps the comparison fair: the sync line is measured before and after, and at each number of
//! clients the stores run in interleaved slices, so that a slow minute affects all of them.

use super::series::{self, Planned, Series, SeriesResult};
use super::survey_stores::{self, Entry};
use super::sync_lines;
use super::{environment, probe, show};
use crate::args::SurveyArgs;
use crate::interrupt;
use crate::registry::TargetRegistry;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use syncline_console::{CannotRun, Outcome, Verdict, terminal};
use syncline_contract::LogLocation;
use syncline_probe::record::from_probe;
use syncline_probe::{Plan, ProbeResult};
use syncline_profile::Map;
use syncline_record::{
    Identity, NotRun, ProbeRecord, Record, RunRecord, SyncLine, Warning, Writer,
    units::{self, plural},
};
use syncline_report::{DiskModel, Rating};
use syncline_report::{survey::Survey, table};
use syncline_runner::{RunPlan, Turns};
use syncline_workloads::AnyWorkload;

/// Surveys directories and stores.
pub(crate) fn survey<S: TargetRegistry>(args: &SurveyArgs, registry: &S) -> Outcome {
    let sheet = args.model.as_deref().map(DiskModel::parse).transpose()?;
    let rating = args.endurance.as_deref().map(Rating::parse).transpose()?;
    let map = args.meter.read_map()?;
    let workload = Arc::new(AnyWorkload::parse("insert", &[])?);
    let (directories, entries) = survey_stores::choose(args, registry)?;
    let mut plan = Plan::quick();
    plan.rpm = args.rpm;
    let bar = terminal::Progress::of_time(estimate(args, &plan, &entries, directories.len()));
    let mut probes = Probes::begin(args, &directories, &plan, &entries, &bar)?;
    let series = run_steps(args, registry, &workload, &entries, &probes, map.as_ref(), &bar);
    if !interrupt::stopped() {
        probes.again(&bar);
    }
    drop(bar);
    let (records, files, verdict) = finish(probes, series);
    print(args, &records, sheet)?;
    if let Some(rating) = rating {
        terminal::print_view(|| endurance(&records, rating))?;
    }
    report(args, &records, &files)?;
    Ok(verdict)
}

/// The number from which the survey's own id is made; no record of the command uses it.
const SURVEY: u64 = 0xffff;

/// The probes of the directories, with their records.
struct Probes {
    id: String,
    before: Vec<ProbeResult>,
    after: Vec<ProbeResult>,
    /// Why directories could not be measured again.
    lost: BTreeMap<PathBuf, String>,
    records: Vec<ProbeRecord>,
    files: Vec<PathBuf>,
}

impl Probes {
    fn begin(
        args: &SurveyArgs,
        directories: &[PathBuf],
        plan: &Plan,
        entries: &[Entry],
        bar: &terminal::Progress,
    ) -> Result<Probes, CannotRun> {
        let first = environment::identity("probe", 0);
        // Not the probe's own id, so that each can be named.
        let id = environment::identity("survey", SURVEY).id;
        let mut writers = Vec::new();
        for (number, directory) in (0..).zip(directories) {
            let fresh =
                if number == 0 { first.clone() } else { environment::identity("probe", number) };
            let identity = Identity {
                survey: Some(id.clone()),
                // The command line names the products.
                command: fresh.command.clone().filter(|_| args.alias.is_none()),
                ..fresh
            };
            let name = directory.display().to_string();
            writers.push((Writer::create_probe(&args.runs, &identity, &name)?, identity));
        }
        let before = match probe::run(directories, plan, interrupt::stop_flag(), bar) {
            Ok(before) => before,
            Err(error) => {
                for (writer, _) in writers {
                    writer.discard()?;
                }
                return Err(error);
            }
        };
        let (mut records, mut files) = (Vec::new(), Vec::new());
        for ((writer, identity), result) in writers.into_iter().zip(&before) {
            let not_run = not_run(entries, &result.directory);
            let record = from_probe(result, &identity, environment::machine(), not_run);
            files.push(writer.finish_probe(&record)?);
            records.push(record);
        }
        Ok(Probes { id, before, after: Vec::new(), lost: BTreeMap::new(), records, files })
    }

    /// Measures the lines again. If one cannot be measured, the records say so, and all results are kept.
    fn again(&mut self, bar: &terminal::Progress) {
        for before in &self.before {
            let Some(line) = &before.line else { continue };
            match sync_lines::again(&before.directory, line, bar) {
                Ok(after) => self.after.push(after),
                Err(why) => drop(self.lost.insert(before.directory.clone(), why.0)),
            }
        }
    }

    fn line_max(&self, place: &LogLocation) -> Option<f64> {
        probe_of(place, &self.before)?.line.as_ref()?.line_max
    }

    /// The sync line of a log directory, and a warning for the record.
    fn line(&self, place: &LogLocation) -> (SyncLine, Option<Warning>) {
        let lost = match place {
            LogLocation::Directory(directory) => self.lost.get(directory),
            LogLocation::Nowhere(_) => None,
        };
        let line = match (place, probe_of(place, &self.before)) {
            (LogLocation::Nowhere(why), _) => SyncLine::unknown(None, why.clone()),
            (LogLocation::Directory(directory), None) => SyncLine::unknown(
                Some(directory.display().to_string()),
                "the directory was not probed",
            ),
            (_, Some(before)) => sync_lines::between(before, probe_of(place, &self.after)),
        };
        (line, lost.map(|why| sync_lines::not_again(why)))
    }
}

/// The probe of the directory that a log is written to.
fn probe_of<'p>(place: &LogLocation, among: &'p [ProbeResult]) -> Option<&'p ProbeResult> {
    let LogLocation::Directory(directory) = place else {
        return None;
    };
    among.iter().find(|probe| probe.directory == *directory)
}

/// The planned rows that were not run, of the stores in a directory.
fn not_run(entries: &[Entry], directory: &Path) -> Vec<NotRun> {
    let here = entries.iter().filter(|entry| match &entry.log_location {
        LogLocation::Directory(place) => place == directory,
        LogLocation::Nowhere(_) => false,
    });
    let rows = here.flat_map(|entry| {
        entry.not_run.iter().map(|(clients, reason)| NotRun {
            target: entry.alias.as_ref().unwrap_or(&entry.target).clone(),
            durability: entry.durability.clone(),
            model: entry.model.word().to_owned(),
            clients: *clients as u64,
            reason: reason.clone(),
        })
    });
    rows.collect()
}

/// Prints the estimated time, and returns it in tenths of a second.
fn estimate(args: &SurveyArgs, plan: &Plan, entries: &[Entry], directories: usize) -> u64 {
    let client_counts: usize = entries.iter().map(|entry| entry.client_counts.len()).sum();
    let slices = (args.slice + args.warm_up).as_secs_f64() * (client_counts * args.slices) as f64;
    let cost = plan.estimate(directories);
    let seconds = cost.shortest_s + slices * 1.05 + 3.0 * directories as f64;
    terminal::note(&format!(
        "about {}; the probe writes up to {}, and the stores write as much as they can",
        units::span(seconds * 1e9),
        units::size(cost.bytes_written as f64),
    ));
    (seconds * 10.0).ceil() as u64
}

/// Runs each number of clients; at each the stores take turns.
fn run_steps<S: TargetRegistry>(
    args: &SurveyArgs,
    registry: &S,
    workload: &Arc<AnyWorkload>,
    entries: &[Entry],
    probes: &Probes,
    map: Option<&Map>,
    bar: &terminal::Progress,
) -> Vec<SeriesResult> {
    let mut results = Vec::new();
    let mut first_number = 100;
    for clients in &args.clients {
        if interrupt::stopped() {
            break;
        }
        let cases: Vec<Planned> = entries
            .iter()
            .filter(|entry| entry.client_counts.contains(clients))
            .map(|entry| planned(args, workload, entry, *clients, probes))
            .collect();
        let series = Series {
            map: map.cloned(),
            repetitions: args.slices,
            turns: Turns::Interleaved,
            runs: &args.runs,
            survey: Some(probes.id.clone()),
            first_number,
        };
        first_number += cases.len() as u64;
        let tenths = series::tenths(&cases, args.slices);
        let phase = plural(*clients as u64, "client");
        let part = bar.part(Some(&phase), tenths, tenths);
        results.push(series.run(registry, &cases, &part, None));
    }
    results
}

fn planned(
    args: &SurveyArgs,
    workload: &Arc<AnyWorkload>,
    entry: &Entry,
    clients: usize,
    probes: &Probes,
) -> Planned {
    Planned {
        name: format!("{}, {}", entry.name, plural(clients as u64, "client")),
        url: entry.url.clone(),
        alias: entry.alias.clone(),
        workload: Arc::clone(workload),
        log_location: entry.log_location.clone(),
        plan: RunPlan {
            clients,
            duration: Some(args.slice),
            warm_up: args.warm_up,
            retries: 10,
            seed: args.seed,
            interval: Duration::from_millis(500),
            line_max_per_s: probes.line_max(&entry.log_location),
            profiler: args.meter.options(),
            ..RunPlan::default()
        },
    }
}

/// Closes all records and prints errors on standard error.
fn finish(probes: Probes, series: Vec<SeriesResult>) -> (Vec<Record>, Vec<PathBuf>, Verdict) {
    let mut verdict = Verdict::Holds;
    let mut complain = |why: &str| {
        terminal::error(why);
        verdict = verdict.and(Verdict::Partial);
    };
    if interrupt::stopped() {
        complain("stopped early; the results so far are shown");
    }
    let mut runs: Vec<RunRecord> = Vec::new();
    let mut files = probes.files.clone();
    for result in series {
        result.failed.iter().for_each(|(_, why)| complain(why));
        result.broken_records.iter().for_each(|why| complain(why));
        for ran in result.ran {
            let (record, file) = ran.finish(|place| probes.line(place));
            match file {
                Ok(file) => files.extend(file),
                Err(why) => complain(&why.0),
            }
            runs.push(record);
        }
    }
    for record in &runs {
        verdict = verdict.and(series::report_verdict(record));
    }
    for record in &probes.records {
        verdict = verdict.and(probe::verdict(record));
    }
    let probes = probes.records.into_iter().map(Record::from);
    (probes.chain(runs.into_iter().map(Record::from)).collect(), files, verdict)
}

fn print(args: &SurveyArgs, records: &[Record], sheet: Option<DiskModel>) -> Result<(), CannotRun> {
    if args.json {
        return terminal::print(&(syncline_record::json(records) + "\n"));
    }
    terminal::print_view(|| table::show(records))?;
    if let Some(sheet) = sheet {
        let calculated = sheet.access_time();
        for survey in Survey::all(records) {
            let table = || table::from_dual(Some(&calculated), survey.probe, &survey.runs);
            terminal::print_view(|| format!("\n{}", table()))?;
        }
    }
    Ok(())
}

/// How long the drive's endurance rating lasts at each store's best rate.
fn endurance(records: &[Record], rating: Rating) -> String {
    let surveys = Survey::all(records);
    let mut text = String::new();
    for run in surveys.iter().flat_map(Survey::best) {
        text += &format!(
            "
{}",
            table::endurance_of_run(rating, run)
        );
    }
    text
}

/// Writes the HTML report next to the records, and prints the names of both.
fn report(args: &SurveyArgs, records: &[Record], files: &[PathBuf]) -> Result<(), CannotRun> {
    let Some(probe) = files.first() else {
        return Ok(());
    };
    let name = probe.file_stem().map(|stem| stem.to_string_lossy().replace("-probe-", "-survey-"));
    let path = args.runs.join(format!("{}.html", name.unwrap_or_else(|| "survey".to_owned())));
    if let Some(id) = records.first().and_then(|record| record.identity().survey.as_ref()) {
        terminal::note(&format!("survey: {id}; syncline show {id} shows it again"));
    }
    show::write_report(&path, records, &[])?;
    terminal::note(&format!("report: {}", path.display()));
    terminal::note(&format!("records: {} and {} next to it", probe.display(), files.len() - 1));
    Ok(())
}
