//! Reads neighbouring text columns at once, instead of one by one.
//!
//! Invariant: the ends of [`Texts`] ascend and are at character boundaries of its text, whatever bytes the
//! row held; otherwise there is no [`Texts`].

use super::raw::Raw;
use super::read::RowView;
use crate::access::key::Malformed;
use crate::access::schema::{ColumnSlot, Kind, Schema};

/// Text columns that are never null and are adjacent in every row that has them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextRun {
    first: u16,
    count: u16,
    /// Rows of an older version lack some of them.
    since: u16,
}

/// The texts of a row's [`TextRun`], concatenated.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    text: &'a str,
    raw: Raw<'a>,
    run: TextRun,
    /// The base of the columns' ends, and the start of the text.
    start: usize,
}

impl Schema {
    /// These columns as a run, if they are one: two or more texts that are never null, adjacent in this order
    /// among the columns of variable length.
    pub fn text_run(&self, columns: &[usize]) -> Option<TextRun> {
        let first = self.text_ordinal(*columns.first()?)?;
        let is_next = |(position, column): (usize, &usize)| {
            self.text_ordinal(*column) == Some(first + position as u16)
        };
        let is_run = columns.len() > 1 && columns.iter().enumerate().all(is_next);
        let since = columns.iter().map(|column| self.columns()[*column].since);
        is_run.then(|| TextRun {
            first,
            count: columns.len() as u16,
            since: since.max().unwrap_or(1),
        })
    }

    /// The column's position among those of variable length, if it is a text that is never null.
    fn text_ordinal(&self, column: usize) -> Option<u16> {
        match (self.columns().get(column)?.kind, self.slot(column)) {
            (Kind::Text, ColumnSlot::Variable { ordinal, null_bit: None }) => Some(ordinal),
            _ => None,
        }
    }

    /// True if the newest rows have such a run of texts, whichever schema it was made from.
    #[inline]
    pub(crate) fn has_text_run(&self, run: TextRun) -> bool {
        let longest = self.text_runs().get(usize::from(run.first));
        longest.is_some_and(|longest| run.count <= *longest)
    }
}

impl<'a> RowView<'a> {
    /// The texts of a run; none if the row is older than one of the columns.
    #[inline]
    pub(crate) fn texts(&self, run: TextRun) -> Result<Option<Texts<'a>>, Malformed> {
        let is_older = self.raw.version < run.since;
        if is_older || self.raw.layout.variable < run.first + run.count {
            return Ok(None);
        }
        let bytes = self.raw.run(run.first, run.count)?;
        let Ok(text) = str::from_utf8(&self.raw.bytes[bytes.clone()]) else {
            return Err(Malformed("text in a row is not UTF-8"));
        };
        let texts = Texts { text, raw: self.raw, run, start: bytes.start };
        texts.check()?;
        Ok(Some(texts))
    }
}

impl<'a> Texts<'a> {
    /// All of them, concatenated.
    #[inline]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The end of each of them in that text.
    #[inline]
    pub fn ends(&self) -> impl ExactSizeIterator<Item = usize> {
        let base = self.raw.layout.bytes_start(self.raw.wide);
        let (start, whole, count) = (self.start, self.text.len(), usize::from(self.run.count));
        let ends = self.raw.ends(self.run.first, self.run.count - 1);
        // Below the start if the row is damaged: the subtraction wraps, and `check` refuses it.
        let end_of = move |end: usize| (base + end).wrapping_sub(start);
        (0..count).map(move |position| ends.get(position).map_or(whole, end_of))
    }

    #[inline]
    fn check(&self) -> Result<(), Malformed> {
        let mut before = 0;
        for end in self.ends() {
            if end < before || !self.text.is_char_boundary(end) {
                return Err(Malformed("a text of a row ends within a character"));
            }
            before = end;
        }
        Ok(())
    }
}
