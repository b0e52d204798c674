//! The bulk path: JDBC batches, committed when the load returns.

use super::connection::Connection;
use super::failure::{outside, stop};
use super::jvm::Thrown;
use super::prepared::{Prepared, other_scale};
use super::product::Product;
use crate::sql::Sql;
use crate::transaction_phase::TransactionPhase;
use syncline_contract::{
    Failure, FailureKind, KeyGivenBy, Kind, Plan, Rows, Stop, Table, TableId, TargetResult, Value,
};

/// How many rows one batch of a driver has.
const BATCH_ROWS: usize = 1_000;

/// How the tables of a plan are loaded.
#[derive(Debug)]
pub(super) struct Loads {
    product: &'static Product,
    tables: Vec<Loading>,
}

#[derive(Debug)]
struct Loading {
    insert: Prepared,
    kinds: Vec<Kind>,
    /// The generated key column that must continue after the loaded keys, and the statement that sets
    /// it.
    restart: Option<(usize, String)>,
}

impl Loads {
    /// Prepares the loading of every table of a plan.
    pub(super) fn prepare(
        connection: &mut Connection,
        product: &'static Product,
        plan: &Plan,
    ) -> TargetResult<Loads> {
        let sql = Sql { dialect: &product.dialect, schema: None };
        let mut tables = Vec::new();
        for table in plan.tables() {
            let kinds: Vec<_> = table.columns.iter().map(|column| column.kind).collect();
            let insert = Prepared::new(connection, &sql.load(table), &kinds);
            let doing = || format!("prepare the loading of table {}", table.name);
            tables.push(Loading {
                insert: insert.map_err(|thrown| outside(&thrown, &doing(), product))?,
                kinds,
                restart: restart(sql, product, table),
            });
        }
        Ok(Loads { product, tables })
    }

    /// Loads whole rows in one transaction of their own.
    pub(super) fn load(
        &mut self,
        connection: &mut Connection,
        table: TableId,
        batch: &Rows,
    ) -> Result<(), Stop> {
        let loading = &mut self.tables[table.0];
        let misfit = |row: syncline_contract::Row<'_>| other_scale(&loading.kinds, row.values());
        if batch.iter().any(misfit) {
            let what = "a row to load holds a decimal whose scale differs from its column's";
            return Err(Failure::new(FailureKind::Statement, what).into());
        }
        let loaded = loading.load(connection, batch);
        loaded.map_err(|thrown| stop(&thrown, TransactionPhase::Load, self.product))
    }
}

impl Loading {
    fn load(&mut self, connection: &mut Connection, batch: &Rows) -> Result<(), Thrown> {
        connection.set_autocommit(false)?;
        for (count, row) in (1..).zip(batch.iter()) {
            self.insert.bind(connection, |column| row.value(column))?;
            self.insert.batch(connection)?;
            if count % BATCH_ROWS == 0 || count == batch.len() {
                self.insert.run_batch(connection)?;
            }
        }
        if let Some((column, statement)) = &self.restart {
            let numbers = batch.iter().map(|row| match row.value(*column) {
                Value::Int(number) => number,
                _ => 0,
            });
            if let Some(most) = numbers.max() {
                let next = most.saturating_add(1);
                connection.execute(&format!("{statement}{next}"))?;
            }
        }
        connection.commit()
    }
}

fn restart(sql: Sql<'_>, product: &Product, table: &Table) -> Option<(usize, String)> {
    let counted = product.restarts_keys && table.key_given_by == KeyGivenBy::Server;
    let key = table.key.first().filter(|_| counted)?;
    let name = sql.quoted(&table.columns[key.0].name);
    let of = sql.table_name(table);
    let statement = format!("ALTER TABLE {of} ALTER COLUMN {name} RESTART WITH ");
    Some((key.0, statement))
}
