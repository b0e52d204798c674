//! Checks whether the map fits the profile.

use crate::map::Map;
use crate::profile::Profile;
use crate::stack::Name;
use std::collections::BTreeMap;

/// The least share of a profile's functions that the table must know.
const LEAST_KNOWN_SHARE: f64 = 0.95;
/// A table is not judged by fewer functions than this.
const FEWEST_FUNCTIONS: usize = 20;

/// Sentences about what does not fit.
pub(super) fn warnings(profile: &Profile, map: &Map) -> Vec<String> {
    let mut warnings = map.warnings().to_vec();
    let functions: BTreeMap<&str, bool> = profile
        .frames
        .iter()
        .filter_map(|frame| match &frame.name {
            Name::Function(name) => Some((name.as_str(), map.table_knows(frame)?)),
            Name::Between { .. } | Name::Unknown => None,
        })
        .collect();
    let known = functions.values().filter(|known| **known).count();
    if functions.len() >= FEWEST_FUNCTIONS
        && (known as f64) < LEAST_KNOWN_SHARE * functions.len() as f64
    {
        warnings.push(format!(
            "the table of {}'s functions knows {known} of the {} functions in the profile: it was made from \
             another version, so the shares of modules may be wrong",
            map.product(),
            functions.len()
        ));
    }
    warnings
}
