//! sysbench's OLTP loads, all nine, exact to the scripts of sysbench 1.0.20.
//!
//! Source: sysbench 1.0.20, `oltp_common.lua` and the nine scripts that use it, `bulk_insert.lua`,
//! `sb_rand.c`; Zipf from its development version, since 1.0 has none. Rules:
//!
//! 1. `tables` tables sbtest1, sbtest2 and on, of rows `id` (1 to `table_size`), `k` (a random id, with
//!    an index where `create_secondary` is on), `c` (ten groups of eleven digits) and `pad` (five).
//! 2. An event is a run of statements in a fixed order ([`Event`]). Each kind of statement draws its
//!    table once an event, evenly, and each statement its id by `rand_type`.
//! 3. `read_only`, `write_only` and `read_write` put an event into a transaction. The others, and those
//!    with `skip_trx`, make a transaction of each statement; then a transaction of the laboratory is a
//!    statement too, named by its kind, and events are a figure beside.
//! 4. Statements wait for their answer one by one, so nothing is pipelined.
//! 5. An update of `k` adds one; of `c` writes another text. A delete and an insert of the same id belong
//!    together. Updates and deletes take rows that are not there, as SQL does.
//! 6. What a row's texts hold follows from table, id and a version that stands in the text; `pad` also
//!    says with which `k` its row began (`content`). So every text that is read can be verified, and
//!    after the run the additions can be counted.
//!
//! Deviations: integers are 64 bits wide. `c` and `pad` are as long as their text (119 and 59), not
//! padded with blanks to 120 and 60. The insert behind a delete replaces a row that is there: at read
//! committed, and with `skip_trx`, another client may have put it back in between, where sysbench counts
//! an ignored error or ends. With `secondary` there is a key beside `id` (of the same values), since rows
//! are changed by key: an update or delete asks the index for it first. `bulk_insert` sends a statement a
//! row, `bulk_rows` in one transaction, not one long statement; its ids begin at 1 in each table.

mod check;
mod content;
mod event;
mod load;
mod options;
mod schema;
mod statements;
mod sysbench_test;
mod transactions;
mod unique_ids;

pub use event::{Event, Queries};
pub use options::{Options, RandType};
pub use schema::Oltp;
pub use sysbench_test::Test;
pub use transactions::{OltpClient, Tally};
