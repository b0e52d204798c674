//! Profiles a process for some seconds and prints where its time went: `profile_process PID SECONDS OBJECT`.
//!
//! OBJECT is the file name of the store's program, such as `postgres`: for each metric, the share of samples
//! without a frame of it is printed.

#![allow(clippy::print_stdout, reason = "an example speaks to the terminal")]

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;
use syncline_host::Process;
use syncline_instrument::clock;
use syncline_profile::{Frame, Metric, Name, Precision, Profile};
use syncline_profiler::{Profiler, ProfilerOptions, Subject};

const USAGE: &str = "usage: profile_process PID SECONDS OBJECT";

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [pid, seconds, object] = arguments.as_slice() else {
        return Err(USAGE.to_owned());
    };
    let pid = pid.parse().map_err(|error| format!("{pid}: {error}; {USAGE}"))?;
    let seconds = seconds.parse().map_err(|error| format!("{seconds}: {error}; {USAGE}"))?;
    let subject = Subject::of(Process::Other(pid));
    let mut meter = Profiler::open(&subject, &ProfilerOptions::default());
    meter.prepare();
    let begun = clock::process_cpu();
    meter.start(&|| 0);
    thread::sleep(Duration::from_secs(seconds));
    meter.stop(&|| 0);
    let used = clock::process_cpu() - begun;
    let profile = meter.finish();
    println!("profiling used {:.1} ms of processor time", used as f64 / 1e6);
    for account in profile.accounts() {
        let how = match &account.how {
            Precision::Exact => "exact".to_owned(),
            Precision::Sampled(how) => format!("sampled, {how}"),
            Precision::NotAttributable(why) => format!("not by stack: {why}"),
        };
        let total =
            account.total.as_ref().map(|total| format!(", {} ({})", total.amount, total.source));
        println!(
            "{}: {how}, {} lost{}; {}",
            account.metric.name(),
            account.lost,
            total.unwrap_or_default(),
            account.collector
        );
    }
    for metric in Metric::ALL {
        print(&profile, metric, object);
    }
    Ok(())
}

fn print(profile: &Profile, metric: Metric, object: &str) {
    let (mut all, mut outside, mut count, mut depth) = (0, 0, 0, 0);
    let (mut inner, mut missing) = (BTreeMap::new(), BTreeMap::new());
    let samples = profile.samples().iter();
    for sample in samples.filter(|sample| sample.metric == metric) {
        all += sample.weight;
        count += sample.count;
        depth += profile.stack(sample.stack).count() as u64 * sample.count;
        let frame = profile.stack(sample.stack).find(|frame| frame.object == object);
        if let Some(frame) = frame {
            *inner.entry(name(frame)).or_insert(0) += sample.weight;
            continue;
        }
        outside += sample.weight;
        let names: Vec<String> = profile.stack(sample.stack).map(name).collect();
        let thread = profile.thread(sample.thread);
        let stack = format!("{} {:?}: {}", thread.name, thread.title, names.join(" < "));
        *missing.entry(stack).or_insert(0) += sample.weight;
    }
    if count == 0 {
        return;
    }
    let share = |part: u64| part as f64 * 100.0 / all as f64;
    println!(
        "\n{}: {all} in {count} samples, {:.1} frames deep, {:.2} % without a frame of {object}",
        metric.name(),
        depth as f64 / count as f64,
        share(outside)
    );
    for (table, rows) in [(inner, 12), (missing, 6)] {
        let mut rows_of: Vec<(String, u64)> = table.into_iter().collect();
        rows_of.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
        for (row, weight) in rows_of.into_iter().take(rows) {
            println!("  {:5.2} %  {row}", share(weight));
        }
        println!("  --");
    }
}

fn name(frame: &Frame) -> String {
    match &frame.name {
        Name::Function(name) => name.clone(),
        Name::Between { before, after } => format!("{before:?}..{after:?}"),
        Name::Unknown => format!("{}+{:#x}", frame.object, frame.offset),
    }
}
