//! The tests of sysbench.

use syncline_contract::words;

words! {
    /// A test of sysbench.
    pub enum Test {
        /// `oltp_point_select`.
        PointSelect = "point_select",
        /// `oltp_read_only`.
        ReadOnly = "read_only",
        /// `oltp_read_write`.
        ReadWrite = "read_write",
        /// `oltp_write_only`.
        WriteOnly = "write_only",
        /// `oltp_insert`.
        Insert = "insert",
        /// `oltp_delete`.
        Delete = "delete",
        /// `oltp_update_index`.
        UpdateIndex = "update_index",
        /// `oltp_update_non_index`.
        UpdateNonIndex = "update_non_index",
        /// `bulk_insert`.
        BulkInsert = "bulk_insert",
    }
}

impl Test {
    /// The name of its script in sysbench.
    pub fn script(self) -> &'static str {
        match self {
            Test::PointSelect => "oltp_point_select",
            Test::ReadOnly => "oltp_read_only",
            Test::ReadWrite => "oltp_read_write",
            Test::WriteOnly => "oltp_write_only",
            Test::Insert => "oltp_insert",
            Test::Delete => "oltp_delete",
            Test::UpdateIndex => "oltp_update_index",
            Test::UpdateNonIndex => "oltp_update_non_index",
            Test::BulkInsert => "bulk_insert",
        }
    }

    /// True if it reads ranges of rows.
    pub(super) fn has_ranges(self) -> bool {
        matches!(self, Test::ReadOnly | Test::ReadWrite)
    }

    /// True if it wraps its statements in a transaction, unless an option says otherwise.
    pub(super) fn begins(self) -> bool {
        matches!(self, Test::ReadOnly | Test::ReadWrite | Test::WriteOnly)
    }

    /// True if the rows differ after the run.
    pub fn changes_rows(self) -> bool {
        matches!(self, Test::Insert | Test::Delete | Test::BulkInsert)
    }
}
