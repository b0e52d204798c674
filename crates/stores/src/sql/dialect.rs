//! The differences between products, as data.

use syncline_contract::{Column, Kind};

/// How a parameter is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// A mark and the parameter's number, from 1: `?1`, `$1`.
    Numbered(&'static str),
    /// A question mark; parameters are passed in the order of the text.
    Positional,
}

/// How to write a row regardless of whether its key exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upsert {
    /// `INSERT ... ON CONFLICT (key) DO UPDATE SET column = excluded.column`. Unlike a replacement, it
    /// deletes no row that has the same value in another unique key.
    OnConflict,
    /// `INSERT ... ON DUPLICATE KEY UPDATE column = VALUES(column)`.
    OnDuplicateKey,
}

/// The types of columns, without constraints.
#[derive(Clone, Copy, Debug)]
pub struct ColumnTypes {
    /// Of integers.
    pub int: &'static str,
    /// Of decimals, with `{}` for the number of decimal places.
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

/// The types of columns whose values vary in length.
#[derive(Clone, Copy, Debug)]
pub struct VaryingType {
    /// The type of a column with a maximum length, with `{}` for it in bytes, and the largest supported
    /// maximum.
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

/// The SQL of one product.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// Its name, as in [`Capabilities::statements`](syncline_contract::Capabilities::statements).
    pub name: &'static str,
    /// The quotation mark around a name.
    pub quote: char,
    /// How a parameter is written.
    pub placeholder: Placeholder,
    /// The types of columns.
    pub column_types: ColumnTypes,
    /// The type and constraints of a key column that the server generates; the key is then declared
    /// separately, unless [`Dialect::integer_key`] covers it.
    pub generated_key: &'static str,
    /// The type and constraints of a column that is the whole key and an integer, if the product stores
    /// such rows best with its own syntax; `None` if not.
    pub integer_key: Option<&'static str>,
    /// The clause that locks the rows of a read until the transaction ends, at the end of the
    /// statement; empty if writers are exclusive.
    pub row_lock: &'static str,
    /// The text before and after the maximum number of rows.
    pub limit: (&'static str, &'static str),
    /// The text after the table in an insert of a row without values.
    pub insert_nothing: &'static str,
    /// How a row is put.
    pub upsert: Upsert,
    /// The text around the sum of a column of integers that makes it return an integer.
    pub integer_sum: (&'static str, &'static str),
    /// A condition that is always true.
    pub always: &'static str,
    /// True if a user's `END` commits; if not, `COMMIT` is sent instead.
    pub end_commits: bool,
}

/// SQLite. Decimals and timestamps are integers. A key of one integer column is the rowid.
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
    generated_key: "INTEGER",
    integer_key: Some("INTEGER PRIMARY KEY"),
    row_lock: "",
    limit: (" LIMIT ", ""),
    insert_nothing: "DEFAULT VALUES",
    upsert: Upsert::OnConflict,
    integer_sum: ("sum(", ")"),
    always: "1",
    end_commits: true,
};

/// PostgreSQL, and products that speak its protocol.
pub const POSTGRES: Dialect = Dialect {
    name: "postgres",
    quote: '"',
    placeholder: Placeholder::Numbered("$"),
    column_types: ColumnTypes {
        int: "bigint",
        decimal: "numeric(19, {})",
        timestamp: "timestamp",
        float: "double precision",
        // The limit is in characters, of which there are at most as many as bytes.
        text: VaryingType { bounded: ("varchar({})", u32::MAX), unbounded: "text" },
        bytes: VaryingType { bounded: ("bytea", u32::MAX), unbounded: "bytea" },
    },
    generated_key: "bigint GENERATED BY DEFAULT AS IDENTITY",
    integer_key: None,
    row_lock: " FOR UPDATE",
    limit: (" LIMIT ", ""),
    insert_nothing: "DEFAULT VALUES",
    upsert: Upsert::OnConflict,
    // PostgreSQL's sum of bigint is numeric.
    integer_sum: ("sum(", ")::bigint"),
    always: "true",
    end_commits: true,
};

/// The longest VARCHAR and VARBINARY of which a few fit into the maximum row of 65,535 bytes.
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
    generated_key: "BIGINT NOT NULL AUTO_INCREMENT",
    integer_key: None,
    row_lock: " FOR UPDATE",
    limit: (" LIMIT ", ""),
    insert_nothing: "() VALUES ()",
    upsert: Upsert::OnDuplicateKey,
    // MySQL's sum of BIGINT is DECIMAL.
    integer_sum: ("CAST(sum(", ") AS SIGNED)"),
    always: "TRUE",
    end_commits: false,
};
