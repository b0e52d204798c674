//! Which opening of which database a handle belongs to.
//!
//! A process may have several databases open, and may open one again after it was closed. Handles name pages
//! and trees by numbers, which mean something in their own opening only. So every table handle shares the
//! [`Origin`] of the core that it came from, and a session compares pointers before it trusts a handle.

use crate::ids::DatabaseId;
use std::fmt;
use std::path::{Path, PathBuf};

/// See the module. Shared by pointer: two openings of one database are two origins.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) database: DatabaseId,
    /// Empty for a database in memory alone.
    directory: PathBuf,
}

impl Origin {
    pub(crate) fn new(database: DatabaseId, directory: &Path) -> Origin {
        Origin { database, directory: directory.to_owned() }
    }

    /// The name in an error of the origin of a handle that is used here.
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
