//! A folder for a verification's stores and images, removed in the end.

use crate::commands::facts;
use crate::exit::CannotRun;
use crate::terminal;
use std::fs;
use std::path::{Path, PathBuf};

/// See the module.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// A new folder in `directory`.
    pub(super) fn new(directory: &Path) -> Result<Scratch, CannotRun> {
        let path = directory.join(format!("syncline-verify-{}", std::process::id()));
        fs::create_dir(&path)
            .map_err(|error| CannotRun(format!("cannot make {}: {error}", path.display())))?;
        Ok(Scratch(facts::real(&path)?))
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            let path = self.0.display();
            terminal::warn(&format!(
                "{path} could not be removed ({error}); remove it yourself"
            ));
        }
    }
}
