//! Tests of folding.

use super::fold;
use crate::{
    Account, Charge, Cost, Frame, Map, Metric, Name, Precision, Profile, ProfileBuilder, Space,
    Thread, ThreadClass, View,
};
use std::collections::BTreeSet;
use syncline_instrument::Module;

const MAP: &str = r#"
    product = "Store"
    [[module]]
    name = "lock_manager"
    blame = "outward"
    match = [{ symbol = "lock_*" }]
    [[module]]
    name = "logging"
    match = [{ symbol = "log_*" }]
    [[module]]
    name = "network_server"
    match = [{ symbol = "net_*" }]
    [[idle]]
    leaf = "net_wait"
    under = "net_read_command"
    [[thread]]
    class = "background"
    title = "store: writer"
    module = "data_store"
    [[thread]]
    class = "connection"
    title = "store: *"
"#;

fn frame(space: Space, function: &str) -> Frame {
    Frame {
        space,
        object: "store".to_owned(),
        name: Name::Function(function.to_owned()),
        offset: 0,
        inlined: false,
    }
}

fn thread(title: &str) -> Thread {
    Thread { name: "store".to_owned(), title: Some(title.to_owned()) }
}

/// A profile of samples: metric, thread, functions from the innermost outwards, weight.
fn profile(samples: &[(Metric, &str, &[&str], u64)]) -> Profile {
    let mut builder = ProfileBuilder::default();
    let mut metrics = BTreeSet::new();
    for (metric, title, functions, weight) in samples {
        let thread = builder.thread(thread(title));
        let frames = functions.iter().map(|function| {
            let kernel = function.strip_prefix("kernel:");
            let space = kernel.map_or(Space::Native, |_| Space::Kernel);
            frame(space, kernel.unwrap_or(function))
        });
        let stack = builder.stack(frames);
        builder.add(*metric, thread, stack, *weight, 1);
        metrics.insert(*metric);
    }
    for metric in metrics {
        builder.account(account(metric, Precision::Exact));
    }
    builder.finish(1_000)
}

fn account(metric: Metric, how: Precision) -> Account {
    Account { metric, collector: "test".to_owned(), how, lost: 0, total: None }
}

fn folded(profile: &Profile, view: View) -> Cost {
    fold(profile, &Map::parse(MAP, "store.toml").unwrap(), view)
}

fn charges(cost: &Cost, metric: Metric) -> Vec<(ThreadClass, Option<Module>, u64)> {
    let cost_of_metric = cost.metrics.iter().find(|it| it.metric == metric).unwrap();
    let one = |it: &Charge| (it.class, it.module, it.weight);
    cost_of_metric.charges.iter().map(one).collect()
}

#[test]
fn the_innermost_module_is_charged_and_others_pass_to_their_caller() {
    use ThreadClass::{Background, Connection, Unknown};
    let profile = profile(&[
        (Metric::CpuUser, "store: one", &["memcpy", "log_write", "net_answer"], 5),
        (Metric::CpuUser, "store: one", &["kernel:log_write", "net_answer"], 7),
        (Metric::CpuUser, "store: one", &["memcpy", "main"], 11),
        (Metric::CpuUser, "other", &[], 13),
        (Metric::CpuUser, "store: writer", &["memcpy"], 17),
    ]);
    let cost = folded(&profile, View::Innermost);
    assert_eq!(
        charges(&cost, Metric::CpuUser),
        [
            (Connection, Some(Module::NetworkServer), 7),
            (Connection, Some(Module::Logging), 5),
            (Connection, None, 11),
            (Background, Some(Module::DataStore), 17),
            (Unknown, None, 13),
        ]
    );
}

#[test]
fn frames_distinguish_threads_of_one_name_and_the_first_rule_wins() {
    use ThreadClass::{Background, Connection, Unknown};
    let map = r#"
        product = "Store"
        [[thread]]
        class = "connection"
        frame = "serve"
        [[thread]]
        class = "background"
        frame = ["cleaner", "purge_*"]
        [[thread]]
        class = "connection"
        name = "store"
        frame = "send_answer"
    "#;
    let whole: &[&str] = &["send_answer", "dispatch", "serve"];
    let profile = profile(&[
        (Metric::CpuUser, "any", whole, 1),
        (Metric::CpuUser, "any", &["purge_one", "serve"], 2),
        (Metric::CpuUser, "any", &["send_answer", "kernel:serve"], 4),
        (Metric::CpuUser, "any", &["send_answer", "cleaner"], 8),
        (Metric::CpuUser, "any", &["memcpy", "dispatch"], 16),
    ]);
    let map = Map::parse(map, "store.toml").unwrap();
    let cost = fold(&profile, &map, View::Innermost);
    assert_eq!(
        charges(&cost, Metric::CpuUser),
        [(Connection, None, 1 + 2 + 4), (Background, None, 8), (Unknown, None, 16)]
    );
}

#[test]
fn a_wait_for_a_lock_is_charged_to_the_module_that_needed_it() {
    let waits: &[&str] = &["kernel:futex", "lock_wait", "log_flush", "net_answer"];
    let alone: &[&str] = &["lock_wait", "main"];
    let profile = profile(&[
        (Metric::SystemCalls, "store: one", waits, 3),
        (Metric::SystemCalls, "store: one", alone, 2),
    ]);
    let by = |view| charges(&folded(&profile, view), Metric::SystemCalls);
    let class = ThreadClass::Connection;
    assert_eq!(by(View::Innermost), [(class, Some(Module::LockManager), 5)]);
    assert_eq!(
        by(View::OnBehalfOf),
        [(class, Some(Module::LockManager), 2), (class, Some(Module::Logging), 3)]
    );
}

#[test]
fn a_thread_that_waits_for_its_client_is_charged_to_waiting_only_for_the_time_it_waits() {
    let idle: &[&str] = &["kernel:epoll", "net_wait", "net_read_command", "main"];
    let answer: &[&str] = &["kernel:epoll", "net_wait", "net_answer"];
    let profile = profile(&[
        (Metric::CpuKernel, "store: one", idle, 1),
        (Metric::OffCpu, "store: one", idle, 90),
        (Metric::OffCpu, "store: one", answer, 9),
        (Metric::VoluntarySwitches, "store: one", idle, 4),
        (Metric::SystemCalls, "store: one", idle, 4),
    ]);
    let cost = folded(&profile, View::Innermost);
    let class = ThreadClass::Connection;
    let network = (class, Some(Module::NetworkServer));
    let waiting = (class, Some(Module::WaitingForRequest));
    assert_eq!(charges(&cost, Metric::CpuKernel), [(network.0, network.1, 1)]);
    assert_eq!(
        charges(&cost, Metric::OffCpu),
        [(network.0, network.1, 9), (waiting.0, waiting.1, 90)]
    );
    assert_eq!(charges(&cost, Metric::VoluntarySwitches), [(waiting.0, waiting.1, 4)]);
    assert_eq!(charges(&cost, Metric::SystemCalls), [(network.0, network.1, 4)]);
}

#[test]
fn wall_clock_is_derived_if_all_its_parts_were_measured() {
    let parts = [
        (Metric::CpuUser, "store: one", &["log_write"] as &[&str], 2),
        (Metric::CpuKernel, "store: one", &["log_write"], 3),
        (Metric::OffCpu, "store: one", &["log_write"], 5),
    ];
    let class = ThreadClass::Connection;
    let cost = folded(&profile(&parts), View::Innermost);
    assert_eq!(charges(&cost, Metric::Wall), [(class, Some(Module::Logging), 10)]);
    let cost = folded(&profile(&parts[1..]), View::Innermost);
    let wall = cost.metrics.iter().find(|it| it.metric == Metric::Wall);
    let Precision::NotAttributable(why) = &wall.unwrap().how else {
        panic!("a sum without one of its parts")
    };
    assert!(why.contains("cpu_user was not measured"), "{why}");
    let cost = folded(&profile(&parts[..2]), View::Innermost);
    assert!(cost.metrics.iter().all(|it| it.metric != Metric::Wall));
}

#[test]
fn a_metric_that_could_not_be_split_has_every_reason_and_no_charges() {
    let mut builder = ProfileBuilder::default();
    for why in ["no privileges", "no such clock"] {
        let how = Precision::NotAttributable(why.to_owned());
        builder.account(account(Metric::Flushes, how));
    }
    builder.account(account(Metric::SyncCalls, Precision::NotAttributable("no BPF".to_owned())));
    builder.account(account(Metric::SyncCalls, Precision::Exact));
    let cost = folded(&builder.finish(5), View::Innermost);
    let how: Vec<_> = cost.metrics.iter().map(|it| (it.metric, &it.how)).collect();
    let why = Precision::NotAttributable("no privileges; no such clock".to_owned());
    assert_eq!(how, [(Metric::SyncCalls, &Precision::Exact), (Metric::Flushes, &why)]);
}

#[test]
fn charges_of_random_profiles_add_up_to_their_samples() {
    let mut generator = fastrand::Rng::with_seed(7);
    let words = ["log_a", "lock_b", "net_wait", "net_read_command", "kernel:x", "main", "memcpy"];
    let titles = ["store: one", "store: writer", "other"];
    let map = Map::parse(MAP, "store.toml").unwrap();
    for _ in 0..200 {
        let stacks: Vec<Vec<&str>> = (0..20)
            .map(|_| {
                let length = generator.usize(0..7);
                (0..length).map(|_| words[generator.usize(0..words.len())]).collect()
            })
            .collect();
        let samples: Vec<_> = stacks
            .iter()
            .map(|stack| {
                let metric = Metric::ALL[generator.usize(0..Metric::ALL.len())];
                let title = titles[generator.usize(0..titles.len())];
                (metric, title, stack.as_slice(), generator.u64(0..1 << 40))
            })
            .collect();
        let profile = profile(&samples);
        for view in [View::Innermost, View::OnBehalfOf] {
            let cost = fold(&profile, &map, view);
            for metric in cost.metrics.iter().filter(|it| it.collector == "test") {
                let charged: u64 = metric.charges.iter().map(|charge| charge.weight).sum();
                let counted: u64 = metric.charges.iter().map(|charge| charge.count).sum();
                let sampled: Vec<u64> =
                    samples.iter().filter(|it| it.0 == metric.metric).map(|it| it.3).collect();
                assert_eq!(charged, sampled.iter().sum::<u64>());
                assert_eq!(counted, sampled.len() as u64);
                assert!(
                    metric
                        .charges
                        .is_sorted_by_key(|it| { (it.class, it.module.is_none(), it.module) })
                );
            }
            let metrics: Vec<_> = cost.metrics.iter().map(|it| it.metric).collect();
            assert!(metrics.is_sorted());
        }
    }
}
