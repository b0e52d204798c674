//! The supported types of columns, by the number that the protocol gives them.

use syncline_contract::Kind;

/// The number of a type.
pub(super) type Oid = u32;

pub(super) const BYTEA: Oid = 17;
pub(super) const INT8: Oid = 20;
pub(super) const INT2: Oid = 21;
pub(super) const INT4: Oid = 23;
pub(super) const TEXT: Oid = 25;
pub(super) const FLOAT4: Oid = 700;
pub(super) const FLOAT8: Oid = 701;
pub(super) const CHAR: Oid = 1042;
pub(super) const VARCHAR: Oid = 1043;
pub(super) const TIMESTAMP: Oid = 1114;
pub(super) const NUMERIC: Oid = 1700;
/// Chosen by the server.
pub(super) const ANY: Oid = 0;

/// The type of a parameter of that kind. A text's is left to the server, so that it takes the type of
/// the column that it is compared with.
pub(super) fn of_parameter(kind: Kind) -> Oid {
    match kind {
        Kind::Int => INT8,
        Kind::Float => FLOAT8,
        Kind::Decimal { .. } => NUMERIC,
        Kind::Text => ANY,
        Kind::Bytes => BYTEA,
        Kind::Timestamp => TIMESTAMP,
    }
}

/// True if a column of that type can be read as that kind.
pub(super) fn fits(oid: Oid, kind: Kind) -> bool {
    match kind {
        Kind::Int => matches!(oid, INT8 | INT4 | INT2),
        Kind::Float => oid == FLOAT8,
        Kind::Decimal { .. } => oid == NUMERIC,
        Kind::Text => matches!(oid, TEXT | VARCHAR | CHAR),
        Kind::Bytes => oid == BYTEA,
        Kind::Timestamp => oid == TIMESTAMP,
    }
}
