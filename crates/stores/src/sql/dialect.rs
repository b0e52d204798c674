//! Where products differ, as data.

use syncline_contract::{Column, Kind};

/// How a parameter is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// A mark and the parameter's number, from 1: `?1`, `$1`.
    Numbered(&'static str),
    /// A question mark; parameters are given in the order of the text.
    Positional,
}

/// How a row is written whether or not one of its key is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upsert {
    /// `INSERT ... ON CONFLICT (key) DO UPDATE SET column = excluded.column`. Unlike a replacement it
    /// deletes no row that shares another unique key.
    OnConflict,
    /// `INSERT ... ON DUPLICATE KEY UPDATE column = VALUES(column)`.
    OnDuplicateKey,
}

/// The types of columns, without constraints.
#[derive(Clone, Copy, Debug)]
pub struct ColumnTypes {
    /// Of integers.
    pub int: &'static str,
    /// Of decimals, with `{}` for the digits after the point.
    pub decimal: &'static str,
    /// Of timestamps.
    pub timestamp: &'static str,
    /// Of floating-point numbers.
    pub float: &'static str,
    /// Of text.
    pub text: VaryingType,
    /// Of bytes.
    pub bytes: VaryingType,
}

/// The types of columns whose values differ in length.
#[derive(Clone, Copy, Debug)]
pub struct VaryingType {
    /// Of a column with a longest value, with `{}` for its bytes, and how many these may be.
    pub bounded: (&'static str, u32),
    /// Of any other column.
    pub unbounded: &'static str,
}

impl ColumnTypes {
    /// The type of a column.
    pub fn of(&self, column: &Column) -> String {
        let filled = |form: &str, number: u32| form.replace("{}", &number.to_string());
        let varying = |types: &VaryingType| match column.bytes_max {
            Some(bytes) if bytes <= types.bounded.1 => filled(types.bounded.0, bytes),
            _ => types.unbounded.to_owned(),
        };
        match column.kind {
            Kind::Int => self.int.to_owned(),
            Kind::Decimal { scale } => filled(self.decimal, scale.into()),
            Kind::Timestamp => self.timestamp.to_owned(),
            Kind::Float => self.float.to_owned(),
            Kind::Text => varying(&self.text),
            Kind::Bytes => varying(&self.bytes),
        }
    }
}

/// What one product's SQL looks like.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// Its name, as [`Capabilities::statements`](syncline_contract::Capabilities::statements) says it.
    pub name: &'static str,
    /// What stands on both sides of a name.
    pub quote: char,
    /// How a parameter is written.
    pub placeholder: Placeholder,
    /// The types of columns.
    pub column_types: ColumnTypes,
    /// What follows the name of a column that is a key counted up by the server; the key is then named
    /// again as one, unless [`Dialect::integer_key`] says it all.
    pub counted_key: &'static str,
    /// What follows the name of a column that is the whole key and an integer, where the product keeps
    /// such rows best by a word of its own; none where a key is a key.
    pub integer_key: Option<&'static str>,
    /// What locks the rows of a read until the transaction ends, at the end of the statement; empty
    /// where every writer is alone.
    pub row_lock: &'static str,
    /// What stands before and after the number of rows that are wanted at most.
    pub limit: (&'static str, &'static str),
    /// What follows the table in an insert of a row of which nothing is given.
    pub insert_nothing: &'static str,
    /// How a row is put.
    pub upsert: Upsert,
    /// What stands around the sum of a column of integers, so that it answers an integer.
    pub integer_sum: (&'static str, &'static str),
    /// A condition that always holds.
    pub always: &'static str,
    /// True if a user's `END` commits; where it does not, `COMMIT` is said for it.
    pub end_commits: bool,
}

/// SQLite. Decimals and timestamps are integers. A key of one integer column is the row's own number.
pub const SQLITE: Dialect = Dialect {
    name: "sqlite",
    quote: '"',
    placeholder: Placeholder::Numbered("?"),
    column_types: ColumnTypes {
        int: "INTEGER",
        decimal: "INTEGER",
        timestamp: "INTEGER",
        float: "REAL",
        text: VaryingType { bounded: ("VARCHAR({})", u32::MAX), unbounded: "TEXT" },
        bytes: VaryingType { bounded: ("BLOB", u32::MAX), unbounded: "BLOB" },
    },
    counted_key: "INTEGER",
    integer_key: Some("INTEGER PRIMARY KEY"),
    row_lock: "",
    limit: (" LIMIT ", ""),
    insert_nothing: "DEFAULT VALUES",
    upsert: Upsert::OnConflict,
    integer_sum: ("sum(", ")"),
    always: "1",
    end_commits: true,
};

/// PostgreSQL, and who speaks as it does.
pub const POSTGRES: Dialect = Dialect {
    name: "postgres",
    quote: '"',
    placeholder: Placeholder::Numbered("$"),
    column_types: ColumnTypes {
        int: "bigint",
        decimal: "numeric(19, {})",
        timestamp: "timestamp",
        float: "double precision",
        // Characters, of which there are at most as many as bytes.
        text: VaryingType { bounded: ("varchar({})", u32::MAX), unbounded: "text" },
        bytes: VaryingType { bounded: ("bytea", u32::MAX), unbounded: "bytea" },
    },
    counted_key: "bigint GENERATED BY DEFAULT AS IDENTITY",
    integer_key: None,
    row_lock: " FOR UPDATE",
    limit: (" LIMIT ", ""),
    insert_nothing: "DEFAULT VALUES",
    upsert: Upsert::OnConflict,
    // A sum of bigint is numeric there.
    integer_sum: ("sum(", ")::bigint"),
    always: "true",
    end_commits: true,
};

/// The longest VARCHAR and VARBINARY of which a few still fit into the 65,535 bytes of a row.
const MYSQL_INLINE_MAX: u32 = 4_096;

/// MariaDB and MySQL.
pub const MYSQL: Dialect = Dialect {
    name: "mysql",
    quote: '`',
    placeholder: Placeholder::Positional,
    column_types: ColumnTypes {
        int: "BIGINT",
        decimal: "DECIMAL(19, {})",
        timestamp: "DATETIME(6)",
        float: "DOUBLE",
        text: VaryingType { bounded: ("VARCHAR({})", MYSQL_INLINE_MAX), unbounded: "LONGTEXT" },
        bytes: VaryingType { bounded: ("VARBINARY({})", MYSQL_INLINE_MAX), unbounded: "LONGBLOB" },
    },
    counted_key: "BIGINT NOT NULL AUTO_INCREMENT",
    integer_key: None,
    row_lock: " FOR UPDATE",
    limit: (" LIMIT ", ""),
    insert_nothing: "() VALUES ()",
    upsert: Upsert::OnDuplicateKey,
    // A sum of BIGINT is DECIMAL there.
    integer_sum: ("CAST(sum(", ") AS SIGNED)"),
    always: "TRUE",
    end_commits: false,
};
