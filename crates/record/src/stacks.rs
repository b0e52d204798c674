//! The stacks next to a record: written when the record is finished, read to be folded again.
//!
//! The file has the record's name with the extension `.stacks`; its format is that of the crate `profile`.
//! Lists of records skip it.

use super::cost::Cost;
use super::fold_cost::{CostContext, folded, map_for};
use super::run::RunRecord;
use crate::{Error, Result};
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use syncline_profile::{Map, Profile};

const ENDING: &str = "stacks";

/// The profile of a record's run, and the map that assigns it to modules.
#[derive(Clone, Debug)]
pub struct Stacks {
    /// The record's id.
    pub id: String,
    /// The sampled stacks.
    pub profile: Profile,
    /// The map from code to modules.
    pub map: Map,
}

/// Writes the stacks next to the record's file and returns their file's name. A partial file is removed.
pub(super) fn write_stacks(record: &Path, profile: &Profile) -> Result<String> {
    let path = record.with_extension(ENDING);
    let written = File::create_new(&path).and_then(|file| {
        let mut file = BufWriter::new(file);
        profile.write(&mut file)?;
        file.flush()
    });
    if let Err(source) = written {
        // If a partial file cannot be removed, reading it fails with the reason.
        drop(std::fs::remove_file(&path));
        return Err(Error::Stacks { path, source });
    }
    let name = path.file_name().unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}

/// Reads the stacks next to a record's file. `map` replaces the one that comes with the program.
pub fn stacks_of_record(file: &Path, run: &RunRecord, map: Option<&Map>) -> Result<Stacks> {
    let id = run.identity.id.clone();
    let none = |why: &str| Error::NoStacks { id: id.clone(), why: why.to_owned() };
    let cost = run.end.cost.as_ref();
    let cost =
        cost.ok_or_else(|| none("the run was not profiled; syncline run --meter profiles it"))?;
    let name = cost.stacks.as_deref();
    let name =
        name.ok_or_else(|| none("they were not kept, or were removed when the record was shared"))?;
    // A record may name only a file in its own folder.
    let name = Path::new(name).file_name();
    let name = name.ok_or_else(|| none("the record does not hold a valid file name for them"))?;
    let path = file.with_file_name(name);
    let opened = File::open(&path).map_err(|source| Error::Read { path: path.clone(), source });
    let profile = Profile::read(&mut BufReader::new(opened?))
        .map_err(|source| Error::DamagedStacks { path, source })?;
    let target = &run.head.target;
    let product = target.product.as_deref().unwrap_or(&target.name);
    let map = map_for(map, product, target.version.as_deref().unwrap_or_default());
    Ok(Stacks { id, profile, map })
}

/// The cost of a record, folded again from its stacks.
pub fn refold(run: &RunRecord, stacks: &Stacks) -> Option<Cost> {
    let old = run.end.cost.as_ref()?;
    let context = CostContext {
        commits: old.commits,
        by_store: old.commits_by_store.clone(),
        clients: run.head.plan.clients,
        per_commit: &run.end.per_commit,
    };
    let mut cost = folded(&stacks.profile, &stacks.map, &context);
    cost.stacks.clone_from(&old.stacks);
    cost.looking.clone_from(&old.looking);
    Some(cost)
}
