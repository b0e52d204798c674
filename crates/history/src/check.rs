//! Checks a history of appends to lists: finds every anomaly, each with its smallest example.
//!
//! The order of a key's versions is that of the longest list read of it; values that were never read come
//! last. If the reads of a key do not fit one list, or a value of it was overwritten, its order is unknown,
//! and only direct reads of values count. The order gives the edges of the graph, in which:
//!
//! | a cycle of | is |
//! |---|---|
//! | overwrites only | G0 |
//! | overwrites and reads, at least one read | G1c |
//! | these and one read of an overwritten value | G-single |
//! | these and several such reads, no two adjacent | G-nonadjacent |
//! | these and several such reads | G2-item |
//!
//! Each kind is searched first in the dependencies alone, then with session order, then with real time. A
//! kind that was found is not searched again with more edges. G0 to G-nonadjacent are always found if
//! present. For G2-item, each strongly connected component gives one example, and a component that shows a
//! stronger kind is not searched for it. Lists cannot show predicates, so phantoms are not detected.

use crate::anomaly::{Anomaly, Kind, Order};
use crate::concurrency_window::is_in_window;
use crate::explanation::explain;
use crate::graph::{Graph, Why};
use crate::graph_search::{Cycle, PathRule, shortest_path, strongly_connected_components};
use crate::history::History;
use crate::versions::{Versions, replaced};
use std::collections::{BTreeMap, BTreeSet};

/// The most edges of a component from which a cycle is searched, where any cycle will do.
const TRIES: usize = 64;

/// All anomalies of a history, strongest first.
pub fn check(history: &History) -> Vec<Anomaly> {
    let versions = Versions::of(history);
    let mut found = single_reads(&versions);
    found.extend(lost_updates(history));
    let graph = Graph::of(history, &versions);
    let mut search = Search { history, graph: &graph, found: BTreeSet::new() };
    for order in [Order::Plain, Order::Session, Order::RealTime] {
        found.extend(search.cycles(order));
    }
    found.sort_by_key(|anomaly| (anomaly.order, anomaly.kind));
    found
}

fn single_reads(versions: &Versions) -> Vec<Anomaly> {
    let mut kinds: BTreeMap<Kind, Anomaly> = BTreeMap::new();
    for wrong in &versions.wrong {
        let anomaly = kinds.entry(wrong.kind).or_insert(Anomaly {
            kind: wrong.kind,
            order: Order::Plain,
            count: 0,
            in_window: 0,
            example: vec![wrong.what.clone()],
        });
        anomaly.count += 1;
    }
    kinds.into_values().collect()
}

/// Committed transactions that had read the same version of a key and both appended to it.
fn lost_updates(history: &History) -> Option<Anomaly> {
    let replaced = replaced(history);
    let mut lost = replaced.iter().filter(|(_, by)| by.len() > 1);
    let ((key, count, _), by) = lost.next()?;
    let example = format!(
        "T{} and T{} both read key {key} with {count} values and appended to that list",
        by[0], by[1]
    );
    Some(Anomaly {
        kind: Kind::LostUpdate,
        order: Order::Plain,
        count: 1 + lost.count(),
        in_window: 0,
        example: vec![example],
    })
}

struct Search<'s> {
    history: &'s History,
    graph: &'s Graph,
    found: BTreeSet<Kind>,
}

/// A node, the next node, and the reason for the edge.
type Step = (usize, usize, Why);

impl Search<'_> {
    fn cycles(&mut self, order: Order) -> Vec<Anomaly> {
        let counts = |why| match why {
            Why::Session => order == Order::Session,
            Why::RealTime => order == Order::RealTime,
            Why::Overwritten(_) | Why::Read(_) | Why::ReadBefore(_) => true,
        };
        let mut found = Vec::new();
        let overwrites = |why| counts(why) && !matches!(why, Why::Read(_) | Why::ReadBefore(_));
        let flows = |why| counts(why) && !matches!(why, Why::ReadBefore(_));
        let is_write = |why: Why| matches!(why, Why::Overwritten(_));
        let is_read = |why: Why| matches!(why, Why::Read(_));
        found.extend(self.flow(Kind::G0, order, &overwrites, &is_write));
        found.extend(self.flow(Kind::G1c, order, &flows, &is_read));
        let strongly_connected_components = strongly_connected_components(self.graph, counts);
        let ranks = self.graph.ranks(flows);
        let mut plain: [Vec<Cycle>; 3] = Default::default();
        for component in &strongly_connected_components {
            let steps = self.steps(component, &counts, &|why| matches!(why, Why::ReadBefore(_)));
            let single = |step: &Step| self.single(component, ranks.as_deref(), step, &flows);
            let apart = |step: &Step| self.nonadjacent(component, step, &counts);
            let any = |step: &Step| self.any(component, step, &counts);
            if let Some(cycle) = shortest(steps.iter().filter_map(single)) {
                plain[0].push(cycle);
            } else if let Some(cycle) = shortest(steps.iter().filter_map(apart)) {
                plain[1].push(cycle);
            } else if let Some(cycle) = shortest(steps.iter().take(TRIES).filter_map(any)) {
                plain[2].push(cycle);
            }
        }
        let kinds = [Kind::GSingle, Kind::GNonadjacent, Kind::G2Item];
        for (kind, cycles) in kinds.into_iter().zip(plain) {
            found.extend(self.anomaly(kind, order, &cycles));
        }
        found
    }

    /// Cycles without reads of overwritten values, with at least one edge that satisfies `needs`.
    fn flow(
        &mut self,
        kind: Kind,
        order: Order,
        takes: &dyn Fn(Why) -> bool,
        needs: &dyn Fn(Why) -> bool,
    ) -> Option<Anomaly> {
        let mut cycles = Vec::new();
        for component in strongly_connected_components(self.graph, takes) {
            let path_rule = PathRule {
                follows: &|_, why| takes(why),
                may_end_in_read: true,
                passes: &|node| component.binary_search(&node).is_ok(),
            };
            let close = |step: &Step| {
                closed(step, shortest_path(self.graph, (step.1, false), step.0, &path_rule))
            };
            let steps = self.steps(&component, takes, needs);
            cycles.extend(shortest(steps.iter().take(TRIES).filter_map(close)));
        }
        self.anomaly(kind, order, &cycles)
    }

    fn single(
        &self,
        component: &[usize],
        ranks: Option<&[usize]>,
        step: &Step,
        flows: &dyn Fn(Why) -> bool,
    ) -> Option<Cycle> {
        // Ranks only rise along these edges, so a path past the target's rank cannot come back to it.
        let before = |node: usize| ranks.is_none_or(|ranks| ranks[node] <= ranks[step.0]);
        if !before(step.1) {
            return None;
        }
        let path_rule = PathRule {
            follows: &|_, why| flows(why),
            may_end_in_read: false,
            passes: &|node| before(node) && component.binary_search(&node).is_ok(),
        };
        closed(step, shortest_path(self.graph, (step.1, false), step.0, &path_rule))
    }

    fn nonadjacent(
        &self,
        component: &[usize],
        step: &Step,
        counts: &dyn Fn(Why) -> bool,
    ) -> Option<Cycle> {
        let path_rule = PathRule {
            follows: &|after_read, why| {
                counts(why) && !(after_read && matches!(why, Why::ReadBefore(_)))
            },
            may_end_in_read: false,
            passes: &|node| component.binary_search(&node).is_ok(),
        };
        closed(step, shortest_path(self.graph, (step.1, true), step.0, &path_rule))
    }

    fn any(&self, component: &[usize], step: &Step, counts: &dyn Fn(Why) -> bool) -> Option<Cycle> {
        let path_rule = PathRule {
            follows: &|_, why| counts(why),
            may_end_in_read: true,
            passes: &|node| component.binary_search(&node).is_ok(),
        };
        closed(step, shortest_path(self.graph, (step.1, true), step.0, &path_rule))
    }

    /// The edges within a component that satisfy both conditions.
    fn steps(
        &self,
        component: &[usize],
        takes: &dyn Fn(Why) -> bool,
        wants: &dyn Fn(Why) -> bool,
    ) -> Vec<Step> {
        let within = |to: &usize| component.binary_search(to).is_ok();
        let from = component.iter().flat_map(|node| {
            let edges = self.graph.edges[*node].iter();
            edges.map(|edge| (*node, edge.to, edge.why))
        });
        from.filter(|(_, to, why)| takes(*why) && wants(*why) && within(to)).collect()
    }

    fn anomaly(&mut self, kind: Kind, order: Order, cycles: &[Cycle]) -> Option<Anomaly> {
        let smallest = cycles.iter().min_by_key(|cycle| cycle.len())?;
        let in_window = cycles.iter().filter(|one| is_in_window(self.history, one));
        self.found.insert(kind).then(|| Anomaly {
            kind,
            order,
            count: cycles.len(),
            in_window: in_window.count(),
            example: explain(self.history, self.graph, smallest),
        })
    }
}

fn closed(step: &Step, shortest_path: Option<Cycle>) -> Option<Cycle> {
    let mut cycle = vec![(step.0, step.2)];
    cycle.extend(shortest_path?);
    Some(cycle)
}

/// The shortest cycle; stops at the first of two transactions, because none is shorter.
fn shortest(cycles: impl Iterator<Item = Cycle>) -> Option<Cycle> {
    let mut best: Option<Cycle> = None;
    for cycle in cycles {
        if cycle.len() <= 2 {
            return Some(cycle);
        }
        if best.as_ref().is_none_or(|best| cycle.len() < best.len()) {
            best = Some(cycle);
        }
    }
    best
}
