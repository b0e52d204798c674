//! The state that all parts of an open database share.

use crate::catalog::Catalog;
use crate::database::checkpoints::{Checkpoints, Step};
use crate::error::{Error, Result};
use crate::ids::{Csn, TreeId};
use crate::options::Options;
use crate::recovery::Redone;
use crate::sync::rank::{ABANDONED, CATALOG, DEFINING, HIDDEN, LISTED_TABLES};
use crate::sync::ranked::{Mutex, RwLock};
use crate::table::Table;
use crate::tree_directory::TreeDirectory;
use crate::txn::{ClosedGate, Core, Relief};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use syncline_vfs::Disk;

/// Shared by sessions, checkpoints and definitions.
pub(crate) struct Engine<D: Disk> {
    pub(crate) core: Arc<Core<D>>,
    pub(crate) tree_directory: TreeDirectory,
    pub(crate) catalog: RwLock<Arc<Catalog>, CATALOG>,
    /// A copy of the catalogue for callers that list tables: they may hold a leaf, and a definition latches
    /// leaves while it holds the catalogue.
    pub(crate) listed_tables: Mutex<Arc<Catalog>, LISTED_TABLES>,
    /// None in transient mode, which stores nothing.
    pub(crate) checkpoints: Option<Checkpoints<D>>,
    pub(crate) options: Options,
    pub(crate) directory: PathBuf,
    pub(crate) redone: Redone,
    /// The last commit before this opening.
    pub(crate) opened_at: Csn,
    /// Held while tables or indexes change, but not while the rows of a table are loaded into hidden trees.
    pub(crate) defining: Mutex<(), DEFINING>,
    /// Trees that are being built or freed and that the catalogue does not name.
    pub(crate) hidden: Mutex<BTreeSet<TreeId>, HIDDEN>,
    /// Hidden trees of failed changes that could not be removed yet.
    pub(crate) abandoned: Mutex<BTreeSet<TreeId>, ABANDONED>,
}

impl<D: Disk> Engine<D> {
    /// Lets writers that lack room move the checkpoint on.
    pub(crate) fn relieve_writers(self: &Arc<Self>) {
        self.core.set_relief(Box::new(Reliever(Arc::downgrade(self))));
    }

    /// A handle of the named table.
    pub(crate) fn table(&self, name: &str) -> Result<Table> {
        // The guard keeps definition and trees consistent with each other.
        let catalog = self.catalog.read();
        let entry = catalog
            .table(name)
            .ok_or_else(|| Error::NoSuch { kind: "table", name: name.to_owned() })?;
        Ok(Table::new(&self.core.origin, entry, |id| {
            let tree = self.tree_directory.tree(id);
            tree.expect("a tree in the catalogue is in the tree directory")
        }))
    }

    /// Removes what no reader needs any more, see [`Core::sweep`]; also merges leaves that became poor when
    /// they were loaded.
    pub(crate) fn sweep(&self) {
        for (tree, key) in self.core.buffer.take_stripped() {
            if let Some(tree) = self.tree_directory.tree(tree) {
                self.core.note_poor_leaf(&tree, key.into());
            }
        }
        self.core.sweep();
    }

    /// The tables at this moment.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.read())
    }
}

struct Reliever<D: Disk>(Weak<Engine<D>>);

impl<D: Disk> Relief for Reliever<D> {
    fn relieve(&self) -> Result<bool> {
        let Some(engine) = self.0.upgrade() else {
            return Ok(false);
        };
        let Some(checkpoints) = &engine.checkpoints else {
            return Ok(false);
        };
        let step = checkpoints.drive(&engine.core)?;
        if let Step::Finished(_) = step {
            engine.core.set_pressed(false);
        }
        Ok(step != Step::Idle)
    }

    fn begin(&self, alone: Option<&ClosedGate>) -> Result<bool> {
        let Some(engine) = self.0.upgrade() else {
            return Ok(false);
        };
        let Some(checkpoints) = &engine.checkpoints else {
            return Ok(false);
        };
        match alone {
            Some(closed) => {
                checkpoints.begin_alone(&engine.core, &engine.tree_directory, closed)?
            }
            None => checkpoints.begin(&engine.core, &engine.tree_directory)?,
        };
        Ok(true)
    }

    fn shorten_log(&self, alone: Option<&ClosedGate>) -> Result<bool> {
        let Some(engine) = self.0.upgrade() else {
            return Ok(false);
        };
        if engine.checkpoints.is_none() {
            // Nothing is stored, so nothing in the log is needed either.
            engine.core.log.flush()?;
            engine.core.log.release(engine.core.log.durable_lsn());
            return Ok(true);
        }
        if self.relieve()? {
            return Ok(true);
        }
        if !engine.options.checkpoint_by_itself {
            return Ok(false);
        }
        self.begin(alone)?;
        Ok(true)
    }
}
