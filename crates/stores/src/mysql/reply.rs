//! Decodes a server's answer to a command: success, an error, or rows.
//!
//! States of an answer, packet by packet:
//!
//! ```text
//!     First ── success or error ─────────────────────────────> whole
//!       └──── columns, described ──> Columns ──> Rows ── end ─> whole
//!       └──── columns, known ──────────────────> Rows ── end ─> whole
//! ```
//!
//! If a result announces another one, decoding starts again at First; only the first result is kept.

use super::capability as can;
use super::packet::{Malformed, PAYLOAD_MAX, Reader};
use super::values::{Column, push_row, push_text_row};
use syncline_contract::{Kind, Rows};

/// The status bit of an open transaction.
const IN_TRANSACTION: u16 = 0x0001;
/// The status bit that announces another result.
const MORE_ANSWERS: u16 = 0x0008;
/// A packet of this length or more does not end rows, where two packets do.
const END_MAX: usize = 9;

/// The maximum length of an error message, in characters; the rest is dropped.
const WORDS_MAX: usize = 500;

/// An error, as the server reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerError {
    pub(super) code: u16,
    /// The SQLSTATE; empty before a log-in.
    pub(super) state: String,
    pub(super) message: String,
}

impl ServerError {
    /// Decodes a packet that starts with 0xFF.
    #[cold]
    pub(super) fn read(payload: &[u8]) -> Result<ServerError, Malformed> {
        let mut error = ServerError::early(payload)?;
        if let Some(rest) = error.message.strip_prefix('#')
            && let Some((state, message)) = rest.split_at_checked(5)
        {
            error = ServerError { state: state.to_owned(), message: message.to_owned(), ..error };
        }
        Ok(error)
    }

    /// As [`ServerError::read`], but before a log-in, when errors have no SQLSTATE.
    #[cold]
    pub(super) fn early(payload: &[u8]) -> Result<ServerError, Malformed> {
        let mut reader = Reader::new(payload);
        reader.take(1)?;
        Ok(ServerError {
            code: reader.u16()?,
            state: String::new(),
            message: String::from_utf8_lossy(reader.rest()).chars().take(WORDS_MAX).collect(),
        })
    }
}

/// The end of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Success: the number of rows affected (found, not changed), and whether a transaction is open.
    Success { affected: u64, in_transaction: bool },
    /// The server refused the command; the connection remains usable.
    Error(Box<ServerError>),
}

/// The encoding of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Every value as text: the answer of a query.
    Text,
    /// Values by the types of their columns: the answer of a prepared statement.
    Binary,
}

/// The expected next packet of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerState {
    First,
    /// The number of columns that are still to be described.
    Columns(usize),
    /// The packet that older servers send between columns and rows.
    ColumnsEnd,
    Rows,
}

/// The decoder of an answer; reused for the next one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    capabilities: u64,
    form: Form,
    at: AnswerState,
    /// True if a result is complete, so that further ones are skipped.
    skips_rest: bool,
    affected: u64,
}

impl Answer {
    /// On a connection with those capabilities.
    pub(super) fn new(capabilities: u64, form: Form) -> Answer {
        Answer { capabilities, form, at: AnswerState::First, skips_rest: false, affected: 0 }
    }

    /// Decodes the next packet of the answer; returns the end once it is complete. New descriptions
    /// replace the known columns; rows are appended to `rows`, decoded by `kinds`, or by the columns if
    /// `kinds` is empty.
    #[inline]
    pub(super) fn take(
        &mut self,
        payload: &[u8],
        columns: &mut Vec<Column>,
        kinds: &[Kind],
        rows: &mut Rows,
    ) -> Result<Option<End>, Malformed> {
        let Some(&first) = payload.first() else {
            return Err(Malformed("an empty packet"));
        };
        match self.at {
            AnswerState::First => self.first(first, payload, columns, rows),
            AnswerState::Columns(left) => {
                if !self.skips_rest {
                    columns.push(Column::read(payload)?);
                }
                self.at = match left {
                    0 | 1 => self.after_columns(),
                    more => AnswerState::Columns(more - 1),
                };
                if !self.skips_rest && self.at == AnswerState::Rows {
                    rows.reset(columns.len());
                }
                Ok(None)
            }
            AnswerState::ColumnsEnd => {
                self.at = AnswerState::Rows;
                if !self.skips_rest {
                    rows.reset(columns.len());
                }
                Ok(None)
            }
            AnswerState::Rows => match (first, self.form) {
                (0xFF, _) => self.error(payload),
                (0xFE, _) if payload.len() < PAYLOAD_MAX => self.rows_end(payload),
                _ if self.skips_rest => Ok(None),
                (0x00, Form::Binary) => {
                    push_row(payload, columns, kinds, rows)?;
                    Ok(None)
                }
                (_, Form::Text) => {
                    push_text_row(payload, columns.len(), rows)?;
                    Ok(None)
                }
                _ => Err(Malformed("an invalid row")),
            },
        }
    }

    #[inline]
    fn first(
        &mut self,
        first: u8,
        payload: &[u8],
        columns: &mut Vec<Column>,
        rows: &mut Rows,
    ) -> Result<Option<End>, Malformed> {
        match first {
            0x00 => {
                let mut reader = Reader::new(&payload[1..]);
                let affected = reader.length()?;
                reader.length()?;
                let status = reader.u16()?;
                if !self.skips_rest {
                    self.affected = affected;
                }
                Ok(self.success(status))
            }
            0xFF => self.error(payload),
            0xFB => Err(Malformed("a request to read a local file")),
            _ => {
                let mut reader = Reader::new(payload);
                let count = reader.length()?;
                let count =
                    usize::try_from(count).map_err(|_large| Malformed("too many columns"))?;
                let described = self.capabilities & can::CACHED_COLUMNS == 0
                    || reader.rest().is_empty()
                    || reader.u8()? != 0;
                if described {
                    if !self.skips_rest {
                        columns.clear();
                    }
                    self.at = AnswerState::Columns(count);
                } else {
                    if columns.len() != count {
                        return Err(Malformed("columns that differ from those described"));
                    }
                    rows.reset(count);
                    self.at = self.after_columns();
                }
                Ok(None)
            }
        }
    }

    fn after_columns(self) -> AnswerState {
        if self.capabilities & can::ONE_END == 0 {
            AnswerState::ColumnsEnd
        } else {
            AnswerState::Rows
        }
    }

    #[inline]
    fn rows_end(&mut self, payload: &[u8]) -> Result<Option<End>, Malformed> {
        let mut reader = Reader::new(&payload[1..]);
        let status = if self.capabilities & can::ONE_END == 0 {
            if payload.len() >= END_MAX {
                return Err(Malformed("an invalid end of rows"));
            }
            reader.u16()?;
            reader.u16()?
        } else {
            reader.length()?;
            reader.length()?;
            reader.u16()?
        };
        Ok(self.success(status))
    }

    #[inline]
    fn success(&mut self, status: u16) -> Option<End> {
        self.at = AnswerState::First;
        self.skips_rest = status & MORE_ANSWERS != 0;
        if self.skips_rest {
            return None;
        }
        let affected = std::mem::take(&mut self.affected);
        Some(End::Success { affected, in_transaction: status & IN_TRANSACTION != 0 })
    }

    #[cold]
    fn error(&mut self, payload: &[u8]) -> Result<Option<End>, Malformed> {
        *self = Answer::new(self.capabilities, self.form);
        Ok(Some(End::Error(Box::new(ServerError::read(payload)?))))
    }
}

/// Decodes the answer to a preparation, packet by packet: the statement id, then descriptions of its
/// parameters, which are skipped, and of its columns.
#[derive(Debug)]
pub(super) struct Preparing {
    capabilities: u64,
    statement: u32,
    parameters: u16,
    columns: u16,
    /// The numbers of packets still to come for parameters and columns; `None` before the first packet.
    left: Option<(usize, usize)>,
    described: Vec<Column>,
    names: Vec<String>,
}

/// A statement that the server has prepared.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PreparedAnswer {
    pub(super) statement: u32,
    pub(super) parameters: u16,
    pub(super) columns: Vec<Column>,
    pub(super) names: Vec<String>,
}

impl Preparing {
    /// On a connection with those capabilities.
    pub(super) fn new(capabilities: u64) -> Preparing {
        Preparing {
            capabilities,
            statement: 0,
            parameters: 0,
            columns: 0,
            left: None,
            described: Vec::new(),
            names: Vec::new(),
        }
    }

    /// Decodes the next packet; returns the statement, or the server's refusal, once the answer is
    /// complete.
    pub(super) fn take(
        &mut self,
        payload: &[u8],
    ) -> Result<Option<Result<PreparedAnswer, Box<ServerError>>>, Malformed> {
        match &mut self.left {
            None => {
                let mut reader = Reader::new(payload);
                match reader.u8()? {
                    0x00 => {}
                    0xFF => return Ok(Some(Err(Box::new(ServerError::read(payload)?)))),
                    _ => return Err(Malformed("an invalid answer to a preparation")),
                }
                self.statement = reader.u32()?;
                self.columns = reader.u16()?;
                self.parameters = reader.u16()?;
                let ends = usize::from(self.capabilities & can::ONE_END == 0);
                let packets = |described: u16| match described {
                    0 => 0,
                    some => usize::from(some) + ends,
                };
                self.left = Some((packets(self.parameters), packets(self.columns)));
            }
            Some((parameters @ 1.., _)) => *parameters -= 1,
            Some((_, columns)) => {
                if self.described.len() < usize::from(self.columns) {
                    self.described.push(Column::read(payload)?);
                    self.names.push(Column::name(payload)?);
                }
                *columns = columns.saturating_sub(1);
            }
        }
        let whole = self.left == Some((0, 0));
        Ok(whole.then(|| {
            Ok(PreparedAnswer {
                statement: self.statement,
                parameters: self.parameters,
                columns: std::mem::take(&mut self.described),
                names: std::mem::take(&mut self.names),
            })
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, End, Form, Preparing, ServerError};
    use crate::mysql::capability as can;
    use crate::mysql::packet::put_bytes;
    use crate::mysql::values::Column;
    use syncline_contract::{Kind, Rows, Value};

    const LONGLONG: u8 = 8;

    /// A column's description.
    fn described(name: &str, wire: u8) -> Vec<u8> {
        let mut out = Vec::new();
        for text in ["def", "db", "t", "t", name, name] {
            put_bytes(&mut out, text.as_bytes());
        }
        out.extend_from_slice(&[0x0C, 63, 0, 20, 0, 0, 0, wire, 0, 0, 0, 0, 0]);
        out
    }

    fn binary(number: i64) -> Vec<u8> {
        let mut row = vec![0, 0];
        row.extend_from_slice(&number.to_le_bytes());
        row
    }

    fn end_of(answer: &mut Answer, packets: &[Vec<u8>], rows: &mut Rows) -> Option<End> {
        let mut columns: Vec<Column> = Vec::new();
        let mut end = None;
        for packet in packets {
            assert_eq!(end, None, "an answer continues after its end");
            end = answer.take(packet, &mut columns, &[Kind::Int], rows).unwrap();
        }
        end
    }

    const DONE: End = End::Success { affected: 0, in_transaction: false };

    #[test]
    fn rows_follow_their_columns() {
        for (capabilities, packets) in [
            (
                can::ONE_END,
                vec![
                    vec![1],
                    described("a", LONGLONG),
                    binary(5),
                    binary(-6),
                    vec![0xFE, 0, 0, 2, 0, 0, 0],
                ],
            ),
            (
                0,
                vec![
                    vec![1],
                    described("a", LONGLONG),
                    vec![0xFE, 0, 0, 2, 0],
                    binary(5),
                    binary(-6),
                    vec![0xFE, 0, 0, 2, 0],
                ],
            ),
            (
                can::ONE_END | can::CACHED_COLUMNS,
                vec![
                    vec![1, 1],
                    described("a", LONGLONG),
                    binary(5),
                    binary(-6),
                    vec![0xFE, 0, 0, 2, 0, 0, 0],
                ],
            ),
        ] {
            let mut rows = Rows::default();
            let mut answer = Answer::new(capabilities, Form::Binary);
            assert_eq!(end_of(&mut answer, &packets, &mut rows), Some(DONE));
            let got: Vec<_> = rows.iter().map(|row| row.value(0)).collect();
            assert_eq!(got, [Value::Int(5), Value::Int(-6)]);
        }
    }

    #[test]
    fn known_columns_are_not_described_again() {
        let mut answer = Answer::new(can::ONE_END | can::CACHED_COLUMNS, Form::Binary);
        let mut columns = vec![Column::read(&described("a", LONGLONG)).unwrap()];
        let mut rows = Rows::default();
        for packet in [vec![1, 0], binary(9), vec![0xFE, 0, 0, 3, 0, 0, 0]] {
            let end = answer.take(&packet, &mut columns, &[Kind::Int], &mut rows);
            let open = End::Success { affected: 0, in_transaction: true };
            assert_eq!(end, Ok((packet[0] == 0xFE).then_some(open)));
        }
        assert_eq!(rows.row(0).value(0), Value::Int(9));
        let other = answer.take(&[2, 0], &mut columns, &[], &mut rows);
        assert!(other.is_err(), "two columns instead of the known one");
    }

    #[test]
    fn a_write_returns_the_number_of_rows_found() {
        let mut rows = Rows::default();
        let mut answer = Answer::new(can::ONE_END, Form::Binary);
        let end = end_of(&mut answer, &[vec![0, 0xFC, 44, 1, 0, 1, 0, 0, 0]], &mut rows);
        let found = End::Success { affected: 300, in_transaction: true };
        assert_eq!(end, Some(found));
    }

    #[test]
    fn an_error_ends_an_answer_wherever_it_comes() {
        let error = [&[0xFF, 0xBD, 0x04][..], b"#40001Deadlock found"].concat();
        let expected = ServerError {
            code: 1213,
            state: "40001".to_owned(),
            message: "Deadlock found".to_owned(),
        };
        let mut rows = Rows::default();
        let mut answer = Answer::new(can::ONE_END, Form::Binary);
        for before in [vec![], vec![vec![1], described("a", LONGLONG), binary(1)]] {
            let packets = [before, vec![error.clone()]].concat();
            let end = end_of(&mut answer, &packets, &mut rows);
            assert_eq!(end, Some(End::Error(Box::new(expected.clone()))));
        }
    }

    #[test]
    fn the_first_of_several_results_is_kept() {
        let mut rows = Rows::default();
        let mut answer = Answer::new(can::ONE_END, Form::Text);
        let packets = [
            vec![1],
            described("a", LONGLONG),
            vec![1, b'7'],
            vec![0xFE, 0, 0, 8, 0, 0, 0],
            vec![1],
            described("b", LONGLONG),
            vec![1, b'8'],
            vec![0xFE, 0, 0, 8, 0, 0, 0],
            vec![0, 3, 0, 0, 0, 0, 0],
        ];
        assert_eq!(end_of(&mut answer, &packets, &mut rows), Some(DONE));
        let got: Vec<_> = rows.iter().map(|row| row.value(0)).collect();
        assert_eq!(got, [Value::Text("7")]);
    }

    #[test]
    fn invalid_answers_are_malformed() {
        let mut columns = Vec::new();
        for packet in [&[][..], &[0xFB, b'/'], &[0x00], &[0xFE, 1]] {
            let mut answer = Answer::new(0, Form::Binary);
            let taken = answer.take(packet, &mut columns, &[], &mut Rows::default());
            assert!(taken.is_err(), "{packet:?}");
        }
    }

    #[test]
    fn a_prepared_statement_returns_its_columns() {
        for capabilities in [0, can::ONE_END] {
            let end = (capabilities == 0).then(|| vec![0xFE, 0, 0, 2, 0]);
            let mut packets = vec![vec![0, 9, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0]];
            packets.extend([described("?", 253), described("?", 253)]);
            packets.extend(end.clone());
            packets.push(described("a", LONGLONG));
            packets.extend(end);
            let mut preparing = Preparing::new(capabilities);
            let (last, before) = packets.split_last().unwrap();
            for packet in before {
                assert_eq!(preparing.take(packet), Ok(None));
            }
            let prepared = preparing.take(last).unwrap().unwrap().unwrap();
            assert_eq!((prepared.statement, prepared.parameters), (9, 2));
            assert_eq!((prepared.columns.len(), &prepared.names[..]), (1, &["a".to_owned()][..]));
        }
        let nothing = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert!(Preparing::new(0).take(&nothing).unwrap().is_some());
    }
}
