//! Loading: prepared inserts of many rows each, with several in flight.
//!
//! A batch is divided into inserts of 256, 16 and 1 rows, whose statements are prepared when they are
//! first needed. LOAD DATA LOCAL is not used because most servers refuse it, nor MariaDB's bulk
//! execution because MySQL does not have it.

use super::connection::{Connection, command};
use super::failure::{outside, stop};
use super::packet;
use super::prepared::{other_scales, put_parameters};
use super::reply::{End, Form};
use super::values::wire_type_of;
use crate::sql::Sql;
use crate::transaction_phase::TransactionPhase;
use syncline_contract::{ColumnId, Failure, FailureKind, Kind, Plan, Rows, Stop, TableId, Value};

/// Rows of an insert, largest first.
const SIZES: [usize; 3] = [256, 16, 1];
/// The protocol's maximum number of placeholders of a statement.
const PLACEHOLDERS_MAX: usize = 65_535;
/// The size of the commands that are sent before their answers are read, in bytes.
const IN_FLIGHT_MAX: usize = 1 << 20;

/// How the tables of a plan are loaded on one connection.
#[derive(Debug)]
pub(super) struct Loads {
    tables: Vec<Loading>,
    /// The maximum packet that the server accepts, in bytes.
    packet_max: usize,
}

#[derive(Debug)]
struct Loading {
    /// The insert up to its rows, and the placeholders of one row.
    insert: String,
    row: String,
    kinds: Vec<Kind>,
    /// The statement of each of [`SIZES`].
    statements: [Option<u32>; SIZES.len()],
}

impl Loads {
    /// For a plan; nothing is prepared yet.
    pub(super) fn new(plan: &Plan, sql: Sql<'_>, packet_max: usize) -> Loads {
        let tables = plan.tables().iter().map(|table| {
            let all: Vec<_> = (0..table.columns.len()).map(ColumnId).collect();
            let columns: Vec<_> =
                all.iter().map(|column| sql.quoted(&table.columns[column.0].name)).collect();
            Loading {
                insert: format!(
                    "INSERT INTO {} ({}) VALUES ",
                    sql.table_name(table),
                    columns.join(", ")
                ),
                row: format!("({})", vec!["?"; all.len()].join(", ")),
                kinds: table.columns.iter().map(|column| column.kind).collect(),
                statements: [None; SIZES.len()],
            }
        });
        Loads { tables: tables.collect(), packet_max }
    }

    /// Sends whole rows and reads the answers; the caller begins and ends the transaction.
    pub(super) async fn send(
        &mut self,
        connection: &mut Connection,
        table: TableId,
        batch: &Rows,
    ) -> Result<(), Stop> {
        let packet_max = self.packet_max;
        let loading = &mut self.tables[table.0];
        let (mut at, mut in_flight) = (0, 0);
        let mut failed = None;
        let mut values = Vec::new();
        while at < batch.len() && failed.is_none() {
            let size = loading.size(batch, at, packet_max);
            let rows = SIZES[size];
            // Preparing waits for its answer, so no insert may be in flight.
            if loading.statements[size].is_none() {
                failed = answers(connection, &mut in_flight).await?;
                let prepared = loading.prepare(connection, size).await?;
                loading.statements[size] = Some(prepared);
            }
            values.clear();
            values.extend((at..at + rows).flat_map(|row| batch.row(row).values()));
            if let Err(stop) = loading.queue(connection, size, &values) {
                answers(connection, &mut in_flight).await?;
                return Err(stop);
            }
            in_flight += 1;
            at += rows;
            if connection.queue().len() >= IN_FLIGHT_MAX {
                failed = failed.or(answers(connection, &mut in_flight).await?);
            }
        }
        let last = answers(connection, &mut in_flight).await?;
        failed.or(last).map_or(Ok(()), Err)
    }
}

/// Sends the queued commands and reads `in_flight` answers; returns the first refusal.
async fn answers(connection: &mut Connection, in_flight: &mut usize) -> Result<Option<Stop>, Stop> {
    connection.flush().await?;
    let mut failed = None;
    let (mut columns, mut rows) = (Vec::new(), Rows::default());
    for _ in 0..std::mem::take(in_flight) {
        let end = connection.read(Form::Binary, &mut columns, &[], &mut rows).await?;
        if let End::Error(error) = end {
            failed.get_or_insert_with(|| stop(&error, TransactionPhase::Load));
        }
    }
    Ok(failed)
}

impl Loading {
    /// Selects the size of the next insert: the largest for which there are rows and which the server
    /// accepts.
    fn size(&self, batch: &Rows, at: usize, packet_max: usize) -> usize {
        let fits = |rows: usize| {
            if at + rows > batch.len() || rows * self.kinds.len() > PLACEHOLDERS_MAX {
                return false;
            }
            let bytes: usize = (at..at + rows).map(|row| bytes(batch, row)).sum();
            bytes < packet_max / 2
        };
        let found = SIZES.iter().position(|rows| *rows == 1 || fits(*rows));
        found.unwrap_or(SIZES.len() - 1)
    }

    async fn prepare(&self, connection: &mut Connection, size: usize) -> Result<u32, Stop> {
        let text = self.insert.clone() + &vec![&*self.row; SIZES[size]].join(", ");
        connection.queue_prepare(&text);
        connection.flush().await?;
        let prepared = connection.prepared().await?;
        match prepared {
            Ok(prepared) => Ok(prepared.statement),
            Err(error) => {
                Err(outside(&error, "prepare an insert for loading", connection.whom()).into())
            }
        }
    }

    fn queue(
        &self,
        connection: &mut Connection,
        size: usize,
        values: &[Value<'_>],
    ) -> Result<(), Stop> {
        if values.chunks(self.kinds.len().max(1)).any(|row| other_scales(&self.kinds, row)) {
            return Err(refused(
                "a row to load holds a decimal whose scale differs from its column's",
            ));
        }
        let order: Vec<_> = (0..values.len()).collect();
        // Starts from the types of rows without nulls; the invalid first one makes every execution send
        // the types.
        let mut types: Vec<_> = self.kinds.iter().map(|kind| wire_type_of(*kind)).collect();
        types = types.repeat(SIZES[size]);
        if let Some(first) = types.first_mut() {
            *first = u8::MAX;
        }
        let out = connection.queue();
        let before = out.len();
        let start = packet::begin(out);
        out.push(command::EXECUTE);
        out.extend_from_slice(&self.statements[size].unwrap_or_default().to_le_bytes());
        out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if !values.is_empty() && !put_parameters(&order, &mut types, values, out) {
            out.truncate(before);
            return Err(refused("a row to load holds a time outside the years 0 to 9999"));
        }
        packet::end(out, start, 0);
        Ok(())
    }
}

/// The approximate size of a row on the wire, in bytes.
fn bytes(batch: &Rows, row: usize) -> usize {
    let of = |value: Value<'_>| match value {
        Value::Null => 1,
        Value::Int(_) | Value::Float(_) => 10,
        Value::Decimal(_) | Value::Timestamp(_) => 24,
        Value::Text(text) => text.len() + 11,
        Value::Bytes(bytes) => bytes.len() + 11,
    };
    batch.row(row).values().map(of).sum()
}

#[cold]
fn refused(what: &str) -> Stop {
    Failure::new(FailureKind::Statement, what).into()
}
