//! What a server answers to a command: success, an error, or rows.
//!
//! States of an answer, packet by packet:
//!
//! ```text
//! First ── success or error ─────────────────────────────> whole
//!   └──── columns, described ──> Columns ──> Rows ── end ─> whole
//!   └──── columns, known ──────────────────> Rows ── end ─> whole
//! ```
//!
//! An answer that says that another follows starts again at First; of several only the first is kept.

use super::capability as can;
use super::packet::{Malformed, PAYLOAD_MAX, Reader};
use super::values::{Column, push_row, push_text_row};
use syncline_contract::{Kind, Rows};

/// The status bit of an open transaction.
const IN_TRANSACTION: u16 = 0x0001;
/// The status bit of another answer that follows.
const MORE_ANSWERS: u16 = 0x0008;
/// A packet of this length or more does not end rows, where two packets do.
const END_MAX: usize = 9;

/// The most characters of an error's words that are kept.
const WORDS_MAX: usize = 500;

/// An error, as the server says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerError {
    pub(super) code: u16,
    /// The five letters of the SQL standard; empty before a log-in.
    pub(super) state: String,
    pub(super) message: String,
}

impl ServerError {
    /// Of a packet that starts with 0xFF.
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

    /// The same before a log-in, where no state is said.
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
    /// Success: rows affected (found, not changed), and whether a transaction is open.
    Success { affected: u64, in_transaction: bool },
    /// The server refused; the connection goes on.
    Error(Box<ServerError>),
}

/// In which form rows come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Every value as text: the answer of a query.
    Text,
    /// Values as their columns say: the answer of a prepared statement.
    Binary,
}

/// Where in an answer the next packet stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    First,
    /// So many are still to be described.
    Columns(usize),
    /// The packet that older servers send between columns and rows.
    ColumnsEnd,
    Rows,
}

/// An answer under way; reused from one to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    abilities: u64,
    form: Form,
    at: At,
    /// True if a statement has answered before, so that the rest is passed over.
    over: bool,
    affected: u64,
}

impl Answer {
    /// On a connection of those abilities.
    pub(super) fn new(abilities: u64, form: Form) -> Answer {
        Answer { abilities, form, at: At::First, over: false, affected: 0 }
    }

    /// Takes the next packet of the answer; the end, once it is whole. Columns that are described
    /// replace those known; rows of `kinds` (none: as the columns say) go to the end of `rows`.
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
            At::First => self.first(first, payload, columns, rows),
            At::Columns(left) => {
                if !self.over {
                    columns.push(Column::read(payload)?);
                }
                self.at = match left {
                    0 | 1 => self.behind_columns(),
                    more => At::Columns(more - 1),
                };
                if !self.over && self.at == At::Rows {
                    rows.reset(columns.len());
                }
                Ok(None)
            }
            At::ColumnsEnd => {
                self.at = At::Rows;
                if !self.over {
                    rows.reset(columns.len());
                }
                Ok(None)
            }
            At::Rows => match (first, self.form) {
                (0xFF, _) => self.error(payload),
                (0xFE, _) if payload.len() < PAYLOAD_MAX => self.rows_end(payload),
                _ if self.over => Ok(None),
                (0x00, Form::Binary) => {
                    push_row(payload, columns, kinds, rows)?;
                    Ok(None)
                }
                (_, Form::Text) => {
                    push_text_row(payload, columns.len(), rows)?;
                    Ok(None)
                }
                _ => Err(Malformed("a row that is none")),
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
                if !self.over {
                    self.affected = affected;
                }
                Ok(self.success(status))
            }
            0xFF => self.error(payload),
            0xFB => Err(Malformed("a wish to read a file of ours")),
            _ => {
                let mut reader = Reader::new(payload);
                let count = reader.length()?;
                let count =
                    usize::try_from(count).map_err(|_large| Malformed("too many columns"))?;
                let described = self.abilities & can::CACHED_COLUMNS == 0
                    || reader.rest().is_empty()
                    || reader.u8()? != 0;
                if described {
                    if !self.over {
                        columns.clear();
                    }
                    self.at = At::Columns(count);
                } else {
                    if columns.len() != count {
                        return Err(Malformed("other columns than were described"));
                    }
                    rows.reset(count);
                    self.at = self.behind_columns();
                }
                Ok(None)
            }
        }
    }

    fn behind_columns(self) -> At {
        if self.abilities & can::ONE_END == 0 { At::ColumnsEnd } else { At::Rows }
    }

    #[inline]
    fn rows_end(&mut self, payload: &[u8]) -> Result<Option<End>, Malformed> {
        let mut reader = Reader::new(&payload[1..]);
        let status = if self.abilities & can::ONE_END == 0 {
            if payload.len() >= END_MAX {
                return Err(Malformed("an end of rows that is none"));
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
        self.at = At::First;
        self.over = status & MORE_ANSWERS != 0;
        if self.over {
            return None;
        }
        let affected = std::mem::take(&mut self.affected);
        Some(End::Success { affected, in_transaction: status & IN_TRANSACTION != 0 })
    }

    #[cold]
    fn error(&mut self, payload: &[u8]) -> Result<Option<End>, Malformed> {
        *self = Answer::new(self.abilities, self.form);
        Ok(Some(End::Error(Box::new(ServerError::read(payload)?))))
    }
}

/// The answer to the preparing of a statement, packet by packet: its number, then descriptions of its
/// parameters, which are passed over, and of its columns.
#[derive(Debug)]
pub(super) struct Preparing {
    abilities: u64,
    statement: u32,
    parameters: u16,
    columns: u16,
    /// Packets that are still to come; none before the first has.
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
    /// On a connection of those abilities.
    pub(super) fn new(abilities: u64) -> Preparing {
        Preparing {
            abilities,
            statement: 0,
            parameters: 0,
            columns: 0,
            left: None,
            described: Vec::new(),
            names: Vec::new(),
        }
    }

    /// Takes the next packet; the statement, or the server's refusal, once the answer is whole.
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
                    _ => return Err(Malformed("an answer to a preparation that is none")),
                }
                self.statement = reader.u32()?;
                self.columns = reader.u16()?;
                self.parameters = reader.u16()?;
                let ends = usize::from(self.abilities & can::ONE_END == 0);
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
            assert_eq!(end, None, "an answer goes on behind its end");
            end = answer.take(packet, &mut columns, &[Kind::Int], rows).unwrap();
        }
        end
    }

    const DONE: End = End::Success { affected: 0, in_transaction: false };

    #[test]
    fn rows_come_behind_their_columns() {
        for (abilities, packets) in [
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
            let mut answer = Answer::new(abilities, Form::Binary);
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
        assert!(other.is_err(), "two columns are not the one that is known");
    }

    #[test]
    fn a_write_says_how_many_rows_it_found() {
        let mut rows = Rows::default();
        let mut answer = Answer::new(can::ONE_END, Form::Binary);
        let end = end_of(&mut answer, &[vec![0, 0xFC, 44, 1, 0, 1, 0, 0, 0]], &mut rows);
        let found = End::Success { affected: 300, in_transaction: true };
        assert_eq!(end, Some(found));
    }

    #[test]
    fn an_error_ends_an_answer_wherever_it_comes() {
        let error = [&[0xFF, 0xBD, 0x04][..], b"#40001Deadlock found"].concat();
        let said = ServerError {
            code: 1213,
            state: "40001".to_owned(),
            message: "Deadlock found".to_owned(),
        };
        let mut rows = Rows::default();
        let mut answer = Answer::new(can::ONE_END, Form::Binary);
        for before in [vec![], vec![vec![1], described("a", LONGLONG), binary(1)]] {
            let packets = [before, vec![error.clone()]].concat();
            let end = end_of(&mut answer, &packets, &mut rows);
            assert_eq!(end, Some(End::Error(Box::new(said.clone()))));
        }
    }

    #[test]
    fn of_several_answers_the_first_counts() {
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
    fn what_is_no_answer_is_malformed() {
        let mut columns = Vec::new();
        for packet in [&[][..], &[0xFB, b'/'], &[0x00], &[0xFE, 1]] {
            let mut answer = Answer::new(0, Form::Binary);
            let taken = answer.take(packet, &mut columns, &[], &mut Rows::default());
            assert!(taken.is_err(), "{packet:?}");
        }
    }

    #[test]
    fn a_prepared_statement_says_its_columns() {
        for abilities in [0, can::ONE_END] {
            let end = (abilities == 0).then(|| vec![0xFE, 0, 0, 2, 0]);
            let mut packets = vec![vec![0, 9, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0]];
            packets.extend([described("?", 253), described("?", 253)]);
            packets.extend(end.clone());
            packets.push(described("a", LONGLONG));
            packets.extend(end);
            let mut preparing = Preparing::new(abilities);
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
