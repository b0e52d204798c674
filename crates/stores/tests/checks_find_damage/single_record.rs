//! Tests that the checks of single-record loads find damage.

use crate::scenario::{NO_CHECK, finds, finds_while_running};

const READ: &str = "every row that was read had its key and a text that was loaded or written";
const THERE: &str = "every row is there once, and no other";
const LAST: &str = "every row holds its loaded text, or one that was written to it";
const SMALL: [(&str, &str); 2] = [("rows", "1000"), ("tables", "2")];

#[test]
fn an_undamaged_store_holds() {
    for by in ["key", "index"] {
        for name in ["select", "update"] {
            let options = [SMALL[0], SMALL[1], ("by", by)];
            assert_eq!(finds(name, &options, ""), NO_CHECK);
        }
    }
}

#[test]
fn a_text_that_was_never_written_is_found() {
    for name in ["select", "update"] {
        let other = "UPDATE single_record_1 SET text = 'x' || substr(text, 2) WHERE id = 70";
        assert_eq!(finds(name, &SMALL, other), [LAST]);
    }
    // One of the sixteen texts, but not the row's; no update of the next row leaves it either.
    let another = "UPDATE single_record_0 SET text = (SELECT text FROM single_record_0 AS other \
                   WHERE other.text <> single_record_0.text LIMIT 1) WHERE id = 70";
    assert_eq!(finds("select", &SMALL, another), [LAST]);
}

#[test]
fn updates_that_are_lost_are_found() {
    // Three clients changed the 32 rows 600 times, so that hardly any text is the loaded one.
    let options = [("rows", "32")];
    let lost = "UPDATE single_record_0 SET text = (SELECT text FROM single_record_0 WHERE id = 0)";
    assert_eq!(finds("update", &options, lost), [LAST]);
}

#[test]
fn what_is_read_wrong_while_running_is_found() {
    let other = "UPDATE single_record_1 SET text = 'x'";
    for by in ["key", "index"] {
        let options = [SMALL[0], SMALL[1], ("by", by)];
        assert_eq!(finds_while_running("select", &options, other), [READ, LAST]);
    }
    // The index finds other rows than those requested.
    let other = "UPDATE single_record_0 SET sec = sec + 1000; \
                 UPDATE single_record_0 SET sec = (sec + 1) % 1000";
    let options = [SMALL[0], ("by", "index")];
    assert_eq!(finds_while_running("select", &options, other), [READ]);
}

#[test]
fn a_missing_and_an_extra_row_are_found() {
    let missing = "DELETE FROM single_record_1 WHERE id = 999";
    assert_eq!(finds("select", &SMALL, missing), [THERE]);
    let missing = "DELETE FROM single_record_1 WHERE id = 30";
    assert_eq!(finds("select", &SMALL, missing), [THERE]);
    let extra = "INSERT INTO single_record_0 SELECT 1000, text FROM single_record_0 WHERE id = 1";
    assert_eq!(finds("select", &SMALL, extra), [THERE]);
}
