//! Whether the map fits what was seen.

use crate::map::Map;
use crate::profile::Profile;
use crate::stack::Name;
use std::collections::BTreeMap;

/// Of the functions seen, the table should know at least this share.
const ENOUGH: f64 = 0.95;
/// Fewer functions than this say little about a table.
const FEW: usize = 20;

/// Sentences about what does not fit.
pub(super) fn warnings(profile: &Profile, map: &Map) -> Vec<String> {
    let mut warnings = map.warnings().to_vec();
    let seen: BTreeMap<&str, bool> = profile
        .frames
        .iter()
        .filter_map(|frame| match &frame.name {
            Name::Function(name) => Some((name.as_str(), map.table_knows(frame)?)),
            Name::Between { .. } | Name::Unknown => None,
        })
        .collect();
    let known = seen.values().filter(|known| **known).count();
    if seen.len() >= FEW && (known as f64) < ENOUGH * seen.len() as f64 {
        warnings.push(format!(
            "the table of {}'s functions knows {known} of the {} functions seen: it was made from \
             another version, and shares may be misplaced",
            map.product(),
            seen.len()
        ));
    }
    warnings
}
