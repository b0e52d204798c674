//! Derives the next schema: a column is added at the end, renamed or removed, an index is added or removed.

use crate::access::schema::builder::resolve;
use crate::access::schema::{
    Column, DefaultValue, Definition, Index, KeyColumn, KeyPart, Kind, RemovedColumn, Schema, Value,
};
use crate::error::{Error, Result};

impl Schema {
    /// The next version, with one more column at the end, which may be null. Existing rows hold `default` in
    /// it, which may be null.
    ///
    /// # Errors
    ///
    /// [`Error::Schema`]: the name is taken, or the default is of another kind.
    pub fn with_nullable(&self, name: &str, kind: Kind, default: Value<'_>) -> Result<Schema> {
        self.with(name, kind, true, default)
    }

    /// The next version, with one more column at the end, which is never null. Existing rows hold `default`
    /// in it.
    ///
    /// ```
    /// use syncline_engine::{Kind, Schema, Value};
    ///
    /// # fn main() -> syncline_engine::Result<()> {
    /// let account = Schema::table("account").column("id", Kind::Int).key(["id"]).build()?;
    /// let account = account.with_column("open", Kind::Int, Value::Int(1))?;
    /// assert_eq!((account.version(), account.columns()[1].since()), (2, 2));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Schema`]: the name is taken, or the default is null or of another kind.
    pub fn with_column(&self, name: &str, kind: Kind, default: Value<'_>) -> Result<Schema> {
        self.with(name, kind, false, default)
    }

    /// The same schema with another name for a column.
    ///
    /// # Errors
    ///
    /// [`Error::Schema`]: there is no column of that name, or the new name is taken.
    pub fn with_column_renamed(&self, name: &str, new_name: &str) -> Result<Schema> {
        let mut definition = self.definition().clone();
        let column = self.existing_column(name)?;
        new_name.clone_into(&mut definition.columns[column].name);
        Schema::checked(definition)
    }

    /// The same schema without a column. Columns after it move up by one position. Its values stay in the
    /// rows that have them until each row is written anew; a column that is added later under the same name
    /// is another one.
    ///
    /// ```
    /// use syncline_engine::{Kind, Schema};
    ///
    /// # fn main() -> syncline_engine::Result<()> {
    /// let account = Schema::table("account")
    ///     .column("id", Kind::Int)
    ///     .column("fax", Kind::Text)
    ///     .column("balance", Kind::Int)
    ///     .key(["id"])
    ///     .build()?;
    /// let account = account.without_column("fax")?;
    /// assert_eq!((account.column("fax"), account.column("balance")), (None, Some(1)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Schema`]: there is no column of that name, or the primary key or an index has it.
    pub fn without_column(&self, name: &str) -> Result<Schema> {
        let column = self.existing_column(name)?;
        let has_column = |parts: &[KeyColumn]| parts.iter().any(|part| part.column == column);
        if has_column(self.key()) {
            return Err(self.unusable(format!("column {name} is in its primary key, and stays")));
        }
        if let Some(index) = self.indexes().iter().find(|index| has_column(index.columns())) {
            let index = index.name();
            let what = format!("column {name} is in the index {index}; remove the index first");
            return Err(self.unusable(what));
        }
        let mut definition = self.definition().clone();
        let position = definition.stored().position(|(stored, _)| stored == Some(column));
        let position = position.expect("each column is stored");
        let gone = Column { name: String::new(), ..definition.columns.remove(column) };
        let after = definition.removed.partition_point(|removed| removed.position < position);
        definition.removed.insert(after, RemovedColumn { position, column: gone });
        let indexes = definition.indexes.iter_mut().flat_map(|index| index.columns.iter_mut());
        for part in definition.key.iter_mut().chain(indexes) {
            part.column -= usize::from(part.column > column);
        }
        Schema::checked(definition)
    }

    /// True if rows of this schema are rows of the other one as they are: it has more columns at the end, or
    /// one was renamed or removed, and everything else is the same.
    pub(crate) fn fits_rows_of(&self, next: &Schema) -> bool {
        let (one, other) = (self.definition(), next.definition());
        let is_grown = other.columns.starts_with(&one.columns)
            && (&one.removed, &one.key, &one.indexes)
                == (&other.removed, &other.key, &other.indexes);
        is_grown
            || one.columns.iter().enumerate().any(|(position, column)| {
                let renamed = other.columns.get(position);
                let renamed = renamed.filter(|renamed| renamed.name != column.name);
                let derived = [
                    renamed.map(|renamed| self.with_column_renamed(&column.name, &renamed.name)),
                    Some(self.without_column(&column.name)),
                ];
                derived.into_iter().flatten().any(|derived| derived.is_ok_and(|it| it == *next))
            })
    }

    /// The same schema under another name.
    ///
    /// # Errors
    ///
    /// [`Error::Schema`]: no table can have that name.
    pub(crate) fn renamed(&self, name: &str) -> Result<Schema> {
        Schema::checked(Definition { name: name.to_owned(), ..self.definition().clone() })
    }

    /// The same schema with one more index.
    ///
    /// # Errors
    ///
    /// [`Error::Schema`]: the name is taken, or a column does not exist.
    pub fn with_index<K: Into<KeyPart>>(
        &self,
        name: &str,
        columns: impl IntoIterator<Item = K>,
        unique: bool,
    ) -> Result<Schema> {
        let mut definition = self.definition().clone();
        let parts = columns.into_iter().map(Into::into);
        let columns = resolve(&format!("index {name}"), parts, &definition.columns)
            .map_err(|what| self.unusable(what))?;
        definition.indexes.push(Index { name: name.to_owned(), columns, unique });
        Schema::checked(definition)
    }

    /// The same schema without an index.
    ///
    /// # Errors
    ///
    /// [`Error::Schema`]: there is no index of that name.
    pub fn without_index(&self, name: &str) -> Result<Schema> {
        let mut definition = self.definition().clone();
        let index =
            self.index(name).ok_or_else(|| self.unusable(format!("it has no index {name}")))?;
        definition.indexes.remove(index);
        Schema::checked(definition)
    }

    fn with(&self, name: &str, kind: Kind, nullable: bool, default: Value<'_>) -> Result<Schema> {
        let mut definition: Definition = self.definition().clone();
        definition.columns.push(Column {
            name: name.to_owned(),
            kind,
            nullable,
            since: self.version() + 1,
            default: DefaultValue::of(default),
        });
        Schema::checked(definition)
    }

    fn existing_column(&self, name: &str) -> Result<usize> {
        self.column(name).ok_or_else(|| self.unusable(format!("it has no column {name}")))
    }

    fn unusable(&self, what: String) -> Error {
        let table = self.name().to_owned();
        Error::Schema { table, what }
    }
}
