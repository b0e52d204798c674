//! A description of a database for people: its files, its settings, its tables.

use crate::database::checkpoints::Checkpoints;
use crate::database::engine::Engine;
use crate::database::open::log_directory;
use crate::error::Result;
use crate::ids::{Csn, TreeId};
use crate::log;
use std::fmt;
use std::path::PathBuf;
use syncline_vfs::Disk;

/// A database's files, settings and tables. Its `Display` is a page of text.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The database's directory.
    pub directory: PathBuf,
    /// The log's directory.
    pub log_directory: PathBuf,
    /// The log's settings, read back from its files.
    pub log: log::Settings,
    /// Bytes of all files of the log.
    pub log_bytes: u64,
    /// The durable LSN: everything up to this commit is stable.
    pub durable_lsn: Csn,
    /// Everything up to this commit is in the data file; none in transient mode.
    pub checkpoint: Option<Csn>,
    /// A description of the data file, line by line.
    pub data_file: Vec<String>,
    /// Each table with its trees.
    pub tables: Vec<TableInspection>,
}

/// A table and its trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableInspection {
    /// Its name.
    pub name: String,
    /// The tree of its rows.
    pub tree: TreeId,
    /// Its indexes: name and tree.
    pub indexes: Vec<(String, TreeId)>,
}

impl<D: Disk> Engine<D> {
    pub(crate) fn inspect(&self) -> Result<Inspection> {
        let catalog = self.catalog();
        let tables = catalog.tables().map(|table| {
            let names = table.schema.indexes().iter().map(|index| index.name().to_owned());
            TableInspection {
                name: table.schema.name().to_owned(),
                tree: table.tree,
                indexes: names.zip(table.indexes.iter().map(|index| index.tree)).collect(),
            }
        });
        let data_file = match &self.checkpoints {
            Some(checkpoints) => {
                checkpoints.inspect()?.to_string().lines().map(str::to_owned).collect()
            }
            None => Vec::new(),
        };
        Ok(Inspection {
            directory: self.directory.clone(),
            log_directory: log_directory(&self.directory, &self.options),
            log: self.core.log.settings()?,
            log_bytes: self.core.log.stats().file_bytes,
            durable_lsn: self.core.log.durable_lsn(),
            checkpoint: self.checkpoints.as_ref().map(Checkpoints::csn),
            data_file,
            tables: tables.collect(),
        })
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "database {} in {}", self.log.database, self.directory.display())?;
        writeln!(
            f,
            "log in {}: {} bytes, durability {}, newest segment of {} bytes, stable up to {}",
            self.log_directory.display(),
            self.log_bytes,
            self.log.durability.word(),
            self.log.segment_bytes,
            self.durable_lsn
        )?;
        self.data_file.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        for table in &self.tables {
            writeln!(f, "table {}: {}", table.name, table.tree)?;
            for (name, tree) in &table.indexes {
                writeln!(f, "  index {name}: {tree}")?;
            }
        }
        Ok(())
    }
}
