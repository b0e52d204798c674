//! A leaf: rows in key order in a slotted page. On the disk it is packed ([`pack`]).
//!
//! After the header of every page ([`super::page`]), little endian:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 28 | 2 | count of rows, n |
//! | 30 | 2 | prefix: the number of bytes that both fences and so all keys begin with |
//! | 32 | 2 | length of the lower fence |
//! | 34 | 2 | length of the upper fence; 0xFFFF = there is none |
//! | 36 | 2 | where the lowest row starts |
//! | 38 | 2 | bytes of dead rows above that position |
//! | 40 | | lower fence (inclusive), upper fence (exclusive) |
//! | | 4n | heads: the first 4 bytes of each key after the prefix, padded with zeros, as a number of the same order |
//! | | 2n | where each row starts |
//! | | | free |
//! | | | rows, up to the page's end, in no order |
//!
//! A row:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | the version word |
//! | 8 | 2 | length of the key after the prefix |
//! | 10 | 2 | length of the value |
//! | 12 | 2 | capacity: how long the value may grow in place |
//! | 14 | | the key after prefix and head |
//! | | | the value, and room up to its capacity |
//!
//! Invariants:
//! 1. lower fence <= every key < upper fence, keys ascend strictly.
//! 2. Rows and their room do not overlap; dead bytes + living rows = page end - lowest row.
//! 3. The counter comes from one source that never repeats: two equal counters mean that no row was inserted,
//!    removed or moved between. It is renewed when a row is inserted or removed and when a leaf is made,
//!    split, merged or read from disk; not by a new word or value. It is not stored in the page.
//! 4. The fields copied from the header into [`Leaf`] equal it; they save a reader one cache line.
//! 5. `spare_max` is at least the bytes that all rows together reserve beyond their values. So a full leaf
//!    usually refuses a row without reading its rows, which may lie in another core's cache.
//! 6. `first_number` is that of the first row, if it has one ([`position_guess`]).
//!
//! | file | contents |
//! |---|---|
//! | `view` | reading: search, keys, words, values, fences |
//! | `row_copy` | rows copied to be read without the latch |
//! | `change` | inserting, growing, writing and removing rows |
//! | `rebuild` | compaction, splits and merges |
//! | `position_guess`, `counter` | finding numbered rows without a search; the source of counters |
//! | `last_insert` | the slot of the last insert, and the reference bit |
//! | `pack`, `check` | the packed form on the disk; checking a page |

mod change;
mod check;
mod counter;
mod last_insert;
mod pack;
mod position_guess;
mod rebuild;
mod row_copy;
mod view;

pub(crate) use change::{NoRoom, POOR};
pub(crate) use rebuild::SplitPlan;
pub(crate) use row_copy::RowCopy;
pub(crate) use view::Leaf;
pub(crate) use view::common_bytes;
pub(super) use view::head_of;
