//! Tests that the checks of `tatp` find damage.

use crate::scenario::{NO_CHECK, finds, finds_with_outcome};
use syncline_contract::Ending;

const BELONGS: &str = "every call forwarding belongs to a special facility of its subscriber";
const LOADED: &str =
    "subscribers, their access and their special facilities are those that were loaded";
const COUNTED: &str = "call forwardings are as many as loaded, inserted and deleted";
const OPTIONS: [(&str, &str); 1] = [("subscribers", "300")];
/// One call forwarding.
const FIRST: &str = "(s_id, sf_type, start_time) = \
                     (SELECT s_id, sf_type, start_time FROM call_forwarding LIMIT 1)";
const NAME: &str = "tatp";

#[test]
fn an_undamaged_store_holds() {
    for lookup in ["index", "table"] {
        let options = [OPTIONS[0], ("lookup", lookup)];
        assert_eq!(finds(NAME, &options, ""), NO_CHECK);
        assert_eq!(finds_with_outcome(NAME, &options, "", Ending::Unknown), NO_CHECK);
    }
}

#[test]
fn a_forwarding_without_its_facility_is_found() {
    let moved = format!("UPDATE call_forwarding SET sf_type = 5 WHERE {FIRST}");
    assert_eq!(finds(NAME, &OPTIONS, &moved), [BELONGS]);
    let other_subscriber = format!("UPDATE call_forwarding SET s_id = 301 WHERE {FIRST}");
    assert_eq!(finds(NAME, &OPTIONS, &other_subscriber), [BELONGS]);
}

#[test]
fn lost_and_doubled_forwardings_are_found() {
    let lost = format!("DELETE FROM call_forwarding WHERE {FIRST}");
    assert_eq!(finds(NAME, &OPTIONS, &lost), [COUNTED]);
    let more = "INSERT INTO call_forwarding SELECT s_id, sf_type, 4, 5, '' FROM \
                special_facility LIMIT 1";
    assert_eq!(finds(NAME, &OPTIONS, more), [COUNTED]);
}

#[test]
fn changed_tables_are_found() {
    for damage in [
        "DELETE FROM access_info WHERE s_id = 8",
        "UPDATE subscriber SET sub_nbr = 'x' WHERE s_id = 8",
        "DELETE FROM subscriber WHERE s_id = 8",
        "INSERT INTO access_info SELECT 301, ai_type, 0, 0, '', '' FROM access_info LIMIT 1",
    ] {
        assert_eq!(finds(NAME, &OPTIONS, damage), [LOADED], "{damage}");
    }
}
