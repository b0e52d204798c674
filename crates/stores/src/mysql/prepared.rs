//! The plan's operations on one connection: prepared once, executed by statement id.
//!
//! Invariants:
//! 1. Types of parameters are sent with the first execution, and again whenever a value's type differs
//!    from the one that the server remembers; otherwise they are omitted.
//! 2. A command is encoded completely or not at all: a refused one appends no bytes.

use super::connection::{Connection, command, put_query};
use super::failure::outside;
use super::packet;
use super::reply::PreparedAnswer;
use super::values::{self, Column};
use crate::sql::{Sql, Statement};
use syncline_contract::{
    Action, Failure, FailureKind, Kind, Operation, OperationId, Plan, Stop, TargetResult, Value,
};

/// "This command is not supported in the prepared statement protocol yet".
const NOT_PREPARABLE: u16 = 1295;
/// A table, a column or a database that does not exist yet: a script may create it itself.
const ABSENT: [u16; 3] = [1146, 1054, 1049];
/// The offset of the statement id in an execution's packet.
const NUMBER_AT: usize = packet::HEADER + 1;
/// Marks a type that the server does not know yet; not a type of the protocol.
const UNTYPED: u8 = 0xFF;

/// How an operation is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendMode {
    /// By the id of its prepared statement.
    Prepared(u32),
    /// As text, since the server does not prepare such statements; it has no parameters.
    Text,
    /// Prepared when it is first sent.
    Late,
}

/// One operation.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) operation: Operation,
    pub(super) send_mode: SendMode,
    statement: Statement,
    /// The kinds of its parameters, in the plan's order.
    kinds: Vec<Kind>,
    /// The type of each placeholder that the server remembers.
    types: Vec<u8>,
    /// The kinds of its answer; empty for a write and for a user's statement.
    pub(super) answer: Vec<Kind>,
    /// The columns of its answer, as last described.
    pub(super) columns: Vec<Column>,
    pub(super) names: Vec<String>,
    /// True if it returns rows.
    pub(super) answers: bool,
    /// True if it changes one row by key, which must exist.
    pub(super) changes_one: bool,
}

/// Prepares every operation of a plan, in one round trip.
pub(super) async fn prepare(
    connection: &mut Connection,
    plan: &Plan,
    sql: Sql<'_>,
) -> TargetResult<Vec<Prepared>> {
    let mut all: Vec<_> =
        plan.operations().iter().map(|operation| Prepared::new(plan, operation, sql)).collect();
    for prepared in &all {
        connection.queue_prepare(&prepared.statement.text);
    }
    if !all.is_empty() {
        connection.flush().await?;
    }
    // Every answer is read before the first refusal is returned, so that none remains unread.
    let mut refused = None;
    for prepared in &mut all {
        match connection.prepared().await? {
            Ok(answer) => prepared.set_prepared(answer),
            Err(error) => {
                let users = matches!(prepared.operation.action, Action::Statement { .. });
                let plain = prepared.statement.order.is_empty();
                if users && plain && error.code == NOT_PREPARABLE {
                    prepared.send_mode = SendMode::Text;
                } else if !(users && ABSENT.contains(&error.code)) {
                    let doing = format!("prepare operation \"{}\"", prepared.operation.name);
                    refused.get_or_insert_with(|| outside(&error, &doing, connection.whom()));
                }
            }
        }
    }
    refused.map_or(Ok(all), Err)
}

impl Prepared {
    fn new(plan: &Plan, operation: &Operation, sql: Sql<'_>) -> Prepared {
        let action = &operation.action;
        let kinds =
            |columns: Vec<(Kind, bool)>| columns.into_iter().map(|(kind, _)| kind).collect();
        let statement = sql.statement(plan, action);
        Prepared {
            operation: operation.clone(),
            send_mode: SendMode::Late,
            types: vec![UNTYPED; statement.order.len()],
            statement,
            // A user's statement accepts values of any kind.
            kinds: match action {
                Action::Statement { .. } => Vec::new(),
                _ => kinds(plan.parameters(action)),
            },
            answer: kinds(plan.answer(action)),
            columns: Vec::new(),
            names: Vec::new(),
            answers: !action.writes(),
            changes_one: matches!(action, Action::Update { .. } | Action::Delete { .. }),
        }
    }

    fn set_prepared(&mut self, answer: PreparedAnswer) {
        self.send_mode = SendMode::Prepared(answer.statement);
        self.columns = answer.columns;
        self.names = answer.names;
    }

    /// Prepares it now; no other command may be in flight.
    #[cold]
    pub(super) async fn prepare_late(
        &mut self,
        connection: &mut Connection,
    ) -> TargetResult<Result<(), Box<super::reply::ServerError>>> {
        connection.queue_prepare(&self.statement.text);
        connection.flush().await?;
        Ok(connection.prepared().await?.map(|answer| self.set_prepared(answer)))
    }

    /// Writes its statement id into a command that was encoded before it had one.
    pub(super) fn write_statement_id(&self, encoded: &mut [u8]) {
        if let SendMode::Prepared(number) = self.send_mode
            && encoded.get(packet::HEADER) == Some(&command::EXECUTE)
        {
            encoded[NUMBER_AT..NUMBER_AT + 4].copy_from_slice(&number.to_le_bytes());
        }
    }

    /// Resets the remembered types: the server may have dropped them, as after an error.
    pub(super) fn forget_types(&mut self) {
        self.types.fill(UNTYPED);
    }

    /// Appends its execution.
    #[inline]
    pub(super) fn encode(
        &mut self,
        id: OperationId,
        given: &[Value<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let number = match self.send_mode {
            SendMode::Prepared(number) => number,
            SendMode::Late => 0,
            SendMode::Text => {
                put_query(out, &self.statement.text);
                return Ok(());
            }
        };
        if other_scales(&self.kinds, given) {
            return Err(self.refused(id, "received a decimal whose scale differs from the plan's"));
        }
        let before = out.len();
        let start = packet::begin(out);
        out.push(command::EXECUTE);
        out.extend_from_slice(&number.to_le_bytes());
        // No cursor; one iteration.
        out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if !self.statement.order.is_empty()
            && !put_parameters(&self.statement.order, &mut self.types, given, out)
        {
            out.truncate(before);
            self.forget_types();
            return Err(self.refused(id, "received a time outside the years 0 to 9999"));
        }
        packet::end(out, start, 0);
        Ok(())
    }

    /// A failure for a value or an answer that the plan does not allow.
    #[cold]
    pub(super) fn refused(&self, id: OperationId, what: &str) -> Stop {
        let what = format!("operation \"{}\" {what}", self.operation.name);
        Failure::new(FailureKind::Statement, what).in_operation(id).into()
    }
}

/// Appends the given values as parameters in that order, after the bitmap of nulls and, unless they are
/// remembered, their types. `false` if one cannot be sent.
#[inline]
pub(super) fn put_parameters(
    order: &[usize],
    types: &mut [u8],
    given: &[Value<'_>],
    out: &mut Vec<u8>,
) -> bool {
    let nulls = out.len();
    out.resize(nulls + order.len().div_ceil(8), 0);
    let mut remembered = true;
    for (place, from) in order.iter().enumerate() {
        let value = &given[*from];
        if matches!(value, Value::Null) {
            out[nulls + place / 8] |= 1 << (place % 8);
            // Any type is valid, but one must be sent.
            remembered &= types[place] != UNTYPED;
            if types[place] == UNTYPED {
                types[place] = values::wire::NULL;
            }
        } else {
            let wire = values::wire_type(value);
            remembered &= types[place] == wire;
            types[place] = wire;
        }
    }
    out.push(u8::from(!remembered));
    if !remembered {
        for wire in types {
            out.extend_from_slice(&[*wire, 0]);
        }
    }
    order.iter().all(|from| values::put(out, &given[*from]))
}

/// True if a decimal's scale differs from its column's.
#[inline]
pub(super) fn other_scales(kinds: &[Kind], given: &[Value<'_>]) -> bool {
    let mut pairs = given.iter().zip(kinds);
    pairs.any(|(value, kind)| match (value, kind) {
        (Value::Decimal(decimal), Kind::Decimal { scale }) => decimal.scale != *scale,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::{UNTYPED, other_scales, put_parameters};
    use crate::mysql::values::wire;
    use syncline_contract::{Decimal, Kind, Value};

    #[test]
    fn types_are_sent_once_and_again_when_they_change() {
        let mut types = vec![UNTYPED; 2];
        let mut sent = |given: &[Value<'_>]| {
            let mut out = Vec::new();
            assert!(put_parameters(&[1, 0], &mut types, given, &mut out));
            out
        };
        let first = sent(&[Value::Text("ab"), Value::Int(7)]);
        let numbers = [7, 0, 0, 0, 0, 0, 0, 0, 2, b'a', b'b'];
        assert_eq!(first[..2], [0, 1], "no null, and types included");
        assert_eq!(first[2..6], [wire::LONGLONG, 0, wire::VAR_STRING, 0]);
        assert_eq!(first[6..], numbers);
        let second = sent(&[Value::Text("ab"), Value::Int(7)]);
        assert_eq!(second[..2], [0, 0], "the types are remembered");
        assert_eq!(second[2..], numbers);
        let null = sent(&[Value::Null, Value::Int(7)]);
        assert_eq!(null[..2], [0b10, 0], "a null changes no type");
        let other = sent(&[Value::Int(1), Value::Int(7)]);
        assert_eq!(other[1], 1, "a changed type is sent");
    }

    #[test]
    fn a_null_that_comes_first_is_replaced_by_the_type_that_follows() {
        let mut types = vec![UNTYPED];
        let mut out = Vec::new();
        assert!(put_parameters(&[0], &mut types, &[Value::Null], &mut out));
        assert_eq!(out, [1, 1, wire::NULL, 0]);
        out.clear();
        assert!(put_parameters(&[0], &mut types, &[Value::Int(1)], &mut out));
        assert_eq!(out[..4], [0, 1, wire::LONGLONG, 0]);
    }

    #[test]
    fn values_that_cannot_be_sent_are_refused() {
        let mut types = vec![UNTYPED];
        let late = [Value::Timestamp(i64::MAX)];
        assert!(!put_parameters(&[0], &mut types, &late, &mut Vec::new()));
        let cents = Value::Decimal(Decimal { units: 1, scale: 2 });
        assert!(other_scales(&[Kind::Decimal { scale: 3 }], &[cents]));
        assert!(!other_scales(&[Kind::Decimal { scale: 2 }], &[cents]));
    }
}
