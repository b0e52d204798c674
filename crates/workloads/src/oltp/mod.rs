//! All nine OLTP tests of sysbench, exactly as in the scripts of sysbench 1.0.20.
//!
//! Source: sysbench 1.0.20, `oltp_common.lua` and the nine scripts that use it, `bulk_insert.lua`,
//! `sb_rand.c`; Zipf from its development version, since 1.0 has none. Rules:
//!
//! 1. `tables` tables sbtest1, sbtest2, ... have rows with `id` (1 to `table_size`), `k` (a random id, with
//!    an index if `create_secondary` is on), `c` (ten groups of eleven digits) and `pad` (five).
//! 2. An event is a sequence of statements in a fixed order ([`Event`]). Each kind of statement draws its
//!    table once per event, uniformly, and each statement its id by `rand_type`.
//! 3. `read_only`, `write_only` and `read_write` wrap an event in a transaction. In the others, and with
//!    `skip_trx`, each statement is a transaction; then Syncline also counts statements as transactions,
//!    named by their kind, and reports events as a separate figure.
//! 4. Statements wait for their answers one by one; nothing is pipelined.
//! 5. An update of `k` adds one; an update of `c` writes another text. A delete and an insert of the same id
//!    belong together. Updates and deletes accept absent rows, as SQL does.
//! 6. The content of a row's texts follows from table, id and a version stored in the text; `pad` also holds
//!    the row's initial `k` (`content`). So every text that is read can be verified, and after the run the
//!    additions can be counted.
//!
//! Deviations: integers are 64 bits wide. `c` and `pad` are as long as their text (119 and 59), not padded
//! with blanks to 120 and 60. The insert after a delete replaces an existing row: at read committed, and with
//! `skip_trx`, another client may have inserted it in between, where sysbench counts an ignored error or
//! stops. With `secondary` there is a separate key with the same values as `id`, because rows are changed by
//! key: an update or delete first looks up the key in the index. `bulk_insert` sends one statement per row,
//! with `bulk_rows` per transaction, instead of one long statement; its ids start at 1 in each table.
//!
//! | file | what it holds |
//! |---|---|
//! | `options.rs`, `sysbench_test.rs` | options; the nine tests |
//! | `schema.rs`, `statements.rs` | the workload; its tables and prepared statements |
//! | `event.rs`, `content.rs`, `unique_ids.rs` | the statements of an event; the texts of a row; ids of inserted rows |
//! | `load.rs`, `transactions.rs`, `check.rs` | the load; the client; the check |

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
