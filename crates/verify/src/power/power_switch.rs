//! The state under a mount's one lock: whether there is power, the recording, the armed faults.
//!
//! Invariants:
//! 1. Every call holds the lock from its check of the power until its step is recorded, a sync from its
//!    last check. So a sync that has answered is in the recording before the cut, and nothing follows the
//!    cut.
//! 2. Once the power is off it stays off.

use super::fault::Faults;
use super::file_class::{Class, Classify};
use super::inode_tree::Tree;
use super::recording::{Node, Step};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;

/// The state that a call holds locked while it runs.
#[derive(Debug)]
pub(super) struct PowerSwitch {
    is_off: bool,
    pub(super) tree: Tree,
    pub(super) faults: Faults,
    steps: Vec<Step>,
    bytes: u64,
    bytes_max: u64,
    acknowledgements: u64,
    open: BTreeMap<u64, Open>,
    next: u64,
}

/// The target of a file handle.
#[derive(Debug)]
pub(super) enum Open {
    File {
        node: Node,
        file: File,
        /// True if each write is a sync.
        synced: bool,
    },
    /// The names at the time when the directory was opened.
    Directory(Vec<(Node, super::recording::Kind, OsString)>),
    /// The virtual file of acknowledgements.
    Acknowledgements,
}

impl PowerSwitch {
    /// Power on, nothing recorded. Beyond `bytes_max` recorded bytes the power goes off by itself.
    pub(super) fn new(tree: Tree, classify: Classify, bytes_max: u64) -> PowerSwitch {
        PowerSwitch {
            is_off: false,
            tree,
            faults: Faults::new(classify),
            steps: Vec::new(),
            bytes: 0,
            bytes_max,
            acknowledgements: 0,
            open: BTreeMap::new(),
            next: 1,
        }
    }

    /// Fails if the power is off.
    pub(super) fn check(&self) -> io::Result<()> {
        if self.is_off {
            return Err(Errno::IO.into());
        }
        Ok(())
    }

    pub(super) fn record(&mut self, step: Step) {
        if let Step::Write { bytes, .. } = &step {
            self.bytes += bytes.len() as u64;
        }
        self.acknowledgements += u64::from(matches!(step, Step::Acknowledged(_)));
        self.steps.push(step);
        if self.bytes > self.bytes_max {
            self.is_off = true;
        }
    }

    pub(super) fn cut(&mut self) {
        self.is_off = true;
    }

    pub(super) fn is_off(&self) -> bool {
        self.is_off
    }

    pub(super) fn steps(&self) -> usize {
        self.steps.len()
    }

    pub(super) fn acknowledgements(&self) -> u64 {
        self.acknowledgements
    }

    /// Takes the recorded steps out.
    pub(super) fn take(&mut self) -> Vec<Step> {
        self.open.clear();
        std::mem::take(&mut self.steps)
    }

    pub(super) fn opened(&mut self, open: Open) -> u64 {
        let handle = self.next;
        self.next += 1;
        self.open.insert(handle, open);
        handle
    }

    pub(super) fn closed(&mut self, handle: u64) {
        self.open.remove(&handle);
    }

    pub(super) fn handle(&self, handle: u64) -> io::Result<&Open> {
        self.open.get(&handle).ok_or_else(|| Errno::BADF.into())
    }

    /// The open files of a class.
    pub(super) fn of_class(&self, class: Class) -> Vec<Node> {
        let files = self.open.values().filter_map(|open| match open {
            Open::File { node, .. } => Some(*node),
            _ => None,
        });
        let is_of = |node: &Node| {
            let path = self.tree.path(*node);
            path.is_some_and(|path| self.faults.class(&path) == class)
        };
        let mut nodes: Vec<_> = files.filter(is_of).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Any open file of a node.
    pub(super) fn file_of(&self, node: Node) -> Option<&File> {
        self.open.values().find_map(|open| match open {
            Open::File { node: other, file, .. } if *other == node => Some(file),
            _ => None,
        })
    }
}
