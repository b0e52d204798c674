//! When commits log their changed rows for an index build, and when they stop.

use super::behaviour::store;
use crate::txn::row_log::RowLog;
use std::sync::Arc;

#[test]
fn a_failed_definition_ends_the_row_log_of_an_abandoned_build_alone() {
    let store = store();
    let entry_of = |_: &[u8], _: &[u8], _: &mut Vec<u8>| false;
    let log = Arc::new(RowLog::new(store.tree.id, 1 << 10, Box::new(entry_of)));
    let core = &store.core;
    core.install_row_log(Arc::clone(&log), &core.close_gate().unwrap());
    // A concurrent definition fails: the build goes on.
    core.remove_abandoned_row_log(&core.close_gate().unwrap());
    store.apply(|session| session.put(&store.tree, b"a", b"1").unwrap());
    assert!(log.bytes() > 0, "a commit logs the row that it changes");
    log.abandon();
    core.remove_abandoned_row_log(&core.close_gate().unwrap());
    assert!(core.row_log().is_none());
}
