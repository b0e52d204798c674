//! The bulk path: COPY in binary, one message and one round trip per batch.
//!
//! If the server generates a table's keys, its sequence is advanced past the loaded keys; loaders of
//! the same table serialize that step.

use super::protocol::tag;
use super::session::PostgresSession;
use super::values::binary;
use crate::server::SchemaName;
use crate::sql::{POSTGRES, Sql};
use bytes::{BufMut, BytesMut};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;
use syncline_contract::{
    ColumnId, Failure, FailureKind, KeyGivenBy, Kind, Plan, Rows, Stop, Table, TableId, Value,
};

/// The header of a binary COPY: its signature, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// The trailer.
const TRAILER: i16 = -1;

/// How a table is loaded.
#[derive(Debug)]
pub(super) struct Loading {
    copy: String,
    columns: Vec<Kind>,
    /// The generated key column, and the statement that advances its sequence; `$` is
    /// replaced by the highest key.
    generated_key: Option<(ColumnId, String)>,
}

impl Loading {
    /// One for each table of a plan.
    pub(super) fn of(plan: &Plan, schema: &SchemaName) -> Vec<Loading> {
        let sql = Sql { dialect: &POSTGRES, schema: Some(schema.as_str()) };
        let tables = plan.tables().iter();
        tables.map(|table| Loading::table(table, sql)).collect()
    }

    fn table(table: &Table, sql: Sql<'_>) -> Loading {
        let name = sql.table_name(table);
        let columns: Vec<_> = table.columns.iter().map(|column| sql.quoted(&column.name)).collect();
        let generated_key = (table.key_given_by == KeyGivenBy::Server).then(|| {
            let key = table.key[0];
            let sequence = format!(
                "pg_catalog.pg_get_serial_sequence('{name}', '{}')",
                table.columns[key.0].name
            );
            let advance = format!(
                "BEGIN; SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('{name}')); SELECT \
                 pg_catalog.setval({sequence}, GREATEST($, (SELECT pg_catalog.max({}) FROM {name}))); COMMIT",
                sql.quoted(&table.columns[key.0].name)
            );
            (key, advance)
        });
        Loading {
            copy: format!("COPY {name} ({}) FROM STDIN (FORMAT binary)", columns.join(", ")),
            columns: table.columns.iter().map(|column| column.kind).collect(),
            generated_key,
        }
    }

    /// Writes a batch; returns the reason if a value cannot be written.
    fn write(&self, batch: &Rows, out: &mut BytesMut) -> Result<(), String> {
        let message = |error: std::io::Error| error.to_string();
        frontend::query(&self.copy, out).map_err(message)?;
        let mut data = BytesMut::with_capacity(64 * 1024);
        data.put_slice(HEADER);
        for row in batch.iter() {
            data.put_i16(self.columns.len() as i16);
            for (value, kind) in row.values().zip(&self.columns) {
                cell(value, *kind, &mut data)?;
            }
        }
        data.put_i16(TRAILER);
        frontend::CopyData::new(data.freeze()).map_err(message)?.write(out);
        frontend::copy_done(out);
        Ok(())
    }

    /// The statement that advances the sequence, if the server generates the keys.
    fn advance(&self, batch: &Rows) -> Option<String> {
        let (key, advance) = self.generated_key.as_ref()?;
        let keys = batch.iter().filter_map(|row| match row.value(key.0) {
            Value::Int(key) => Some(key),
            _ => None,
        });
        Some(advance.replacen('$', &keys.max()?.to_string(), 1))
    }
}

fn cell(value: Value<'_>, kind: Kind, data: &mut BytesMut) -> Result<(), String> {
    if let (Value::Decimal(decimal), Kind::Decimal { scale }) = (value, kind)
        && decimal.scale != scale
    {
        return Err(
            "a row to load holds a decimal whose scale differs from its column's".to_owned()
        );
    }
    let at = data.len();
    data.put_i32(-1);
    if let IsNull::No = binary(value, data).map_err(|error| error.to_string())? {
        let length = (data.len() - at - size_of::<i32>()) as i32;
        data[at..at + size_of::<i32>()].copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

impl PostgresSession {
    /// Loads a batch of whole rows, which is committed when this returns.
    pub(super) async fn copy(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        let loading = &self.loads[table.0];
        let out = &mut self.connection.out;
        let before = out.len();
        if let Err(why) = loading.write(batch, out) {
            out.truncate(before);
            return Err(Failure::new(FailureKind::Statement, why).into());
        }
        let advance = loading.advance(batch);
        self.connection.flush().await?;
        self.read_load_answer().await?;
        if let Some(advance) = advance {
            let written = frontend::query(&advance, &mut self.connection.out);
            written.map_err(|error| Failure::new(FailureKind::Statement, error.to_string()))?;
            self.connection.flush().await?;
            self.read_load_answer().await?;
        }
        Ok(())
    }

    /// Reads the answer to a simple statement.
    async fn read_load_answer(&mut self) -> Result<(), Stop> {
        let mut failed = Ok(());
        loop {
            match self.connection.next().await? {
                tag::COPY_IN | tag::COMMAND_COMPLETE | tag::ROWS | tag::DATA_ROW => {}
                tag::ERROR => {
                    let error = self.connection.error();
                    failed = Err(error.stop(None, "load rows", false));
                    if self.connection.broken {
                        return failed;
                    }
                }
                tag::READY => {
                    self.connection.note_status()?;
                    return failed;
                }
                _ => return Err(self.connection.garbled("the answer to a load").into()),
            }
        }
    }
}
