//! A merged tree of stacks, from the outermost frames inwards: what flame graphs draw.
//!
//! Invariants:
//! 1. Node 0 is the root and stands for everything; a node's parent stands before it.
//! 2. A node's weight is that of its children and its own together.
//! 3. A frame that belongs to no module by itself has the module of its caller, as in the folding.

use crate::cost::{ThreadClass, View};
use crate::fold::Stacks;
use crate::map::Map;
use crate::metric::Metric;
use crate::profile::Profile;
use crate::stack::{Space, Thread};
use std::collections::HashMap;
use syncline_metering::Module;

/// A tree of frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flame {
    /// All frames, parents before children.
    pub nodes: Vec<FlameNode>,
}

/// One frame, merged from all stacks that reach it by the same frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlameNode {
    /// As [`crate::Frame::label`] says it; empty for the root.
    pub label: String,
    /// Whose code; none for the root.
    pub space: Option<Space>,
    /// Whose it is.
    pub module: Option<Module>,
    /// Of this frame and all within it, in the metrics' unit.
    pub weight: u64,
    /// By how many looks or events.
    pub count: u64,
    /// Of this frame alone.
    pub own: u64,
    /// Positions in [`Flame::nodes`], heaviest first.
    pub children: Vec<usize>,
}

/// Merges the stacks of some metrics of one unit, of all threads that are wanted.
pub fn flame(
    profile: &Profile,
    map: &Map,
    metrics: &[Metric],
    wanted: impl Fn(ThreadClass, &Thread) -> bool,
) -> Flame {
    let stacks = Stacks::new(profile, map, View::Innermost);
    let mut tree = Tree::new();
    for sample in profile.samples() {
        let class = stacks.charged(sample).class;
        if !metrics.contains(&sample.metric) || !wanted(class, profile.thread(sample.thread)) {
            continue;
        }
        let mut node = 0;
        tree.add(node, sample.weight, sample.count);
        for frame in profile.stacks[sample.stack.0 as usize].iter().rev() {
            node = tree.child(node, *frame, profile, &stacks);
            tree.add(node, sample.weight, sample.count);
        }
        tree.nodes[node].own += sample.weight;
    }
    tree.sorted()
}

struct Tree {
    nodes: Vec<FlameNode>,
    /// By parent, space and label: frames of one function differ by their places in it.
    children: HashMap<(usize, Space, String), usize>,
    /// The same by the frame's position, to spare the label.
    known: HashMap<(usize, u32), usize>,
}

impl Tree {
    fn new() -> Tree {
        let root = FlameNode {
            label: String::new(),
            space: None,
            module: None,
            weight: 0,
            count: 0,
            own: 0,
            children: Vec::new(),
        };
        Tree {
            nodes: vec![root],
            children: HashMap::new(),
            known: HashMap::new(),
        }
    }

    fn add(&mut self, node: usize, weight: u64, count: u64) {
        self.nodes[node].weight += weight;
        self.nodes[node].count += count;
    }

    fn child(
        &mut self,
        parent: usize,
        position: u32,
        profile: &Profile,
        stacks: &Stacks<'_>,
    ) -> usize {
        if let Some(node) = self.known.get(&(parent, position)) {
            return *node;
        }
        let frame = &profile.frames[position as usize];
        let key = (parent, frame.space, frame.label());
        let node = if let Some(node) = self.children.get(&key) {
            *node
        } else {
            let module = stacks.module(position).or(self.nodes[parent].module);
            let node = self.nodes.len();
            self.nodes.push(FlameNode {
                label: key.2.clone(),
                space: Some(frame.space),
                module,
                weight: 0,
                count: 0,
                own: 0,
                children: Vec::new(),
            });
            self.nodes[parent].children.push(node);
            self.children.insert(key, node);
            node
        };
        self.known.insert((parent, position), node);
        node
    }

    fn sorted(mut self) -> Flame {
        let weights: Vec<u64> = self.nodes.iter().map(|node| node.weight).collect();
        for node in &mut self.nodes {
            let heaviest = |child: &usize| std::cmp::Reverse(weights[*child]);
            node.children.sort_by_key(heaviest);
        }
        Flame { nodes: self.nodes }
    }
}

#[cfg(test)]
mod tests {
    use super::flame;
    use crate::{Frame, Map, Metric, Name, ProfileBuilder, Space, Thread};
    use syncline_metering::Module;

    const MAP: &str = r#"
        product = "Store"
        [[module]]
        name = "logging"
        match = [{ symbol = "log_*" }]
    "#;

    #[test]
    fn stacks_are_merged_from_outside_and_frames_take_the_module_of_their_caller() {
        let mut builder = ProfileBuilder::default();
        let thread = builder.thread(Thread::default());
        let samples: [(&[&str], u64); 3] = [
            (&["memcpy", "log_write", "main"], 5),
            (&["log_write", "main"], 7),
            (&["memcpy", "main"], 1),
        ];
        for (offset, (functions, weight)) in (0..).zip(samples) {
            let frames = functions.iter().map(|function| Frame {
                space: Space::Native,
                object: "store".to_owned(),
                name: Name::Function((*function).to_owned()),
                offset,
            });
            let stack = builder.stack(frames);
            builder.add(Metric::CpuUser, thread, stack, weight, 1);
            builder.add(Metric::OffCpu, thread, stack, 100, 1);
        }
        let map = Map::parse(MAP, "store").unwrap();
        let flame = flame(&builder.finish(1), &map, &[Metric::CpuUser], |_, _| true);
        let mut seen = Vec::new();
        let mut open = vec![(0, 0)];
        while let Some((node, depth)) = open.pop() {
            let node = &flame.nodes[node];
            let label = node.label.as_str();
            seen.push((depth, label, node.weight, node.own, node.count, node.module));
            open.extend(node.children.iter().rev().map(|child| (*child, depth + 1)));
        }
        let logging = Some(Module::Logging);
        assert_eq!(
            seen,
            [
                (0, "", 13, 0, 3, None),
                (1, "main", 13, 0, 3, None),
                (2, "log_write", 12, 7, 2, logging),
                (3, "memcpy", 5, 5, 1, logging),
                (2, "memcpy", 1, 1, 1, None),
            ]
        );
    }
}
