//! Profiles a JVM for some seconds and prints the costs of its packages: `jvm_packages PID SECONDS [DEPTH]`.
//!
//! A stack is charged to its innermost frame of a class under `org.`, by the first DEPTH parts of the class's
//! package; other stacks are unknown and listed by the name of their thread.

#![allow(clippy::print_stdout, reason = "an example speaks to who runs it")]

use std::collections::BTreeMap;
use std::time::Duration;
use syncline_host::Process;
use syncline_profile::{Metric, Profile, Sample, Space};
use syncline_profiler::{Profiler, ProfilerOptions, Subject};

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|word| word.parse::<u32>().ok());
    let (Some(pid), Some(seconds)) = (number(0), number(1)) else {
        return Err("jvm_packages PID SECONDS [DEPTH]".to_owned());
    };
    let depth = number(2).unwrap_or(5) as usize;
    let subject = Subject::of(Process::Other(pid));
    let mut meter = Profiler::open(&subject, &ProfilerOptions::default());
    meter.prepare();
    meter.start(&|| 0);
    std::thread::sleep(Duration::from_secs(seconds.into()));
    meter.stop(&|| 0);
    show(&meter.finish(), depth);
    Ok(())
}

fn show(profile: &Profile, depth: usize) {
    for account in profile.accounts() {
        let (metric, collector) = (account.metric.name(), &account.collector);
        println!("{metric}: {collector}: {:?}, lost {}", account.how, account.lost);
        if let Some(total) = &account.total {
            println!("  total {} by {}", total.amount, total.source);
        }
    }
    for metric in Metric::ALL {
        let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        let samples = profile.samples().iter();
        for sample in samples.filter(|sample| sample.metric == metric) {
            let sum = sums.entry(owner(profile, sample, depth)).or_default();
            sum.0 += sample.weight;
            sum.1 += sample.count;
        }
        let all: u64 = sums.values().map(|(weight, _)| weight).sum();
        if all == 0 {
            continue;
        }
        println!("\n{} {all}", metric.name());
        let mut rows: Vec<_> = sums.into_iter().collect();
        rows.sort_by_key(|(_, (weight, _))| std::cmp::Reverse(*weight));
        for (owner, (weight, count)) in rows {
            let share = weight as f64 * 100.0 / all as f64;
            println!("{share:6.1} % {weight:>14} {count:>7}  {owner}");
        }
    }
}

fn owner(profile: &Profile, sample: &Sample, depth: usize) -> String {
    let mut frames = profile.stack(sample.stack);
    let class = frames.find(|frame| frame.space == Space::Java && frame.object.starts_with("org."));
    let Some(class) = class else {
        let name = &profile.thread(sample.thread).name;
        let plain = name.trim_end_matches(|last: char| last.is_ascii_digit());
        return format!("unknown, thread {plain}");
    };
    let words: Vec<&str> = class.object.split('.').take(depth).collect();
    words.join(".")
}
