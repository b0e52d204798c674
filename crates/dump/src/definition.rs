//! The definition of a table in JSON.

use serde::{Deserialize, Serialize};
use syncline_engine::{KeyPart, Kind, Schema, asc, desc};

/// The line that begins a table.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableLine {
    pub(crate) table: String,
    columns: Vec<ColumnLine>,
    key: Vec<KeyLine>,
    indexes: Vec<IndexLine>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct ColumnLine {
    name: String,
    kind: String,
    nullable: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct KeyLine {
    column: String,
    #[serde(default, skip_serializing_if = "is_false")]
    descending: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nulls_first: Option<bool>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct IndexLine {
    name: String,
    unique: bool,
    columns: Vec<KeyLine>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl TableLine {
    /// The line of a table. Fails for a kind of column that this version does not know.
    pub(crate) fn of(schema: &Schema) -> Result<TableLine, String> {
        let columns = schema.columns().iter().map(|column| {
            Ok(ColumnLine {
                name: column.name().to_owned(),
                kind: word(column.kind())?,
                nullable: column.is_nullable(),
            })
        });
        let indexes = schema.indexes().iter().map(|index| IndexLine {
            name: index.name().to_owned(),
            unique: index.is_unique(),
            columns: keys(schema, index.columns()),
        });
        Ok(TableLine {
            table: schema.name().to_owned(),
            columns: columns.collect::<Result<_, String>>()?,
            key: keys(schema, schema.key()),
            indexes: indexes.collect(),
        })
    }

    /// The table's schema; the error says what is wrong with the line.
    pub(crate) fn schema(self) -> Result<Schema, String> {
        let mut schema = Schema::table(self.table);
        for column in self.columns {
            let kind = kind(&column.kind).ok_or_else(|| {
                format!("{:?} is no kind of a column that this version knows", column.kind)
            })?;
            schema = if column.nullable {
                schema.nullable(column.name, kind)
            } else {
                schema.column(column.name, kind)
            };
        }
        schema = schema.key(self.key.into_iter().map(KeyLine::part));
        for index in self.indexes {
            let columns = index.columns.into_iter().map(KeyLine::part);
            schema = if index.unique {
                schema.unique(index.name, columns)
            } else {
                schema.index(index.name, columns)
            };
        }
        schema.build().map_err(|error| error.to_string())
    }
}

impl KeyLine {
    fn part(self) -> KeyPart {
        let part = if self.descending { desc(self.column) } else { asc(self.column) };
        match self.nulls_first {
            Some(true) => part.nulls_first(),
            Some(false) => part.nulls_last(),
            None => part,
        }
    }
}

fn keys(schema: &Schema, columns: &[syncline_engine::KeyColumn]) -> Vec<KeyLine> {
    let line = |key: &syncline_engine::KeyColumn| KeyLine {
        column: schema.columns()[key.column].name().to_owned(),
        descending: key.descending,
        // Null comes first in ascending and last in descending order unless the line says otherwise.
        nulls_first: (key.nulls_first == key.descending).then_some(key.nulls_first),
    };
    columns.iter().map(line).collect()
}

fn word(kind: Kind) -> Result<String, String> {
    Ok(match kind {
        Kind::Int => "int".to_owned(),
        Kind::Float => "float".to_owned(),
        Kind::Decimal { scale } => format!("decimal({scale})"),
        Kind::Text => "text".to_owned(),
        Kind::Bytes => "bytes".to_owned(),
        Kind::Timestamp => "timestamp".to_owned(),
        Kind::Bool => "bool".to_owned(),
        Kind::Unsigned => "unsigned".to_owned(),
        Kind::Date => "date".to_owned(),
        Kind::Uuid => "uuid".to_owned(),
        other => return Err(format!("a dump cannot hold {other}")),
    })
}

fn kind(word: &str) -> Option<Kind> {
    Some(match word {
        "int" => Kind::Int,
        "float" => Kind::Float,
        "text" => Kind::Text,
        "bytes" => Kind::Bytes,
        "timestamp" => Kind::Timestamp,
        "bool" => Kind::Bool,
        "unsigned" => Kind::Unsigned,
        "date" => Kind::Date,
        "uuid" => Kind::Uuid,
        _ => {
            let scale = word.strip_prefix("decimal(")?.strip_suffix(')')?;
            Kind::Decimal { scale: scale.parse().ok()? }
        }
    })
}
