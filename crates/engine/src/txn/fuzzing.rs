//! Reads arbitrary bytes as a transaction's log record.

use super::record::{Operation, add, add_splice, operations};
use crate::ids::TreeId;

/// Reads a record; the operations that were read must be the same after they are added again, except for
/// skippable ones.
pub fn record(data: &[u8]) {
    let read: Result<Vec<_>, _> = operations(data).collect();
    let Ok(read) = read else {
        let after_error = operations(data).skip_while(Result::is_ok).count();
        assert_eq!(after_error, 1, "after an error there are no more operations");
        return;
    };
    let mut again = Vec::new();
    for operation in &read {
        add(&mut again, *operation);
    }
    let reread: Result<Vec<_>, _> = operations(&again).collect();
    assert_eq!(reread.as_ref(), Ok(&read), "operations differ after writing and reading again");
    assert!(again.len() <= data.len(), "numbers have only their shortest form");
}

/// Records as commits write them.
pub(crate) fn record_seeds() -> Vec<Vec<u8>> {
    let mut record = Vec::new();
    let (tree, key) = (TreeId(300), b"key".as_slice());
    let value = [7; 200].as_slice();
    add(&mut record, Operation::CreateTree(tree));
    add(&mut record, Operation::Put { tree, key, value });
    let mut all = record.clone();
    add(&mut all, Operation::Delete { tree, key });
    add(&mut all, Operation::DropTree(TreeId(u32::MAX)));
    let mut other = [7; 200];
    other[20] = 8;
    add_splice(&mut all, tree, key, (value, &other)).expect("two similar values");
    all.extend_from_slice(&[200, 2, 1, 1]);
    vec![record, all]
}
