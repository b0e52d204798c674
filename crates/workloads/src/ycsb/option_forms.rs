//! Options that take a word or a value: how each is typed.

use super::histogram::FieldHistogram;
use super::option_values::Lengths;
use super::record_ranges::RecordRanges;
use std::ops::Range;
use syncline_contract::OptionForm;

/// The most rows, so that a row's number fits four bytes.
const ROWS_MAX: u64 = 4_000_000_000;

/// The most bytes of a field.
const FIELD_BYTES_MAX: u64 = 60_000;

/// All records from the first on, or a count.
pub(super) struct AllOrCount;

impl OptionForm<Option<u64>> for AllOrCount {
    const TAKES: &'static str = "all or a whole number from 1 to 4000000000";

    fn read(text: &str) -> Option<Option<u64>> {
        match text {
            "all" => Some(None),
            count => count.parse().ok().filter(|count| (1..=ROWS_MAX).contains(count)).map(Some),
        }
    }

    fn text(value: &Option<u64>) -> String {
        value.map_or_else(|| "all".to_owned(), |count| count.to_string())
    }
}

/// As many as the mix needs, or a count.
pub(super) struct AutoOrCount;

impl OptionForm<Option<u64>> for AutoOrCount {
    const TAKES: &'static str = "auto or a whole number from 0 to 4000000000";

    fn read(text: &str) -> Option<Option<u64>> {
        match text {
            "auto" => Some(None),
            count => count.parse().ok().filter(|count| *count <= ROWS_MAX).map(Some),
        }
    }

    fn text(value: &Option<u64>) -> String {
        value.map_or_else(|| "auto".to_owned(), |count| count.to_string())
    }
}

/// All records, or one part of them.
pub(super) struct AllOrPart;

impl OptionForm<Option<Range<u64>>> for AllOrPart {
    const TAKES: &'static str = "all or FIRST+COUNT";

    fn read(text: &str) -> Option<Option<Range<u64>>> {
        match text {
            "all" => Some(None),
            words => RecordRanges::read(words)?.only().map(Some),
        }
    }

    fn text(value: &Option<Range<u64>>) -> String {
        value.clone().map_or_else(|| "all".to_owned(), |part| RecordRanges::of(part).words())
    }
}

/// No parts, or some.
pub(super) struct Parts;

impl OptionForm<RecordRanges> for Parts {
    const TAKES: &'static str = "none or FIRST+COUNT,...";

    fn read(text: &str) -> Option<RecordRanges> {
        match text {
            "none" => Some(RecordRanges::default()),
            words => RecordRanges::read(words),
        }
    }

    fn text(value: &RecordRanges) -> String {
        value.words()
    }
}

/// No histogram, or one.
pub(super) struct NoneOrHistogram;

impl OptionForm<Option<FieldHistogram>> for NoneOrHistogram {
    const TAKES: &'static str = "none or BLOCK:COUNT,COUNT,... of at least two buckets";

    fn read(text: &str) -> Option<Option<FieldHistogram>> {
        match text {
            "none" => Some(None),
            word => {
                FieldHistogram::of_word(word).filter(|one| one.most() <= FIELD_BYTES_MAX).map(Some)
            }
        }
    }

    fn text(value: &Option<FieldHistogram>) -> String {
        value.as_ref().map_or_else(|| "none".to_owned(), FieldHistogram::word)
    }
}

/// How lengths vary that have no histogram.
pub(super) struct PlainLengths;

impl OptionForm<Lengths> for PlainLengths {
    const TAKES: &'static str = "constant, uniform or zipfian";

    fn read(text: &str) -> Option<Lengths> {
        <Lengths as OptionForm<Lengths>>::read(text).filter(|one| *one != Lengths::Histogram)
    }

    fn text(value: &Lengths) -> String {
        value.word().to_owned()
    }
}

/// A table's name, or the beginning of a field's.
pub(super) struct Name;

impl OptionForm<String> for Name {
    const TAKES: &'static str =
        "lower case letters, digits and underscores, a letter first, at most 60";

    fn read(text: &str) -> Option<String> {
        is_name(text).then(|| text.to_owned())
    }

    fn text(value: &String) -> String {
        value.clone()
    }
}

fn is_name(value: &str) -> bool {
    let sign = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    value.len() <= 60
        && value.starts_with(|c: char| c.is_ascii_lowercase())
        && value.chars().all(sign)
        && value != "syncline_mark"
}
