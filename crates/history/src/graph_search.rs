//! Strongly connected components, and the shortest cycle under given rules.

use crate::graph::{Edge, Graph, Why};
use std::collections::{HashMap, VecDeque};

/// A cycle: nodes, each with the reason why it precedes the next; the last leads to the first.
pub(crate) type Cycle = Vec<(usize, Why)>;

/// The strongly connected components with more than one node, over the edges that satisfy `takes`, each
/// sorted. Tarjan's algorithm, without recursion.
pub(crate) fn strongly_connected_components(
    graph: &Graph,
    takes: impl Fn(Why) -> bool,
) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let count = graph.edges.len();
    let (mut index, mut low) = (vec![UNSEEN; count], vec![0; count]);
    let (mut on_stack, mut stack, mut next) = (vec![false; count], Vec::new(), 0);
    let mut found = Vec::new();
    for root in 0..count {
        if index[root] != UNSEEN {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((node, at)) = path.last_mut() {
            let node = *node;
            if *at == 0 && index[node] == UNSEEN {
                (index[node], low[node]) = (next, next);
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(edge) = graph.edges[node].get(*at) {
                *at += 1;
                if !takes(edge.why) {
                    continue;
                }
                if index[edge.to] == UNSEEN {
                    path.push((edge.to, 0));
                } else if on_stack[edge.to] {
                    low[node] = low[node].min(index[edge.to]);
                }
                continue;
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
            if low[node] == index[node] {
                let start = stack.iter().rposition(|other| *other == node).unwrap_or(0);
                let mut component = stack.split_off(start);
                for node in &component {
                    on_stack[*node] = false;
                }
                if component.len() > 1 {
                    component.sort_unstable();
                    found.push(component);
                }
            }
        }
    }
    found
}

/// A node, and whether it was reached by a read of an overwritten value.
type State = (usize, bool);

/// Which paths may close a cycle.
pub(crate) struct PathRule<'s> {
    /// Whether an edge may follow, given whether the previous edge was a read of an overwritten value.
    pub(crate) follows: &'s dyn Fn(bool, Why) -> bool,
    /// Whether the path may end with such a read.
    pub(crate) may_end_in_read: bool,
    /// The nodes that the path may use.
    pub(crate) passes: &'s dyn Fn(usize) -> bool,
}

/// The shortest path under these rules. `from.1` says whether the edge before the path is a read of an
/// overwritten value.
pub(crate) fn shortest_path(
    graph: &Graph,
    from: (usize, bool),
    to: usize,
    path_rule: &PathRule<'_>,
) -> Option<Cycle> {
    let mut came: HashMap<State, (State, Why)> = HashMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(state @ (node, after_read)) = queue.pop_front() {
        if node == to && state != from && (path_rule.may_end_in_read || !after_read) {
            return Some(unwind(&came, from, state));
        }
        for Edge { to: next, why } in &graph.edges[node] {
            let reached = (*next, matches!(why, Why::ReadBefore(_)));
            let is_new = reached != from && !came.contains_key(&reached);
            if is_new && (path_rule.follows)(after_read, *why) && (path_rule.passes)(*next) {
                came.insert(reached, (state, *why));
                queue.push_back(reached);
            }
        }
    }
    None
}

fn unwind(came: &HashMap<State, (State, Why)>, from: State, mut state: State) -> Cycle {
    let mut steps = Vec::new();
    while state != from {
        let (before, why) = came[&state];
        steps.push((before.0, why));
        state = before;
    }
    steps.reverse();
    steps
}
