//! The table of records and its operations.

use super::bytes::RecordBytes;
use crate::rows::NewRows;
use std::sync::Arc;
use syncline_contract::{
    Bytes, Int, Kind, Limit, Lock, Path, Plan, Range, Read, Rows, Scan, TableId, Value, Write,
};

/// Records per page of the check.
pub(super) const PAGE_ROWS: u64 = 500;

/// A table of records, and the state that its clients share.
#[derive(Debug)]
pub(crate) struct Table {
    plan: Plan,
    pub(crate) id: TableId,
    pub(super) read: Read<(Int,), (Bytes,)>,
    pub(super) write: Write<(Int, Bytes)>,
    pub(super) page: Read<(Int,), (Int, Bytes)>,
    pub(super) bytes: RecordBytes,
    pub(crate) new_rows: Arc<NewRows>,
    pub(super) prewritten: u64,
}

impl Table {
    /// For records of at most this many bytes, of which `prewritten` are loaded.
    pub(crate) fn new(bytes_max: u64, prewritten: u64) -> Table {
        let mut plan = Plan::new();
        let table = syncline_contract::Table::new("records")
            .column("id", Kind::Int)
            .bytes("bytes", bytes_max as u32)
            .key(&["id"]);
        let table = plan.table(table);
        let from_key = Path::by_key(table, 0, Range::From);
        let page = Scan::ascending(from_key, Limit::Fixed(PAGE_ROWS), &["id", "bytes"]);
        Table {
            read: plan.get("read record", table, &["bytes"], Lock::None),
            write: plan.insert("write record", table),
            page: plan.scan("read records from", page),
            plan,
            id: table,
            bytes: RecordBytes::new(bytes_max),
            new_rows: Arc::new(NewRows::new(prewritten)),
            prewritten,
        }
    }

    /// The plan.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Appends the loaded record with this number.
    pub(crate) fn load(&self, number: u64, batch: &mut Rows) {
        batch.push(Value::Int(number as i64));
        batch.push(Value::Bytes(self.bytes.of(number)));
    }
}
