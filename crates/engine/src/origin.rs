//! Which opening of which database a handle belongs to.
//!
//! A process may have several databases open, and may reopen one after closing it. Handles name pages and
//! trees by numbers, which are valid only in their own opening. So every table handle shares the [`Origin`]
//! of the core that issued it, and a session compares pointers before it trusts a handle.

use crate::ids::DatabaseId;
use std::fmt;
use std::path::{Path, PathBuf};

/// Identifies one opening of a database. Compared by pointer: two openings of one database are two origins.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) database: DatabaseId,
    /// Empty for a database that is only in memory.
    directory: PathBuf,
}

impl Origin {
    pub(crate) fn new(database: DatabaseId, directory: &Path) -> Origin {
        Origin { database, directory: directory.to_owned() }
    }

    /// How an error names the origin of a handle that was used with this database.
    pub(crate) fn name_of_other(&self, other: &Origin) -> String {
        if self.database == other.database {
            format!("an earlier opening of {other}")
        } else {
            other.to_string()
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.directory.as_os_str().is_empty() {
            write!(f, "database {} in memory", self.database)
        } else {
            write!(f, "database {} in {}", self.database, self.directory.display())
        }
    }
}
