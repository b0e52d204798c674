//! The builder of schemas: a chain of calls that ends in `build`.

use crate::access::schema::{Collation, Column, Definition, Index, KeyColumn, Kind, Schema};
use crate::error::{Error, Result};

/// A column of a key, by name, with its order. Made by [`asc`], [`desc`], or from a `&str`.
#[derive(Clone, Debug)]
pub struct KeyPart {
    name: String,
    descending: bool,
    nulls_first: Option<bool>,
}

/// Ascending; null, if allowed, comes first.
pub fn asc(column: impl Into<String>) -> KeyPart {
    KeyPart { name: column.into(), descending: false, nulls_first: None }
}

/// Descending; null, if allowed, comes last.
pub fn desc(column: impl Into<String>) -> KeyPart {
    KeyPart { descending: true, ..asc(column) }
}

impl KeyPart {
    /// Null before all values.
    #[must_use]
    pub fn nulls_first(self) -> KeyPart {
        let nulls_first = Some(true);
        KeyPart { nulls_first, ..self }
    }

    /// Null after all values.
    #[must_use]
    pub fn nulls_last(self) -> KeyPart {
        let nulls_first = Some(false);
        KeyPart { nulls_first, ..self }
    }

    pub(super) fn resolve(self, columns: &[Column]) -> std::result::Result<KeyColumn, String> {
        let column = columns.iter().position(|column| column.name == self.name);
        Ok(KeyColumn {
            column: column.ok_or(self.name)?,
            descending: self.descending,
            nulls_first: self.nulls_first.unwrap_or(!self.descending),
            collation: Collation::Binary,
        })
    }
}

impl From<&str> for KeyPart {
    fn from(column: &str) -> KeyPart {
        asc(column)
    }
}

/// A schema under construction; see [`Schema::table`].
#[derive(Clone, Debug)]
#[must_use = "a schema is made by `build`"]
pub struct Builder {
    name: String,
    columns: Vec<Column>,
    key: Vec<KeyPart>,
    indexes: Vec<(String, Vec<KeyPart>, bool)>,
}

impl Schema {
    /// Begins the definition of a table.
    ///
    /// ```
    /// use syncline_engine::{Kind, Schema};
    ///
    /// let account = Schema::table("account")
    ///     .column("id", Kind::Int)
    ///     .column("owner", Kind::Text)
    ///     .column("balance", Kind::Decimal { scale: 2 })
    ///     .key(["id"])
    ///     .unique("by_owner", ["owner"])
    ///     .build();
    /// assert_eq!(account.expect("a good schema").name(), "account");
    ///
    /// let broken = Schema::table("account").column("id", Kind::Int).build();
    /// assert_eq!(
    ///     broken.expect_err("it lacks a key").to_string(),
    ///     "the schema of table account cannot be used: the primary key has no column"
    /// );
    /// ```
    pub fn table(name: impl Into<String>) -> Builder {
        Builder { name: name.into(), columns: Vec::new(), key: Vec::new(), indexes: Vec::new() }
    }
}

impl Builder {
    /// Adds a column that is never null.
    pub fn column(self, name: impl Into<String>, kind: Kind) -> Builder {
        self.with_column(name.into(), kind, false)
    }

    /// Adds a column that may be null.
    pub fn nullable(self, name: impl Into<String>, kind: Kind) -> Builder {
        self.with_column(name.into(), kind, true)
    }

    /// Sets the primary key, which identifies rows and orders them.
    pub fn key<K: Into<KeyPart>>(mut self, columns: impl IntoIterator<Item = K>) -> Builder {
        self.key = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Adds an index in which rows may share values.
    pub fn index<K: Into<KeyPart>>(
        self,
        name: impl Into<String>,
        columns: impl IntoIterator<Item = K>,
    ) -> Builder {
        self.with_index(name.into(), columns, false)
    }

    /// Adds an index in which no two rows share all values; a null equals nothing.
    pub fn unique<K: Into<KeyPart>>(
        self,
        name: impl Into<String>,
        columns: impl IntoIterator<Item = K>,
    ) -> Builder {
        self.with_index(name.into(), columns, true)
    }

    /// Checks the definition and makes the schema.
    ///
    /// # Errors
    ///
    /// [`Error::Schema`]: a name is empty, too long or used twice; the key lacks columns, or one of them does
    /// not exist, is named twice or is nullable; more columns or indexes than the caps allow.
    pub fn build(self) -> Result<Schema> {
        let table = self.name.clone();
        self.resolve().map_err(|what| Error::Schema { table, what }).and_then(Schema::checked)
    }

    fn with_column(mut self, name: String, kind: Kind, nullable: bool) -> Builder {
        self.columns.push(Column { name, kind, nullable, since: 1, default: None });
        self
    }

    fn with_index<K: Into<KeyPart>>(
        mut self,
        name: String,
        columns: impl IntoIterator<Item = K>,
        unique: bool,
    ) -> Builder {
        let columns = columns.into_iter().map(Into::into).collect();
        self.indexes.push((name, columns, unique));
        self
    }

    fn resolve(self) -> std::result::Result<Definition, String> {
        let columns = self.columns;
        let key = resolve("the primary key", self.key, &columns)?;
        let mut indexes = Vec::new();
        for (name, parts, unique) in self.indexes {
            indexes.push(Index {
                columns: resolve(&format!("index {name}"), parts, &columns)?,
                name,
                unique,
            });
        }
        Ok(Definition { name: self.name, columns, removed: Vec::new(), key, indexes })
    }
}

pub(super) fn resolve(
    of: &str,
    parts: impl IntoIterator<Item = KeyPart>,
    columns: &[Column],
) -> std::result::Result<Vec<KeyColumn>, String> {
    let resolved = parts.into_iter().map(|part| part.resolve(columns));
    resolved
        .map(|part| part.map_err(|name| format!("{of} names column {name}, which does not exist")))
        .collect()
}
