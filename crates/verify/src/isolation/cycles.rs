//! Cycles in the graph: strongly connected components of nodes that all reach each other, and the shortest
//! cycle of a shape.

use super::graph::{Edge, Graph, Why};
use std::collections::{HashMap, VecDeque};

/// A cycle: nodes, each with why it comes before the next; the last leads to the first.
pub(super) type Cycle = Vec<(usize, Why)>;

/// The strongly connected components of more than one node, over the edges that `takes` takes, each sorted.
/// Tarjan's algorithm, without recursion.
pub(super) fn strongly_connected_components(
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
                let mut knot = stack.split_off(start);
                for node in &knot {
                    on_stack[*node] = false;
                }
                if knot.len() > 1 {
                    knot.sort_unstable();
                    found.push(knot);
                }
            }
        }
    }
    found
}

/// A node, and whether it was reached by a read of something overwritten.
type State = (usize, bool);

/// Which ways count as one that closes a cycle.
pub(super) struct Shape<'s> {
    /// Whether an edge may be taken, after one that was, or was not, a read of something overwritten.
    pub(super) follows: &'s dyn Fn(bool, Why) -> bool,
    /// Whether the way may end after such an edge.
    pub(super) may_end_in_read: bool,
    /// Nodes that may be passed.
    pub(super) passes: &'s dyn Fn(usize) -> bool,
}

/// The shortest way of that shape from one node to another. The first step comes after an edge that is
/// such a read, or not.
pub(super) fn way(
    graph: &Graph,
    from: (usize, bool),
    to: usize,
    shape: &Shape<'_>,
) -> Option<Cycle> {
    let mut came: HashMap<State, (State, Why)> = HashMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(state @ (node, after_read)) = queue.pop_front() {
        if node == to && state != from && (shape.may_end_in_read || !after_read) {
            return Some(unwind(&came, from, state));
        }
        for Edge { to: next, why } in &graph.edges[node] {
            let reached = (*next, matches!(why, Why::ReadBefore(_)));
            let is_new = reached != from && !came.contains_key(&reached);
            if is_new && (shape.follows)(after_read, *why) && (shape.passes)(*next) {
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
