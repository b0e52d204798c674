//! Failing images: kept as plain directories together with what was expected of them, and rechecked on
//! request.
//!
//! A folder `image-1`, `image-2`, ... holds `case.json` and `image/`: the store's files as the power loss
//! left them, before recovery.

use super::child_process::ChildProgram;
use super::outcome::{Acknowledged, Outcome};
use super::power_cuts::Cut;
use super::test_store::{TestStore, inspect};
use crate::error::{Error, Result, doing};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The description of a kept image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// The store: "sqlite".
    pub store: String,
    /// The options under which it was loaded, and is opened again.
    pub options: String,
    /// The power loss: when, and what it took.
    pub cut: Cut,
    /// The fault that had struck before, in words; none if there was none.
    #[serde(default)]
    pub fault: Option<String>,
    /// The acknowledged transactions.
    pub acknowledged: Acknowledged,
    /// The outcome when the image was kept.
    pub outcome: Outcome,
}

impl Case {
    /// Keeps an image in a new folder; returns the folder.
    pub(super) fn keep(
        &self,
        place: &Path,
        write: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        fs::create_dir_all(place).map_err(doing("make", place))?;
        let folder = new_folder(place)?;
        let image = folder.join("image");
        fs::create_dir(&image).map_err(doing("make", &image))?;
        write(&image)?;
        let file = folder.join("case.json");
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Error::cannot(format!("cannot encode a case: {error}")))?;
        fs::write(&file, text + "\n").map_err(doing("write", &file))?;
        Ok(folder)
    }
}

/// Reads the description of a kept image.
pub fn read_case(folder: &Path) -> Result<Case> {
    let file = folder.join("case.json");
    let text = fs::read_to_string(&file).map_err(doing("read", &file))?;
    serde_json::from_str(&text).map_err(|error| {
        let file = file.display();
        Error::cannot(format!("{file} is not a case of syncline verify: {error}"))
    })
}

/// Opens a copy of a kept image and judges it again; returns the case and the new outcome.
pub fn recheck_images(
    folder: &Path,
    program: &ChildProgram,
    scratch: &Path,
) -> Result<(Case, Outcome)> {
    let (case, never) = (read_case(folder)?, AtomicBool::new(false));
    let test_store = TestStore::of(&case.store, program, scratch, &never, None)?;
    let directory = test_store.folder("again")?;
    TestStore::copy(&folder.join("image"), &directory)?;
    let mut helper = test_store.program.start()?;
    let recovered = inspect(test_store.adapter, &mut helper, &directory, &case.options)?;
    let outcome = case.acknowledged.judge(recovered);
    Ok((case, outcome))
}

fn new_folder(place: &Path) -> Result<PathBuf> {
    for number in 1.. {
        let folder = place.join(format!("image-{number}"));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::io("make", &folder, error)),
        }
    }
    Err(Error::cannot("all folder names are taken"))
}
