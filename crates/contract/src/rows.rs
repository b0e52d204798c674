//! Answers: rows as flat cells and flat bytes, reused from one transaction to the next.
//!
//! Invariants:
//! 1. `cells.len()` is a multiple of `width` (or zero rows).
//! 2. A bytes cell is a range of `bytes`; a text cell is a range of `text` between two characters (it was
//!    pushed as `&str`), so that reading a text only checks its two ends.
//! 3. Rows without columns are counted separately in `columnless`, which is zero if rows have columns.
//! 4. Clearing keeps the memory, so the steady state does not allocate.

use crate::value::{Decimal, Kind, Value};

#[derive(Clone, Copy, Debug)]
enum Cell {
    Null,
    Int(i64),
    Float(f64),
    Decimal(Decimal),
    Text { start: u32, end: u32 },
    Bytes { start: u32, end: u32 },
    Timestamp(i64),
}

impl Cell {
    #[inline]
    fn kind(self) -> Option<Kind> {
        match self {
            Cell::Null => None,
            Cell::Int(_) => Some(Kind::Int),
            Cell::Float(_) => Some(Kind::Float),
            Cell::Decimal(Decimal { scale, .. }) => Some(Kind::Decimal { scale }),
            Cell::Text { .. } => Some(Kind::Text),
            Cell::Bytes { .. } => Some(Kind::Bytes),
            Cell::Timestamp(_) => Some(Kind::Timestamp),
        }
    }

    /// The value, with the text or bytes that it refers to.
    #[inline]
    fn value<'a>(self, text: &'a str, bytes: &'a [u8]) -> Value<'a> {
        match self {
            Cell::Null => Value::Null,
            Cell::Int(value) => Value::Int(value),
            Cell::Float(value) => Value::Float(value),
            Cell::Decimal(value) => Value::Decimal(value),
            Cell::Timestamp(value) => Value::Timestamp(value),
            Cell::Bytes { start, end } => Value::Bytes(&bytes[start as usize..end as usize]),
            Cell::Text { start, end } => Value::Text(&text[start as usize..end as usize]),
        }
    }
}

/// Rows of one width.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    cells: Vec<Cell>,
    text: String,
    bytes: Vec<u8>,
    width: usize,
    /// Rows without columns, which have no cells to be counted by.
    columnless: usize,
}

impl Rows {
    /// No rows, with this number of columns.
    pub fn new(width: usize) -> Rows {
        Rows { width, ..Rows::default() }
    }

    /// The bytes of all values: texts and byte strings by their length, others as eight.
    pub fn value_bytes(&self) -> u64 {
        let fixed = |cell: &&Cell| !matches!(cell, Cell::Text { .. } | Cell::Bytes { .. });
        let numbers = self.cells.iter().filter(fixed).count() * size_of::<u64>();
        (numbers + self.text.len() + self.bytes.len()) as u64
    }

    /// Removes all rows and sets the width, keeping the memory.
    pub fn reset(&mut self, width: usize) {
        self.cells.clear();
        self.text.clear();
        self.bytes.clear();
        self.width = width;
        self.columnless = 0;
    }

    /// Adds a row without columns, which a user statement may return (`SELECT`); panics if rows have columns
    /// (a bug in a target).
    pub fn push_columnless(&mut self) {
        assert_eq!(self.width, 0, "a row has as many cells as its rows are wide");
        self.columnless += 1;
    }

    /// Adds the next cell; a row is complete after `width` cells.
    #[inline]
    pub fn push(&mut self, value: Value<'_>) {
        let cell = match value {
            Value::Null => Cell::Null,
            Value::Int(value) => Cell::Int(value),
            Value::Float(value) => Cell::Float(value),
            Value::Decimal(value) => Cell::Decimal(value),
            Value::Timestamp(value) => Cell::Timestamp(value),
            Value::Text(text) => {
                let start = self.text.len();
                self.text.push_str(text);
                let (start, end) = range(start, self.text.len());
                Cell::Text { start, end }
            }
            Value::Bytes(bytes) => {
                let start = self.bytes.len();
                self.bytes.extend_from_slice(bytes);
                let (start, end) = range(start, self.bytes.len());
                Cell::Bytes { start, end }
            }
        };
        self.cells.push(cell);
    }

    /// Adds adjacent text cells: their text, and the end of each in it, ascending and between characters;
    /// reading a cell that violates this panics (a bug in a target).
    #[inline]
    pub fn push_texts(&mut self, text: &str, ends: impl Iterator<Item = usize>) {
        let base = self.text.len();
        self.text.push_str(text);
        let mut start = 0;
        for end in ends {
            debug_assert!(
                start <= end && text.is_char_boundary(end),
                "a text cell ends between characters"
            );
            let (from, to) = range(base + start, base + end);
            self.cells.push(Cell::Text { start: from, end: to });
            start = end;
        }
    }

    /// Adds a whole row; panics if its width differs (a bug in a target or a loader).
    pub fn push_row(&mut self, row: &[Value<'_>]) {
        assert_eq!(row.len(), self.width, "a row has as many cells as its rows are wide");
        for value in row {
            self.push(*value);
        }
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of complete rows.
    #[inline]
    pub fn len(&self) -> usize {
        // Most answers are one row: skip the division.
        if self.cells.len() == self.width && self.width > 0 {
            return 1;
        }
        self.cells.len().checked_div(self.width).unwrap_or(self.columnless)
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.columnless == 0
    }

    /// Row `index`; panics beyond the end.
    #[inline]
    pub fn row(&self, index: usize) -> Row<'_> {
        let start = index * self.width;
        Row { cells: &self.cells[start..start + self.width], text: &self.text, bytes: &self.bytes }
    }

    /// Sorts rows of one column by value, null first; `distinct` keeps one of each set of equal values.
    ///
    /// For stores that cannot sort. The bytes of dropped values stay until the next reset.
    pub fn sort(&mut self, distinct: bool) {
        assert_eq!(self.width, 1, "only rows of one column can be sorted");
        let (text, bytes) = (&*self.text, &*self.bytes);
        let value = |cell: &Cell| cell.value(text, bytes);
        self.cells.sort_by(|a, b| value(a).order(&value(b)));
        if distinct {
            self.cells.dedup_by(|a, b| value(a).order(&value(b)).is_eq());
        }
    }

    /// All rows, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        (0..self.len()).map(|index| self.row(index))
    }
}

/// The range of newly added bytes.
#[inline]
fn range(start: usize, end: usize) -> (u32, u32) {
    let end = u32::try_from(end).expect("one answer holds less than 4 GiB");
    (start as u32, end)
}

/// One borrowed row.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    cells: &'a [Cell],
    text: &'a str,
    bytes: &'a [u8],
}

impl<'a> Row<'a> {
    /// Number of columns.
    pub fn width(&self) -> usize {
        self.cells.len()
    }

    /// The value of column `index`; panics beyond the width.
    #[inline]
    pub fn value(&self, index: usize) -> Value<'a> {
        self.cells[index].value(self.text, self.bytes)
    }

    /// The kind of column `index`; null has none. Costs less than the value. Panics beyond the width.
    #[inline]
    pub fn kind(&self, index: usize) -> Option<Kind> {
        self.cells[index].kind()
    }

    /// The kinds of all columns, in order.
    #[inline]
    pub fn kinds(&self) -> impl ExactSizeIterator<Item = Option<Kind>> {
        self.cells.iter().map(|cell| cell.kind())
    }

    /// All values, in order.
    pub fn values(self) -> impl ExactSizeIterator<Item = Value<'a>> {
        (0..self.cells.len()).map(move |index| self.value(index))
    }
}

/// The answers of an embedded store that have not been received yet, oldest first, in reused memory at stable
/// addresses.
#[derive(Debug, Default)]
pub struct Replies {
    /// Received answers, waiting answers, and spare memory.
    rows: Vec<Rows>,
    /// The range of the waiting answers.
    first: usize,
    end: usize,
}

impl Replies {
    /// Appends an empty answer of this width, to be filled.
    #[inline]
    pub fn push(&mut self, width: usize) -> &mut Rows {
        if self.is_empty() {
            self.clear();
        }
        if self.end == self.rows.len() {
            self.make_space();
        }
        self.end += 1;
        let rows = &mut self.rows[self.end - 1];
        rows.reset(width);
        rows
    }

    /// Makes space after the waiting answers: that of received answers, if they are more than half, or new
    /// memory.
    #[cold]
    fn make_space(&mut self) {
        if self.first > self.rows.len() / 2 {
            self.rows.rotate_left(self.first);
            self.end -= self.first;
            self.first = 0;
        } else {
            self.rows.push(Rows::default());
        }
    }

    /// The answer that was added last, for changes; panics if there is none (a bug in a target).
    pub fn newest(&mut self) -> &mut Rows {
        assert!(!self.is_empty(), "there is no answer to change");
        &mut self.rows[self.end - 1]
    }

    /// True if no answer is waiting.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// The oldest answer, borrowed until the next call; none if all have been received.
    #[inline]
    pub fn receive(&mut self) -> Option<&Rows> {
        if self.is_empty() {
            return None;
        }
        self.first += 1;
        Some(&self.rows[self.first - 1])
    }

    /// Removes all answers, as an abort does.
    #[inline]
    pub fn clear(&mut self) {
        (self.first, self.end) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::{Replies, Rows};
    use crate::value::{Decimal, Value};

    /// f08.
    #[test]
    fn rows_without_columns_are_counted() {
        let mut rows = Rows::new(0);
        assert!(rows.is_empty() && rows.iter().len() == 0);
        rows.push_columnless();
        rows.push_columnless();
        assert_eq!((rows.len(), rows.is_empty()), (2, false));
        assert!(rows.iter().all(|row| row.width() == 0));
        rows.reset(1);
        assert_eq!((rows.len(), rows.is_empty()), (0, true));
    }

    #[test]
    fn cells_come_back_unchanged() {
        let row = [
            Value::Null,
            Value::Int(-7),
            Value::Float(0.5),
            Value::Decimal(Decimal { units: 1234, scale: 2 }),
            Value::Text("søk"),
            Value::Bytes(&[0, 255]),
            Value::Timestamp(1),
        ];
        let mut rows = Rows::new(row.len());
        rows.push_row(&row);
        rows.push_row(&row);
        assert_eq!(rows.len(), 2);
        assert!(rows.iter().all(|got| got.values().eq(row)));
    }

    #[test]
    fn adjacent_texts_are_separate_cells() {
        let mut rows = Rows::new(4);
        rows.push(Value::Int(1));
        rows.push_texts("søkpear", [4, 4, 8].into_iter());
        let row: Vec<Value<'_>> = rows.row(0).values().collect();
        let expected = ["søk", "", "pear"].map(Value::Text);
        assert_eq!((row[0], &row[1..]), (Value::Int(1), &expected[..]));
    }

    #[test]
    #[should_panic(expected = "char")]
    fn a_text_that_ends_within_a_character_is_never_returned() {
        let mut rows = Rows::new(1);
        rows.push_texts("søk", [2].into_iter());
        let _text = rows.row(0).value(0);
    }

    #[test]
    fn rows_of_one_column_are_sorted_and_made_distinct() {
        let mut rows = Rows::new(1);
        for text in ["pear", "fig", "pear", "apple"] {
            rows.push(Value::Text(text));
        }
        rows.push(Value::Null);
        let texts = |rows: &Rows| -> Vec<String> {
            let values = rows.iter().map(|row| format!("{:?}", row.value(0)));
            values.collect()
        };
        rows.sort(false);
        let sorted = ["Null", "Text(\"apple\")", "Text(\"fig\")", "Text(\"pear\")"];
        assert_eq!(texts(&rows)[..4], sorted);
        assert_eq!(rows.len(), 5);
        rows.sort(true);
        assert_eq!(texts(&rows), sorted);
    }

    #[test]
    fn replies_are_received_in_the_order_of_requests() {
        let mut replies = Replies::default();
        replies.push(1).push(Value::Int(1));
        replies.push(1).push(Value::Int(2));
        assert_eq!(replies.receive().map(|rows| rows.row(0).value(0)), Some(Value::Int(1)));
        replies.push(1).push(Value::Int(3));
        assert_eq!(replies.receive().map(|rows| rows.row(0).value(0)), Some(Value::Int(2)));
        replies.clear();
        assert!(replies.receive().is_none());
    }

    #[test]
    fn waiting_answers_survive_later_ones() {
        let mut replies = Replies::default();
        let (mut pushed, mut received) = (0, 0);
        for round in 0..200_i64 {
            for _ in 0..=round % 7 {
                replies.push(1).push(Value::Int(pushed));
                pushed += 1;
            }
            assert_eq!(replies.newest().row(0).value(0), Value::Int(pushed - 1));
            while received + round % 5 < pushed {
                let got = replies.receive().map(|rows| rows.row(0).value(0));
                assert_eq!(got, Some(Value::Int(received)));
                received += 1;
            }
        }
        assert!(replies.rows.len() < 32, "{} answers of memory", replies.rows.len());
    }
}
