//! Leaves that are freed while other threads scan all pages.

use super::page_snapshot::{buffer, make};
use crate::ids::TreeId;

/// Verify, the pages of a table and the end of a failed load scan all pages while writers run, and used to
/// panic at a leaf that was just freed.
#[test]
fn a_leaf_that_was_freed_and_is_still_in_the_table_belongs_to_no_tree() {
    let buffer = buffer();
    let (stays, goes, tree) = (make(&buffer), make(&buffer), TreeId(5));
    assert_eq!(buffer.pages_of(tree), [stays, goes]);
    assert!(buffer.is_labelled(goes, tree) && buffer.key_within(goes).is_some());
    let guard = crossbeam_epoch::pin();
    let frame = buffer.frame(goes, &guard).unwrap();
    buffer.retire_leaf(frame, &mut frame.leaf().unwrap().write());
    assert_eq!(buffer.pages_of(tree), [stays]);
    assert!(!buffer.is_labelled(goes, tree));
    assert_eq!(buffer.key_within(goes), None);
    buffer.forget(goes, &guard);
    assert_eq!(buffer.pages_of(tree), [stays]);
}
