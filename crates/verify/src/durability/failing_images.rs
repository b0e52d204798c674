//! Failing images, kept as plain directories beside what was expected of them, and looked at again.
//!
//! A folder `image-1`, `image-2`, ... holds `case.json` and `image/`, the store's files as the loss of
//! power left them, before anything recovered them.

use super::child_process::ChildProgram;
use super::outcome::{Acknowledged, Outcome};
use super::power_cuts::Cut;
use super::test_store::{TestStore, look};
use crate::error::{Error, Result, doing};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// What is known of a kept image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// The store: "sqlite".
    pub store: String,
    /// The options under which it was loaded, and is opened again.
    pub options: String,
    /// When the power went, and what it took.
    pub cut: Cut,
    /// The fault that had struck before, in words; none if none had.
    #[serde(default)]
    pub fault: Option<String>,
    /// What had been acknowledged.
    pub acknowledged: Acknowledged,
    /// What was found.
    pub outcome: Outcome,
}

impl Case {
    /// Keeps an image in a new folder; which it is.
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
            .map_err(|error| Error::cannot(format!("a case cannot be written: {error}")))?;
        fs::write(&file, text + "\n").map_err(doing("write", &file))?;
        Ok(folder)
    }
}

/// What is known of the image that a folder keeps.
pub fn kept(folder: &Path) -> Result<Case> {
    let file = folder.join("case.json");
    let text = fs::read_to_string(&file).map_err(doing("read", &file))?;
    serde_json::from_str(&text).map_err(|error| {
        let file = file.display();
        Error::cannot(format!("{file} is no case of syncline verify: {error}"))
    })
}

/// Opens a copy of a kept image and judges it anew: what it was, and what it is now.
pub fn recheck_images(
    folder: &Path,
    program: &ChildProgram,
    scratch: &Path,
) -> Result<(Case, Outcome)> {
    let (case, never) = (kept(folder)?, AtomicBool::new(false));
    let ground = TestStore::of(&case.store, program, scratch, &never, None)?;
    let directory = ground.folder("again")?;
    TestStore::copy(&folder.join("image"), &directory)?;
    let mut helper = ground.program.start()?;
    let looked = look(ground.adapter, &mut helper, &directory, &case.options)?;
    let outcome = case.acknowledged.judge(looked);
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
    Err(Error::cannot("every name of a folder is taken"))
}
