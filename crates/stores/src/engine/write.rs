//! Writes: rows inserted, changed and deleted.

use super::prepared::Update;
use super::session::Client;
use super::values::{recycled, to_engine};
use super::worker::Part;
use std::mem;
use syncline_contract::{Set, Value};
use syncline_engine as engine;
use syncline_engine::{Change, Result};
use syncline_vfs::Disk;

impl<D: Disk> Client<D> {
    /// Inserts a row; if rows are numbered, its number is inserted at its position.
    #[inline]
    pub(super) fn insert(
        &mut self,
        table: usize,
        worker: Option<&Part<D>>,
        row: &[Value<'_>],
    ) -> Result<()> {
        let place = table;
        let table = &self.tables[place];
        let mut values = recycled(mem::take(&mut self.context.values));
        values.extend(row.iter().copied().map(to_engine));
        if let Some(numbers) = &table.numbers {
            let number = match worker {
                Some(worker) => worker.number(place, numbers),
                None => numbers.allocate(),
            };
            values.insert(numbers.column, engine::Value::Int(number));
        }
        let inserted = self.session.insert(&table.handle, &values);
        self.context.values = recycled(values);
        inserted
    }

    /// Inserts a row, or replaces the one with its key.
    pub(super) fn put(&mut self, table: usize, row: &[Value<'_>]) -> Result<()> {
        let mut values = recycled(mem::take(&mut self.context.values));
        values.extend(row.iter().copied().map(to_engine));
        let put = self.session.put(&self.tables[table].handle, &values);
        self.context.values = recycled(values);
        put
    }

    /// Changes columns of the row of a key; the key precedes the new values.
    pub(super) fn update(&mut self, update: &Update, values: &[Value<'_>]) -> Result<()> {
        let (key_values, new) = values.split_at(update.key_columns);
        let mut key = recycled(mem::take(&mut self.context.values));
        key.extend(key_values.iter().copied().map(to_engine));
        let mut changes = recycled(mem::take(&mut self.context.changes));
        let pairs = update.sets.iter().zip(new.iter().copied().map(to_engine));
        changes.extend(pairs.map(|((column, set), value)| match set {
            // A number plus null is null.
            Set::Add if value.is_null() => Change::set(*column, value),
            Set::Add => Change::add(*column, value),
            Set::To => Change::set(*column, value),
        }));
        let table = &self.tables[update.table].handle;
        let updated = self.session.update(table, &key, &changes);
        self.context.values = recycled(key);
        self.context.changes = recycled(changes);
        updated
    }

    /// Changes columns of the row of a key, if it exists; its absence is part of the transaction's read
    /// set.
    pub(super) fn change(&mut self, change: &Update, values: &[Value<'_>]) -> Result<()> {
        let mut key = recycled(mem::take(&mut self.context.values));
        key.extend(values[..change.key_columns].iter().copied().map(to_engine));
        let found = self.session.get(&self.tables[change.table].handle, &key);
        let found = found.map(|row| row.is_some());
        self.context.values = recycled(key);
        if found? {
            self.update(change, values)?;
        }
        Ok(())
    }

    /// Deletes the row of a key.
    pub(super) fn delete(&mut self, table: usize, key: &[Value<'_>]) -> Result<()> {
        let mut values = recycled(mem::take(&mut self.context.values));
        values.extend(key.iter().copied().map(to_engine));
        let deleted = self.session.delete(&self.tables[table].handle, &values);
        self.context.values = recycled(values);
        deleted
    }

    /// Deletes the row of a key, if it exists; its absence is part of the transaction's read set.
    pub(super) fn remove(&mut self, table: usize, key: &[Value<'_>]) -> Result<()> {
        let mut values = recycled(mem::take(&mut self.context.values));
        values.extend(key.iter().copied().map(to_engine));
        let table = &self.tables[table].handle;
        let removed = match self.session.get(table, &values) {
            Ok(None) => Ok(()),
            Ok(Some(_)) => self.session.delete(table, &values),
            Err(error) => Err(error),
        };
        self.context.values = recycled(values);
        removed
    }
}
