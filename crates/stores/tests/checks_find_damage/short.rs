//! Tests that the checks of `short` find damage.

use crate::scenario::{NO_CHECK, finds, finds_with_outcome};
use syncline_contract::Ending;

const COUNTED: &str = "each table counts every committed update once";
const ALIKE: &str = "rows of one number are alike in all tables and indexed columns";
const OPTIONS: [(&str, &str); 4] =
    [("tables", "2"), ("indexes", "2"), ("rows", "40"), ("do", "update")];

#[test]
fn an_undamaged_store_holds() {
    assert_eq!(finds("short", &OPTIONS, ""), NO_CHECK);
    let unknown = finds_with_outcome("short", &OPTIONS, "", Ending::Unknown);
    assert_eq!(unknown, NO_CHECK);
}

#[test]
fn an_update_that_happened_in_part_is_found() {
    let half = "UPDATE short_1 SET count = count + 1 WHERE id = 3";
    assert_eq!(finds("short", &OPTIONS, half), [COUNTED, ALIKE]);
    let column = "UPDATE short_1 SET i1 = i1 + 40 WHERE id = 3; \
                  UPDATE short_0 SET i1 = i1 + 40 WHERE id = 3";
    assert_eq!(finds("short", &OPTIONS, column), [ALIKE]);
}

#[test]
fn an_update_that_was_lost_everywhere_is_found() {
    let lost = "UPDATE short_0 SET count = count - 1 WHERE id = 3; \
                UPDATE short_1 SET count = count - 1 WHERE id = 3";
    assert_eq!(finds("short", &OPTIONS, lost), [COUNTED]);
    let missing = "DELETE FROM short_0 WHERE count = 0 AND id < 0 OR id = 39; \
                   DELETE FROM short_1 WHERE id = 39";
    let found = finds("short", &OPTIONS, missing);
    assert!(found.contains(&ALIKE.to_owned()), "{found:?}");
}
