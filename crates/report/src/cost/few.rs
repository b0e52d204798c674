//! Whether a metered run was looked at often enough for shares by module.

use super::CostChoice;
use super::sheet::{Figure, Heading, Sheet};
use crate::record::Cost;
use crate::units;

/// So many looks hold any share to ten points either way, 95 times of 100.
const ENOUGH: u64 = 100;

/// Why shares of the processor time of the threads that are shown say little; none where they do, and
/// where processor time was not sampled.
pub(crate) fn too_few(cost: &Cost, choice: &CostChoice) -> Option<String> {
    let sheet = Sheet::of(cost, choice);
    let mut columns = sheet.headings.iter();
    let column = columns.position(|heading| *heading == Heading::Looks)?;
    let Figure::Looks(looks) = sheet.sum.cells[column] else {
        return None;
    };
    (looks < ENOUGH).then(|| {
        format!(
            "{} at processors in {} are too few for figures by module, which {ENOUGH} hold to 10 points \
             either way: measure longer, or look more often",
            crate::finding::plural(looks, "look"),
            units::span_ns(cost.window_ns)
        )
    })
}
