//! The tests of sysbench.

/// A test of sysbench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// `oltp_point_select`.
    PointSelect,
    /// `oltp_read_only`.
    ReadOnly,
    /// `oltp_read_write`.
    ReadWrite,
    /// `oltp_write_only`.
    WriteOnly,
    /// `oltp_insert`.
    Insert,
    /// `oltp_delete`.
    Delete,
    /// `oltp_update_index`.
    UpdateIndex,
    /// `oltp_update_non_index`.
    UpdateNonIndex,
    /// `bulk_insert`.
    BulkInsert,
}

impl Test {
    /// All tests.
    pub const ALL: [Test; 9] = [
        Test::PointSelect,
        Test::ReadOnly,
        Test::ReadWrite,
        Test::WriteOnly,
        Test::Insert,
        Test::Delete,
        Test::UpdateIndex,
        Test::UpdateNonIndex,
        Test::BulkInsert,
    ];

    /// The option's value.
    pub fn word(self) -> &'static str {
        match self {
            Test::PointSelect => "point_select",
            Test::ReadOnly => "read_only",
            Test::ReadWrite => "read_write",
            Test::WriteOnly => "write_only",
            Test::Insert => "insert",
            Test::Delete => "delete",
            Test::UpdateIndex => "update_index",
            Test::UpdateNonIndex => "update_non_index",
            Test::BulkInsert => "bulk_insert",
        }
    }

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
