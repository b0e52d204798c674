//! `syncline compare`: is the second record, set of records, or program worse than the first?

use super::{environment, show};
use crate::args::CompareArgs;
use crate::interrupt;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use syncline_console::{CannotRun, Outcome, Verdict, terminal};
use syncline_instrument::clock;
use syncline_record::{Record, units};
use syncline_report::compare::{self as report, Allowed, Comparison, Rule, RuleOutcome};
use syncline_report::{html, table};

/// The end of what a failed program said that is repeated, in bytes.
const SAID_BYTES_MAX: usize = 2_000;

/// How long the end of what a failed program said is waited for.
const SAID_TIMEOUT: Duration = Duration::from_secs(1);

/// The time between two looks whether a program has ended.
const POLL: Duration = Duration::from_millis(20);

/// Compares two sides; a regression is exit code 1, and figures too short to judge are exit code 2. If rules
/// are given, they alone decide.
pub(crate) fn compare(args: &CompareArgs) -> Outcome {
    let ([before, after], programs) = match (&args.before, &args.after, &args.a, &args.b) {
        (Some(before), Some(after), ..) => ([read(before)?, read(after)?], false),
        (_, _, Some(a), Some(b)) => (run_in_turns([a, b], args)?, true),
        _ => unreachable!("the command line has two records or two programs"),
    };
    let allowed = match (args.unequal, programs) {
        (true, _) => Allowed::Everything,
        (false, true) => Allowed::Versions,
        (false, false) => Allowed::Nothing,
    };
    let comparison = report::compare(&before, &after, allowed);
    if let Some(path) = &args.html {
        show::write_page(path, &html::comparison([&before[0], &after[0]], &comparison))?;
        terminal::note(&format!("wrote {}", path.display()));
    }
    let comparison = comparison?;
    let rules = args.fail_if.iter().map(|rule| (rule.clone(), rule.apply(&comparison)));
    let rules: Vec<(Rule, RuleOutcome)> = rules.collect();
    print(args, &comparison, &rules)?;
    if !rules.is_empty() {
        return Ok(verdict_of(&rules));
    }
    Ok(if comparison.regression {
        Verdict::Broken
    } else if let Some(why) = &comparison.too_short {
        terminal::error(why);
        Verdict::Partial
    } else {
        Verdict::Holds
    })
}

/// A rule that fails decides over one that is unknown.
fn verdict_of(rules: &[(Rule, RuleOutcome)]) -> Verdict {
    let any = |is: fn(&RuleOutcome) -> bool| rules.iter().any(|(_, outcome)| is(outcome));
    if any(|outcome| matches!(outcome, RuleOutcome::Fails(_))) {
        Verdict::Broken
    } else if any(|outcome| matches!(outcome, RuleOutcome::Unknown(_))) {
        Verdict::Partial
    } else {
        Verdict::Holds
    }
}

fn print(
    args: &CompareArgs,
    comparison: &Comparison,
    rules: &[(Rule, RuleOutcome)],
) -> Result<(), CannotRun> {
    if args.json {
        let text = serde_json::to_string_pretty(&report::json(comparison, rules));
        return terminal::print(&(text.map_err(|error| CannotRun(error.to_string()))? + "\n"));
    }
    if args.markdown {
        return terminal::print(&report::markdown(comparison, rules));
    }
    terminal::print_view(|| {
        let sentences = report::rule_sentences(rules);
        let sentences = sentences.iter().map(|sentence| table::paragraph(sentence));
        table::compare(comparison) + &sentences.collect::<String>()
    })
}

/// The record that a word names, or all runs of a directory.
fn read(word: &Path) -> Result<Vec<Record>, CannotRun> {
    if !word.is_dir() {
        return Ok(vec![syncline_record::read(&syncline_record::named(word)?)?]);
    }
    let mut runs = Vec::new();
    for file in syncline_record::list(word)? {
        let record = file.record?;
        if record.as_run().is_some() {
            runs.push(record);
        }
    }
    if runs.is_empty() {
        return Err(CannotRun(format!("{} holds no record of a run", word.display())));
    }
    Ok(runs)
}

/// Runs both programs in turns, A B B A, so that a drift of the machine meets both alike.
fn run_in_turns(
    programs: [&PathBuf; 2],
    args: &CompareArgs,
) -> Result<[Vec<Record>; 2], CannotRun> {
    if args.command.first().is_none_or(|verb| verb != "run") {
        return Err(CannotRun::because(
            "the command after -- must be a run, such as: -- run insert --on sqlite",
        ));
    }
    let id = environment::identity("compare", 1).id;
    let folders = ["a", "b"].map(|side| args.runs.join(format!("compare-{id}-{side}")));
    for folder in &folders {
        syncline_record::prepare_folder(folder)?;
    }
    let bar = terminal::Progress::of_steps(2 * args.rounds as u64);
    for round in 0..args.rounds {
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for (turn, side) in order.into_iter().enumerate() {
            let name = ["A", "B"][side];
            bar.at(
                (2 * round + turn) as u64,
                &format!("round {} of {}: {name}", round + 1, args.rounds),
            );
            run_once(programs[side], args, &folders[side])?;
            if interrupt::stopped() {
                return Err(CannotRun::because("stopped before all rounds had run"));
            }
        }
    }
    drop(bar);
    for folder in &folders {
        terminal::note(&format!("records: {}", folder.display()));
    }
    Ok([read(&folders[0])?, read(&folders[1])?])
}

/// Runs a program to its end, or until its time is over or the comparison is stopped; then it is killed with
/// all that it started.
fn run_once(program: &Path, args: &CompareArgs, folder: &Path) -> Result<(), CannotRun> {
    let name = program.display();
    let mut run = Command::new(program);
    run.args(&args.command).arg("--runs").arg(folder).arg("--quiet");
    run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    let mut child =
        run.spawn().map_err(|error| CannotRun(format!("cannot run {name}: {error}")))?;
    let mut stderr = child.stderr.take().expect("it is a pipe");
    // Read meanwhile, since a full pipe would stop the program.
    let (sender, said) = mpsc::channel();
    thread::spawn(move || {
        let mut said = Vec::new();
        drop(stderr.read_to_end(&mut said));
        drop(sender.send(said));
    });
    let ended = until_end(&mut child, args.time_limit);
    let ended = ended.map_err(|error| CannotRun(format!("cannot wait for {name}: {error}")))?;
    let Some(ended) = ended else {
        if interrupt::stopped() {
            return Err(CannotRun::because("stopped before all rounds had run"));
        }
        return Err(CannotRun(format!(
            "{name} ran longer than {} and was killed; --time-limit allows more",
            units::span(args.time_limit.as_nanos() as f64)
        )));
    };
    if ended.success() {
        return Ok(());
    }
    // A program that it started and that outlived it may hold the pipe.
    let said = said.recv_timeout(SAID_TIMEOUT).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let from = said.len().saturating_sub(SAID_BYTES_MAX);
    let from = (from..=said.len()).find(|at| said.is_char_boundary(*at)).unwrap_or(said.len());
    Err(CannotRun(format!("{name} ended with {ended}: {}", said[from..].trim())))
}

/// How the program ended; `None` if it was killed, because its time was over or the comparison is stopped.
fn until_end(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
    let began = clock::now();
    let ended = loop {
        if let Some(ended) = child.try_wait()? {
            break Some(ended);
        }
        if interrupt::stopped() || clock::now() - began > limit_ns {
            break None;
        }
        thread::sleep(POLL);
    };
    // Also what a program leaves behind would run beside the next one.
    match kill_process_group(Pid::from_child(child), Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => return Err(error.into()),
    }
    if ended.is_none() {
        child.wait()?;
    }
    Ok(ended)
}
