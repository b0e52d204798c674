//! Puts the counts into a profile: by thread and stack, with an account of how each metric was measured.

use super::counts::Counts;
use super::map_types::{Actor, Key, Kind, Sum};
use super::sampling_windows::{SampledSpan, Scale, scaled};
use super::stack_copies::Copies;
use super::unwind_thread::{Stack, UnwoundStacks};
use super::weight_distribution::{StackWeight, spread};
use crate::sampler_threads::was_sampler_thread;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::sync::Arc;
use syncline_profile::{
    ATTRIBUTED, Account, Histogram, Metric, Precision, ProfileBuilder, StackId, Thread, ThreadId,
    Total,
};

/// The collector's name in accounts.
pub(super) const NAME: &str = "bpf";

/// The metrics of this collector.
pub(super) const METRICS: [Metric; 9] = [
    Metric::OffCpu,
    Metric::SystemCalls,
    Metric::SyncCalls,
    Metric::VoluntarySwitches,
    Metric::InvoluntarySwitches,
    Metric::SyncWrites,
    Metric::AsyncWrites,
    Metric::WrittenBytes,
    Metric::Flushes,
];

/// How system calls are sampled if there are many.
const PASSED_OVER: &str = "all counted, one in 16 unwound after the first thousands";

/// The variance of any part of n system calls, of which some represent others, is at most n times this: a
/// call represents 16 on average, uniformly for 1 to 31, and up to half of them belong to the part.
const VARIANCE_OF_SAMPLES: f64 = 16.0 * 4.0 / 3.0 / 4.0;

/// The name of the thread that the kernel's own writes are charged to.
const KERNEL_THREAD: &str = "kernel writeback";
/// 95 % of a normal distribution is within this many standard deviations.
const DEVIATIONS: f64 = 1.96;

/// Everything that was counted.
#[derive(Debug)]
pub(super) struct BpfData {
    pub counts: Counts,
    pub unwound: UnwoundStacks,
    pub sampled: SampledSpan,
}

/// Puts the counts into a profile.
pub(super) fn put(data: BpfData, profile: &mut ProfileBuilder) {
    let lengths = data.counts.lengths.iter();
    let lengths = lengths.map(|length| scaled(*length, data.sampled.of_events()));
    let lengths = Histogram::new(Metric::OffCpu, lengths.collect());
    let mut naming = Naming::new(data, profile);
    naming.gather_sites();
    let sums = std::mem::take(&mut naming.data.counts.sums);
    for (key, sum) in &sums {
        match key.doer {
            Actor::Thread(thread) => naming.thread(thread, *key, *sum),
            Actor::Kernel { .. } | Actor::Others { .. } => {}
        }
    }
    naming.switches_unseen();
    let writes = UnissuedWrites::of(&sums, &naming.data.counts.devices);
    for (kind, sum) in writes.kept() {
        naming.kernel(kind, sum);
    }
    for metric in METRICS {
        let mut account = naming.account(metric);
        account.total = writes.total(metric, naming.data.counts.losses.device_flushes);
        naming.profile.account(account);
    }
    naming.profile.histogram(lengths);
}

/// The metrics of a kind, each with its weight and its number of events.
fn metrics(kind: Kind, sum: Sum) -> Vec<(Metric, u64, u64)> {
    let Sum { count, amount } = sum;
    let counted = |metric| (metric, count, count);
    // The weight is based on this many samples.
    let sampled = |metric| (metric, count, amount);
    // A thread that slept through the whole window left its processor before it.
    let off = (Metric::OffCpu, amount, count.max(u64::from(amount > 0)));
    let written = (Metric::WrittenBytes, amount, count);
    match kind {
        Kind::Call(_) => vec![sampled(Metric::SystemCalls)],
        Kind::Sync => vec![counted(Metric::SyncCalls)],
        Kind::Voluntary => vec![counted(Metric::VoluntarySwitches), off],
        Kind::Involuntary => vec![counted(Metric::InvoluntarySwitches), off],
        Kind::SyncWrite => vec![counted(Metric::SyncWrites), written],
        Kind::AsyncWrite => vec![counted(Metric::AsyncWrites), written],
        Kind::Flush => vec![counted(Metric::Flushes)],
        Kind::Queued => Vec::new(),
    }
}

/// How certain the distribution of a metric over stacks is.
#[derive(Clone, Copy, Debug, Default)]
struct Certainty {
    all: u64,
    /// Events at sites with several stacks.
    mixed: u64,
    /// The sum, over all keys, of the maximum variance of any stack's part.
    variance: f64,
}

impl Certainty {
    /// The maximum error of any part, as a share of the whole, with 95 % confidence.
    fn within(&self) -> f64 {
        DEVIATIONS * self.variance.sqrt() / self.all.max(1) as f64
    }
}

struct Naming<'a> {
    data: BpfData,
    profile: &'a mut ProfileBuilder,
    threads: HashMap<u32, ThreadId>,
    stacks: HashMap<Stack, StackId>,
    /// The copies of each site, from events of any kind.
    at_sites: BTreeMap<(Actor, u64), Copies>,
    certainty: BTreeMap<Metric, Certainty>,
    /// The switches of each thread in sampling windows.
    switches: HashMap<(Metric, u32), u64>,
}

impl<'a> Naming<'a> {
    fn new(data: BpfData, profile: &'a mut ProfileBuilder) -> Naming<'a> {
        let switches = switches_of(&data.counts.sums);
        Naming {
            data,
            profile,
            threads: HashMap::new(),
            stacks: HashMap::new(),
            at_sites: BTreeMap::new(),
            certainty: BTreeMap::new(),
            switches,
        }
    }

    /// Adds the counts of a thread under a key.
    fn thread(&mut self, number: u32, key: Key, sum: Sum) {
        if was_sampler_thread(number) {
            return;
        }
        if metrics(key.kind, sum).is_empty() {
            return;
        }
        let thread = self.thread_id(number);
        let Some(copies) = self.copies_of(key) else {
            let nowhere = self.stack_id(Arc::from([]));
            self.add(number, thread, nowhere, key.kind, sum);
            return;
        };
        self.note_certainty(key.kind, sum, &copies);
        let weights: Vec<StackWeight> = copies.stacks.values().copied().collect();
        let parts = spread(sum, &weights);
        for (position, part) in copies.stacks.keys().zip(parts) {
            let unwound = Arc::clone(&self.data.unwound.stacks[*position]);
            let stack = self.stack_id(unwound);
            self.add(number, thread, stack, key.kind, part);
        }
    }

    fn gather_sites(&mut self) {
        let copies = self.data.unwound.copies_by_key.iter();
        for (key, copies) in
            copies.filter_map(|(key, copies)| Some(((key.doer, key.site?), copies)))
        {
            self.at_sites.entry(key).or_default().merge(copies);
        }
    }

    /// The copies of a key. Requests use the copies of the writes that were queued there, and a key without
    /// copies uses those of its site.
    fn copies_of(&self, key: Key) -> Option<Copies> {
        let handed_over = matches!(key.kind, Kind::SyncWrite | Kind::AsyncWrite);
        let own = if handed_over { Key { kind: Kind::Queued, ..key } } else { key };
        let copies = self.data.unwound.copies_by_key.get(&own);
        let copies = copies.or_else(|| self.at_sites.get(&(key.doer, key.site?)));
        copies.cloned()
    }

    fn note_certainty(&mut self, kind: Kind, sum: Sum, copies: &Copies) {
        for (metric, weight, _) in metrics(kind, sum) {
            let certainty = self.certainty.entry(metric).or_default();
            let variance = copies.variance(metric == Metric::OffCpu);
            certainty.variance += (weight as f64).powi(2) * variance;
            if copies.stacks.len() > 1 {
                certainty.mixed += weight;
            }
        }
    }

    /// Adds switches that the kernel counted but no sampling window saw; their stacks are unknown.
    fn switches_unseen(&mut self) {
        if !self.data.sampled.paused {
            return;
        }
        let counted = self.data.sampled.switches.clone();
        for (number, (voluntary, involuntary)) in counted {
            for (metric, count) in
                [(Metric::VoluntarySwitches, voluntary), (Metric::InvoluntarySwitches, involuntary)]
            {
                let sampled_count = self.switches.get(&(metric, number)).copied();
                if count > 0 && sampled_count.unwrap_or(0) == 0 && !was_sampler_thread(number) {
                    let (thread, nowhere) = (self.thread_id(number), self.stack_id(Arc::from([])));
                    self.profile.add(metric, thread, nowhere, count, 0);
                }
            }
        }
    }

    /// Adds writes by the kernel itself.
    fn kernel(&mut self, kind: Kind, sum: Sum) {
        let thread = self.profile.thread(Thread { name: KERNEL_THREAD.to_owned(), title: None });
        let stack = self.stack_id(Arc::from([]));
        self.add(0, thread, stack, kind, sum);
    }

    fn add(&mut self, number: u32, thread: ThreadId, stack: StackId, kind: Kind, sum: Sum) {
        for (metric, weight, count) in metrics(kind, sum) {
            if weight == 0 {
                continue;
            }
            let all = scaled(weight, self.scale_of(metric, number));
            self.profile.add(metric, thread, stack, all, count);
            self.certainty.entry(metric).or_default().all += weight;
        }
    }

    /// The scale of a thread's part of a metric: from its sampled switches to the kernel's own count, if the
    /// thread existed at the end.
    fn scale_of(&self, metric: Metric, number: u32) -> Scale {
        let sampled = &self.data.sampled;
        let all = sampled.switches.get(&number).filter(|_| sampled.paused);
        let all = match metric {
            Metric::VoluntarySwitches => all.map(|all| all.0),
            Metric::InvoluntarySwitches => all.map(|all| all.1),
            _ => None,
        };
        match (all, self.switches.get(&(metric, number))) {
            (Some(all), Some(counted)) if *counted > 0 && all >= *counted => (all, *counted),
            _ => scale(metric, sampled),
        }
    }

    fn thread_id(&mut self, number: u32) -> ThreadId {
        if let Some(thread) = self.threads.get(&number) {
            return *thread;
        }
        let counts = &self.data.counts;
        let mut thread = match counts.process(number) {
            Some(process) => self.data.unwound.followed.threads.of(process, number),
            None => Thread::default(),
        };
        // It may have been named before it executed another program; the kernel reported its name at its end.
        let ended = counts.ended.get(&number);
        if let Some(ended) = ended.filter(|ended| ended.name != thread.name) {
            thread = Thread { name: ended.name.clone(), title: None };
        }
        let thread = self.profile.thread(thread);
        self.threads.insert(number, thread);
        thread
    }

    fn stack_id(&mut self, stack: Stack) -> StackId {
        if let Some(number) = self.stacks.get(&stack) {
            return *number;
        }
        let symbols = &self.data.unwound.followed.symbols;
        let mut named = Vec::new();
        for place in stack.iter() {
            named.extend(symbols.frames(place).iter().cloned());
        }
        let number = self.profile.stack(named);
        self.stacks.insert(stack, number);
        number
    }

    /// The precision of a metric: exact, or sampled.
    fn how(&self, metric: Metric) -> Precision {
        let sampled = &self.data.sampled;
        let passed = metric == Metric::SystemCalls && !self.data.counts.all_calls;
        let is_scaled = scale(metric, sampled) != (1, 1);
        match (is_scaled, passed) {
            (false, false) => Precision::Exact,
            (false, true) => Precision::Sampled(format!("{PASSED_OVER}; the sum is exact")),
            (true, false) => Precision::Sampled(in_windows(metric, sampled)),
            (true, true) => {
                Precision::Sampled(format!("{}; there {PASSED_OVER}", in_windows(metric, sampled)))
            }
        }
    }

    /// The account of a metric: its sum, and how certain its parts are.
    fn account(&self, metric: Metric) -> Account {
        let losses = &self.data.counts.losses;
        let lost = match metric {
            Metric::SystemCalls | Metric::SyncCalls => losses.calls,
            Metric::OffCpu => losses.switches + losses.returns,
            Metric::VoluntarySwitches | Metric::InvoluntarySwitches => losses.switches,
            _ => losses.requests,
        };
        let mut certainty = self.certainty.get(&metric).copied().unwrap_or_default();
        if metric == Metric::SystemCalls && !self.data.counts.all_calls {
            certainty.variance += certainty.all as f64 * VARIANCE_OF_SAMPLES;
        }
        let mut collector = NAME.to_owned();
        if certainty.all > 0 {
            let percent = |part: f64| part * 100.0;
            write!(
                collector,
                "{ATTRIBUTED}{:.1} points (95 %; {:.1} % had several stacks; {} stack copies, {} lost)",
                percent(certainty.within()),
                percent(certainty.mixed as f64 / certainty.all as f64),
                self.data.unwound.copies,
                losses.copies
            )
            .expect("a string takes what is written to it");
        }
        Account {
            metric,
            collector,
            how: self.how(metric),
            // A thread that did not fit had at least one event.
            lost: lost + losses.threads,
            total: None,
        }
    }
}

/// The switches of each thread, by kind.
fn switches_of(sums: &BTreeMap<Key, Sum>) -> HashMap<(Metric, u32), u64> {
    let mut switches = HashMap::new();
    for (key, sum) in sums {
        let metric = match key.kind {
            Kind::Voluntary => Metric::VoluntarySwitches,
            Kind::Involuntary => Metric::InvoluntarySwitches,
            _ => continue,
        };
        if let Actor::Thread(number) = key.doer {
            *switches.entry((metric, number)).or_default() += sum.count;
        }
    }
    switches
}

/// The scale of a metric from the sampled time to the window.
fn scale(metric: Metric, sampled: &SampledSpan) -> Scale {
    match metric {
        Metric::OffCpu => sampled.of_time(),
        Metric::SystemCalls | Metric::VoluntarySwitches | Metric::InvoluntarySwitches => {
            sampled.of_events()
        }
        _ => (1, 1),
    }
}

/// The sampled share of the window, and the certainty of the sum.
fn in_windows(metric: Metric, sampled: &SampledSpan) -> String {
    let by = match metric {
        Metric::VoluntarySwitches | Metric::InvoluntarySwitches => {
            "what the kernel counted of each thread (/proc/PID/status), and by the commits of those that ended"
        }
        Metric::SystemCalls if sampled.by_commits() => "the commits of all of it",
        _ => "the length of all of it",
    };
    let cost = sampled.cost.unwrap_or(0.0) * 100.0;
    let mut text = format!(
        "in {} windows of {:.0} ms, {:.1} % of the time, since its programs used {cost:.1} % CPU of the \
         machine; scaled to {by}",
        sampled.windows.len(),
        sampled.ns() as f64 / 1e6 / sampled.windows.len().max(1) as f64,
        sampled.share() * 100.0
    );
    if metric == Metric::OffCpu {
        text.push_str(
            "; the histogram shows the part of a long wait that is inside sampling windows",
        );
    }
    if metric == Metric::SystemCalls {
        let within = sampled.within(|window| window.calls);
        let known = within.map_or_else(
            || "; the error of the sum is unknown, because there were too few windows".to_owned(),
            |within| format!("; the sum is within {:.1} % (95 %)", within * 100.0),
        );
        text.push_str(&known);
    }
    text
}

/// Writes that no thread of the store issued, by device.
#[derive(Debug, Default)]
struct UnissuedWrites {
    /// For comparison: the writes of the store's threads.
    own: BTreeMap<Kind, Sum>,
    /// Writes of the kernel's own threads to devices of the store that no other process wrote to.
    kept: BTreeMap<Kind, Sum>,
    /// Writes of the kernel's own threads that may belong to any process.
    left_out: BTreeMap<Kind, Sum>,
    /// Writes of other processes to devices of the store.
    others: BTreeMap<Kind, Sum>,
}

impl UnissuedWrites {
    fn of(sums: &BTreeMap<Key, Sum>, devices: &BTreeSet<u32>) -> UnissuedWrites {
        let mut writes = UnissuedWrites::default();
        let is_shared = |wanted: u32| {
            let mut doers = sums.keys().map(|key| key.doer);
            doers.any(|doer| doer == Actor::Others { device: wanted })
        };
        for (key, sum) in sums {
            let to = match key.doer {
                Actor::Kernel { device } if !devices.contains(&device) => &mut writes.left_out,
                Actor::Kernel { device } if is_shared(device) => &mut writes.left_out,
                Actor::Kernel { .. } => &mut writes.kept,
                Actor::Others { device } if devices.contains(&device) => &mut writes.others,
                Actor::Others { .. } => continue,
                Actor::Thread(_) => &mut writes.own,
            };
            let so_far = to.entry(key.kind).or_default();
            so_far.count += sum.count;
            so_far.amount += sum.amount;
        }
        writes
    }

    fn kept(&self) -> Vec<(Kind, Sum)> {
        self.kept.iter().map(|(kind, sum)| (*kind, *sum)).collect()
    }

    /// The total of writes or flushes, with the writes of other processes as its source text.
    fn total(&self, metric: Metric, device_flushes: u64) -> Option<Total> {
        let sum = |of: &BTreeMap<Kind, Sum>| -> u64 {
            let of = of.iter().flat_map(|(kind, sum)| metrics(*kind, *sum));
            let of = of.filter(|(found, ..)| *found == metric);
            of.map(|(_, weight, _)| weight).sum()
        };
        match metric {
            Metric::Flushes => Some(Total {
                amount: device_flushes,
                source: "flushes of all devices by all processes; the block layer issues one \
                         for several concurrent requests"
                    .to_owned(),
            }),
            Metric::SyncWrites | Metric::AsyncWrites | Metric::WrittenBytes => {
                let [own, kept] = [&self.own, &self.kept].map(sum);
                let [left_out, others] = [&self.left_out, &self.others].map(sum);
                Some(Total {
                    amount: own + kept + left_out + others,
                    source: format!(
                        "block requests: {own} issued for the store's threads; {kept} by the kernel's \
                         own threads to its devices, listed under \"{KERNEL_THREAD}\"; {left_out} by the \
                         kernel's own threads that may belong to any process, and {others} by other processes, which \
                         are left out"
                    ),
                })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{UnissuedWrites, metrics};
    use crate::bpf::map_types::{Actor, Key, Kind, Sum};
    use std::collections::{BTreeMap, BTreeSet};
    use syncline_profile::Metric;

    fn written(doers: &[(Actor, u64)]) -> BTreeMap<Key, Sum> {
        let sums = doers.iter().map(|(doer, count)| {
            let key = Key { doer: *doer, kind: Kind::AsyncWrite, site: None };
            let amount = count * 4096;
            (key, Sum { count: *count, amount })
        });
        sums.collect()
    }

    #[test]
    fn kernel_writes_are_charged_only_on_devices_without_other_writers() {
        let devices = BTreeSet::from([1, 2]);
        let store = (Actor::Thread(7), 5);
        let by_kernel = |device| (Actor::Kernel { device }, 3);
        let alone = written(&[store, by_kernel(1), by_kernel(9)]);
        let writes = UnissuedWrites::of(&alone, &devices);
        let three = Sum { count: 3, amount: 3 * 4096 };
        assert_eq!(writes.kept(), [(Kind::AsyncWrite, three)]);
        let total = writes.total(Metric::AsyncWrites, 0).unwrap();
        assert_eq!(total.amount, 5 + 3 + 3);

        let shared = written(&[store, by_kernel(1), (Actor::Others { device: 1 }, 2)]);
        let writes = UnissuedWrites::of(&shared, &devices);
        assert!(writes.kept().is_empty());
        let total = writes.total(Metric::WrittenBytes, 0).unwrap();
        assert_eq!(total.amount, 10 * 4096);
        assert!(total.source.contains("belong to any process"), "{}", total.source);
        assert_eq!(writes.total(Metric::Flushes, 4).unwrap().amount, 4);
        assert_eq!(writes.total(Metric::SystemCalls, 4), None);
    }

    #[test]
    fn a_sleep_that_began_before_the_window_is_time_without_a_switch() {
        let sum = Sum { count: 0, amount: 1_000 };
        let of_sleep = metrics(Kind::Voluntary, sum);
        let expected = [(Metric::VoluntarySwitches, 0, 0), (Metric::OffCpu, 1_000, 1)];
        assert_eq!(of_sleep, expected);
    }
}
