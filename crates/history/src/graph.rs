//! The graph of transactions, with the reason why each precedes another; anomalies are cycles in it.
//!
//! Nodes are transactions, followed by moments: a transaction that has ended leads to the moment of its end,
//! each moment to the next, and a moment to the transactions requested right after it. So real time costs two
//! edges per transaction instead of one per pair.

use crate::history::{History, TransactionStatus};
use crate::versions::{Versions, external_reads};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Why one node precedes another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    /// The second appended to this key right after the first's value.
    Overwritten(i64),
    /// The second read the first's value of this key.
    Read(i64),
    /// The first read a version of this key that the second's append replaced.
    ReadBefore(i64),
    /// One client requested both, in this order.
    Session,
    /// The first had ended before the second was requested.
    RealTime,
}

/// An edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) to: usize,
    pub(crate) why: Why,
}

/// The edges of a history.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) edges: Vec<Vec<Edge>>,
    /// Nodes from here on are moments.
    pub(crate) transactions: usize,
    /// Position in the events: of a transaction's request, or of a moment.
    when: Vec<usize>,
}

impl Graph {
    pub(crate) fn of(history: &History, versions: &Versions) -> Graph {
        let transactions = history.transactions.len();
        let mut graph = Graph {
            edges: vec![Vec::new(); transactions],
            transactions,
            when: history.transactions.iter().map(|one| one.invoked).collect(),
        };
        graph.appends(history, versions);
        graph.reads(history, versions);
        graph.sessions(history);
        graph.real_time(history);
        for edges in &mut graph.edges {
            edges.sort_unstable_by_key(|edge| (edge.to, edge.why));
            edges.dedup();
        }
        graph
    }

    fn add(&mut self, from: usize, to: usize, why: Why) {
        if from != to {
            self.edges[from].push(Edge { to, why });
        }
    }

    fn appends(&mut self, history: &History, versions: &Versions) {
        let ordered = versions.orders.iter();
        for (key, order) in ordered.filter(|(key, _)| versions.has_order(**key)) {
            let writer = |value: &i64| Graph::writer(history, versions, *key, *value);
            for pair in order.windows(2) {
                if let (Some(one), Some(other)) = (writer(&pair[0]), writer(&pair[1])) {
                    self.add(one, other, Why::Overwritten(*key));
                }
            }
            let Some(last) = order.last().and_then(writer) else {
                continue;
            };
            for unread in versions.unread_behind(*key).iter().filter_map(writer) {
                self.add(last, unread, Why::Overwritten(*key));
            }
        }
    }

    fn reads(&mut self, history: &History, versions: &Versions) {
        for (number, transaction) in history.transactions.iter().enumerate() {
            if transaction.ending != TransactionStatus::Committed {
                continue;
            }
            for (key, values) in external_reads(transaction) {
                let writer = |value: &i64| Graph::writer(history, versions, key, *value);
                if let Some(before) = values.last().and_then(writer) {
                    self.add(before, number, Why::Read(key));
                }
                if !versions.has_order(key) {
                    continue;
                }
                let Some(behind) = versions.orders[&key].strip_prefix(values) else {
                    continue;
                };
                let next = match behind {
                    [next, ..] => std::slice::from_ref(next),
                    [] => versions.unread_behind(key),
                };
                for next in next.iter().filter_map(writer) {
                    self.add(number, next, Why::ReadBefore(key));
                }
            }
        }
    }

    fn sessions(&mut self, history: &History) {
        for numbers in history.sessions().into_values() {
            for pair in numbers.windows(2) {
                self.add(pair[0], pair[1], Why::Session);
            }
        }
    }

    fn real_time(&mut self, history: &History) {
        let mut events = Vec::new();
        for (number, transaction) in history.transactions.iter().enumerate() {
            if transaction.ending == TransactionStatus::Committed {
                events.push((transaction.invoked, number, false));
                events.extend(transaction.completed.map(|event| (event, number, true)));
            }
        }
        events.sort_unstable();
        let mut moment = None;
        for (event, number, has_ended) in events {
            if has_ended {
                let next = self.edges.len();
                self.edges.push(Vec::new());
                self.when.push(event);
                self.add(number, next, Why::RealTime);
                if let Some(moment) = moment.replace(next) {
                    self.add(moment, next, Why::RealTime);
                }
            } else if let Some(moment) = moment {
                self.add(moment, number, Why::RealTime);
            }
        }
    }

    /// A rank for each node such that the edges that satisfy `takes` lead to higher ranks, as close to the
    /// order of time as possible; none if they form a cycle.
    pub(crate) fn ranks(&self, takes: impl Fn(Why) -> bool) -> Option<Vec<usize>> {
        let mut waits_for = vec![0_u32; self.edges.len()];
        let taken = |edge: &&Edge| takes(edge.why);
        for edge in self.edges.iter().flatten().filter(taken) {
            waits_for[edge.to] += 1;
        }
        let free = (0..self.edges.len()).filter(|node| waits_for[*node] == 0);
        let mut free: BinaryHeap<_> = free.map(|node| Reverse((self.when[node], node))).collect();
        let (mut ranks, mut next) = (vec![0; self.edges.len()], 0);
        while let Some(Reverse((_, node))) = free.pop() {
            ranks[node] = next;
            next += 1;
            for edge in self.edges[node].iter().filter(taken) {
                waits_for[edge.to] -= 1;
                if waits_for[edge.to] == 0 {
                    free.push(Reverse((self.when[edge.to], edge.to)));
                }
            }
        }
        (next == ranks.len()).then_some(ranks)
    }

    /// The transaction that appended a value, unless it failed; none if the value was never appended.
    fn writer(history: &History, versions: &Versions, key: i64, value: i64) -> Option<usize> {
        let writer = versions.writers.get(&(key, value))?.transaction;
        (history.transactions[writer].ending != TransactionStatus::Failed).then_some(writer)
    }
}
