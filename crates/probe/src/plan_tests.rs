//! Tests of the cells of plans and of their estimated cost.

use super::{Plan, Step, SyncStep, impossible, is_honest};
use crate::{FileState, MethodChoice, Placement, SyncLine};
use std::collections::BTreeSet;
use syncline_record::Latency;
use syncline_vfs::SyncMethod;

fn sync_steps(plan: &Plan) -> Vec<&SyncStep> {
    let syncs = plan.steps.iter().filter_map(|step| match step {
        Step::Sync(step) => Some(step),
        _ => None,
    });
    syncs.collect()
}

#[test]
fn the_quick_plan_takes_about_15_s_and_at_most_20() {
    let estimate = Plan::quick().estimate(1);
    assert!((13.0..17.0).contains(&estimate.shortest_s), "{estimate:?}");
    assert!(estimate.longest_s <= 20.0, "{estimate:?}");
    assert!(Plan::quick().estimate(2).shortest_s > 1.9 * estimate.shortest_s);
    assert!(estimate.bytes_written > 1 << 30 && estimate.bytes_written < 8 << 30, "{estimate:?}");
}

#[test]
fn the_quick_plan_has_all_methods_then_depths_then_sizes_and_states() {
    let plan = Plan::quick();
    let steps = sync_steps(&plan);
    let named = steps[..13].iter().map(|step| step.method);
    assert!(named.eq(SyncMethod::ALL.map(MethodChoice::Named)));
    let depths: Vec<_> = steps[13..16].iter().map(|step| step.outstanding).collect();
    assert_eq!(depths, [2, 4, 16]);
    let shapes: BTreeSet<_> = steps
        .iter()
        .filter(|step| step.outstanding == 1 && step.placement == Placement::Walk)
        .map(|step| (step.file_state, step.write_bytes))
        .collect();
    assert_eq!(shapes.len(), 18, "six sizes in three states");
    assert!(steps.iter().all(|step| step.span.min_ns == 300_000_000));
}

#[test]
fn the_full_plan_has_every_combination_once() {
    let plan = Plan::full();
    let walking: Vec<_> =
        sync_steps(&plan).into_iter().filter(|step| step.placement == Placement::Walk).collect();
    let distinct: BTreeSet<_> = walking
        .iter()
        .map(|step| match step.method {
            MethodChoice::Named(method) => {
                (method, step.write_bytes, step.file_state, step.outstanding)
            }
            MethodChoice::Fastest => panic!("the full plan names its methods"),
        })
        .collect();
    assert_eq!(distinct.len(), 13 * 6 * 3 * 4);
    assert_eq!(walking.len(), distinct.len());
    let estimate = plan.estimate(1);
    assert!(estimate.longest_s > 9.0 * estimate.shortest_s);
}

#[test]
fn the_brief_plan_repeats_the_line_by_the_same_means() {
    let latency = Latency { p50: 1, p90: 1, p99: 1, p999: 1, max: 1, mean: 1.0 };
    let line = SyncLine {
        directory: "/d".into(),
        device: None,
        method: SyncMethod::DirectODsync,
        file_state: FileState::Overwrite,
        write_bytes: 4096,
        line_1: 10_000.0,
        line_1_windows: vec![10_000.0],
        line_1_latency: latency,
        line_max: Some(50_000.0),
        line_max_outstanding: Some(16),
    };
    let plan = Plan::brief(&line);
    let method = MethodChoice::Named(SyncMethod::DirectODsync);
    let last = Step::LineMax { method, outstanding: Some(16), span_ns: 1_000_000_000 };
    assert_eq!(plan.steps.last(), Some(&last));
    assert!((2.5..4.5).contains(&plan.estimate(1).shortest_s));
}

#[test]
fn direct_writes_below_a_block_are_not_possible() {
    let reason = impossible(SyncMethod::DirectFsync, 256, 512).unwrap();
    assert!(reason.contains("256 bytes") && reason.contains("512-byte"), "{reason}");
    assert!(impossible(SyncMethod::UringLinked, 256, 4096).is_some());
    assert_eq!(impossible(SyncMethod::Fsync, 256, 4096), None);
    assert_eq!(impossible(SyncMethod::DirectFsync, 8192, 4096), None);
}

#[test]
fn only_sync_file_range_may_not_stand_for_the_line() {
    let excluded: Vec<_> =
        SyncMethod::ALL.into_iter().filter(|method| !is_honest(*method)).collect();
    assert_eq!(excluded, [SyncMethod::SyncFileRange]);
}
