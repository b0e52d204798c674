//! Derives the next schema: with one more column at the end, one more index, or one less.

use crate::access::schema::builder::resolve;
use crate::access::schema::{
    Column, DefaultValue, Definition, Index, KeyPart, Kind, Schema, Value,
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

    fn unusable(&self, what: String) -> Error {
        let table = self.name().to_owned();
        Error::Schema { table, what }
    }
}
