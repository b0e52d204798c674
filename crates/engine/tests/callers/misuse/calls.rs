//! The table of calls, and what each of them needs.

#![allow(
    clippy::unnecessary_wraps,
    clippy::unit_arg,
    clippy::redundant_closure_for_method_calls,
    reason = "each call is one line of the table, in the same form"
)]

use super::expected::{
    BEGINS, CLOSURE, COLUMN, COMMITS, GATE, KEY, LOG, MARK, NAME, OPEN, ORIGIN, ROW, TABLE, TICKET,
    WAITS, WRITES,
};
use super::fixture::{Fixture, schema};
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use syncline_engine::{
    BackupOptions, Begin, Change, Direction, Error, KeyRange, Kind, PrefetchKey, Result, Row,
    Transaction, Value,
};

/// A call; `run` returns none if there is no database to call.
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) needs: u32,
    pub(super) run: fn(&mut Fixture) -> Option<Result<()>>,
}

const fn call(name: &'static str, needs: u32, run: fn(&mut Fixture) -> Option<Result<()>>) -> Call {
    Call { name, needs, run }
}

fn done<T>(result: Result<T>) -> Option<Result<()>> {
    Some(result.map(drop))
}

fn always<T>(_answer: T) -> Option<Result<()>> {
    Some(Ok(()))
}

fn visit(panics: bool) -> impl FnMut(Row<'_>) -> Result<ControlFlow<()>> {
    move |row| {
        assert!(!panics, "a bug of the caller");
        row.value(0).map(|_| ControlFlow::Continue(()))
    }
}

/// The result of a future, if it is complete.
fn polled(future: impl Future<Output = Result<()>>) -> Option<Result<()>> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Some(outcome),
        Poll::Pending => Some(Ok(())),
    }
}

const READ: u32 = OPEN | TABLE | KEY;
const UP: Direction = Direction::Ascending;

/// Calls that depend on the state of database, session or handle.
pub(super) const CALLS: &[Call] = &[
    call("TypedSession::get", READ, |w| done(w.session.get(&w.table, &w.key))),
    call("TypedSession::get_prefetched", OPEN | TABLE, |w| {
        done(w.session.get_prefetched(&w.table, &w.prefetch_key))
    }),
    call("TypedSession::show_prefetched", OPEN | TABLE | CLOSURE, |w| {
        let panics = w.panics();
        let look = |_: Row<'_>| assert!(!panics, "a bug of the caller");
        done(w.session.show_prefetched(&w.table, &w.prefetch_key, look))
    }),
    call("TypedSession::get_by", READ, |w| {
        let by_name = w.table.by("by_name").unwrap();
        done(w.session.get_by(by_name, &w.name))
    }),
    call("TypedSession::scan", READ | CLOSURE, |w| {
        let visit = visit(w.panics());
        done(w.session.scan(&w.table, KeyRange::prefix(&w.key), UP, 9, visit))
    }),
    call("TypedSession::scan_keys", READ | CLOSURE, |w| {
        let (visit, by_name) = (visit(w.panics()), w.table.by("by_name").unwrap());
        done(w.session.scan_keys(by_name, KeyRange::prefix(&w.name), UP, 9, visit))
    }),
    call("common_calls!::insert", OPEN | TABLE | WRITES | ROW, |w| {
        done(w.session.insert(&w.table, &w.row))
    }),
    call("common_calls!::put", OPEN | TABLE | WRITES | ROW, |w| {
        done(w.session.put(&w.table, &w.row))
    }),
    call("common_calls!::update", READ | WRITES | COLUMN, |w| {
        let change = Change::set(w.column, Value::Int(11));
        done(w.session.update(&w.table, &w.key, &[change]))
    }),
    call("common_calls!::delete", READ | WRITES, |w| done(w.session.delete(&w.table, &w.key))),
    call("common_calls!::exists", READ, |w| done(w.session.exists(&w.table, &w.key))),
    call("common_calls!::count", READ, |w| {
        done(w.session.count(&w.table, KeyRange::prefix(&w.key)))
    }),
    call("common_calls!::get_many", READ, |w| {
        done(w.session.get_many(&w.table, [&w.key[..], &w.key[..]]))
    }),
    call("common_calls!::insert_or_ignore", OPEN | TABLE | WRITES | ROW, |w| {
        done(w.session.insert_or_ignore(&w.table, &w.row))
    }),
    call("common_calls!::upsert", OPEN | TABLE | WRITES | ROW | COLUMN, |w| {
        let change = Change::set(w.column, 11);
        done(w.session.upsert(&w.table, &w.row, &[change]))
    }),
    call("common_calls!::delete_range", READ | WRITES, |w| {
        done(w.session.delete_range(&w.table, KeyRange::prefix(&w.key)))
    }),
    call("common_calls!::mark", OPEN, |w| done(w.session.mark())),
    call("common_calls!::rollback_to", OPEN | MARK, |w| done(w.session.rollback_to(w.mark?))),
    call("common_calls!::read_point", OPEN, |w| done(w.session.read_point())),
    call("TypedSession::begin", BEGINS, |w| done(w.session.begin(Begin::Snapshot))),
    call("TypedSession::begin_exclusive", BEGINS | GATE, |w| done(w.session.begin_exclusive())),
    call("TypedSession::transaction", BEGINS, |w| done(w.session.transaction(Begin::ReadOnly))),
    call("TypedSession::run", BEGINS | CLOSURE, |w| {
        done(w.session.run(Begin::ReadOnly, |_| Ok::<_, Error>(())))
    }),
    call("TypedSession::prepare_key", ORIGIN | KEY, |w| {
        done(w.session.prepare_key(&w.table, &w.key, &mut PrefetchKey::default()))
    }),
    call("TypedSession::is_open", 0, |w| always(w.session.is_open())),
    call("TypedSession::commit", OPEN | COMMITS, |w| done(w.session.commit())),
    call("TypedSession::commit_unsynced", OPEN | COMMITS, |w| done(w.session.commit_unsynced())),
    call("TypedSession::record_bytes_max", 0, |w| always(w.session.record_bytes_max())),
    call("TypedSession::wait", TICKET | WAITS, |w| done(w.session.wait(w.ticket))),
    call("TypedSession::acknowledged", 0, |w| always(w.session.acknowledged(w.ticket))),
    call("TypedSession::abort", 0, |w| always(w.session.abort())),
    call("Transaction::commit", BEGINS, |w| {
        let transaction = w.session.transaction(Begin::Serializable);
        done(transaction.and_then(|transaction| transaction.commit()))
    }),
    call("Transaction::abort", BEGINS, |w| {
        let transaction = w.session.transaction(Begin::Serializable);
        done(transaction.map(|transaction| transaction.abort()))
    }),
    call("Transaction::get", TABLE | KEY | WAITS, |w| {
        done(w.database.clone()?.read(|tx| tx.get(&w.table, &w.key)))
    }),
    call("Transaction::get_prefetched", TABLE | WAITS, |w| {
        done(w.database.clone()?.read(|tx| tx.get_prefetched(&w.table, &w.prefetch_key)))
    }),
    call("Transaction::show_prefetched", TABLE | CLOSURE | WAITS, |w| {
        let panics = w.panics();
        done(w.database.clone()?.read(|tx| {
            let look = |_: Row<'_>| assert!(!panics, "a bug of the caller");
            tx.show_prefetched(&w.table, &w.prefetch_key, look)
        }))
    }),
    call("Transaction::get_by", TABLE | KEY | WAITS, |w| {
        done(w.database.clone()?.read(|tx| tx.get_by(w.table.by("by_name")?, &w.name)))
    }),
    call("Transaction::rows", TABLE | KEY | WAITS, |w| {
        done(w.database.clone()?.read(|tx| {
            let rows = tx.rows(&w.table, KeyRange::prefix(&w.key))?;
            rows.map(|row| row.map(drop)).collect::<Result<Vec<_>>>()
        }))
    }),
    call("Transaction::keys", TABLE | KEY | WAITS, |w| {
        done(w.database.clone()?.read(|tx| {
            let rows = tx.keys(w.table.by("by_name")?, KeyRange::prefix(&w.name))?;
            rows.map(|row| row.map(drop)).collect::<Result<Vec<_>>>()
        }))
    }),
    call("Transaction::first", TABLE | KEY | WAITS, |w| {
        done(w.database.clone()?.read(|tx| tx.first(&w.table, KeyRange::prefix(&w.key))))
    }),
    call("Transaction::last", TABLE | KEY | WAITS, |w| {
        done(w.database.clone()?.read(|tx| tx.last(&w.table, KeyRange::prefix(&w.key))))
    }),
    call("Transaction::scan", TABLE | KEY | CLOSURE | WAITS, |w| {
        let panics = w.panics();
        done(
            w.database
                .clone()?
                .read(|tx| tx.scan(&w.table, KeyRange::prefix(&w.key), UP, 9, visit(panics))),
        )
    }),
    call("Transaction::scan_keys", TABLE | KEY | CLOSURE | WAITS, |w| {
        let panics = w.panics();
        done(w.database.clone()?.read(|tx| {
            tx.scan_keys(w.table.by("by_name")?, KeyRange::prefix(&w.name), UP, 9, visit(panics))
        }))
    }),
    call("Database::read", TABLE | KEY | CLOSURE | WAITS, |w| {
        let panics = w.panics();
        done(w.database.clone()?.read(|tx| {
            assert!(!panics, "a bug of the caller");
            tx.exists(&w.table, &w.key)
        }))
    }),
    call("Database::run_async", TABLE | GATE | ROW | CLOSURE | LOG, |w| {
        let panics = w.panics();
        let (table, row) = (&w.table, &w.row);
        polled(w.database.clone()?.run_async(|tx| {
            assert!(!panics, "a bug of the caller");
            tx.put(table, row)
        }))
    }),
    call("Database::sequence", GATE | WAITS, |w| done(w.database()?.sequence("ids"))),
    call("Sequence::next", GATE | LOG | WAITS, |w| {
        done(w.database()?.sequence("ids").and_then(|ids| ids.next()))
    }),
    call("Database::open_or_create_table", NAME | WAITS, |w| {
        done(w.database()?.open_or_create_table(schema("t")))
    }),
    call("Database::create_table", GATE, |w| done(w.database()?.create_table(schema("new")))),
    call("Database::load_table", GATE | CLOSURE, |w| {
        let panics = w.panics();
        let rows = [1, 2]
            .map(|key| [Value::Int(key), Value::Text(["a", "b"][key as usize - 1]), Value::Int(1)]);
        let rows = rows.into_iter().inspect(move |_| assert!(!panics, "a bug of the caller"));
        done(w.database()?.load_table(schema("loaded"), rows))
    }),
    call("Database::table", NAME | WAITS, |w| done(w.database()?.table("t"))),
    call("Database::tables", 0, |w| always(w.database()?.tables())),
    call("Database::drop_table", GATE | NAME, |w| done(w.database()?.drop_table("t"))),
    call("Database::truncate_table", GATE | NAME, |w| done(w.database()?.truncate_table("t"))),
    call("Database::rename_table", GATE | NAME, |w| done(w.database()?.rename_table("t", "u"))),
    call("Database::change_table", GATE | NAME, |w| {
        let more = schema("t").with_nullable("extra", Kind::Int, Value::Null);
        done(w.database()?.change_table(&more.unwrap()))
    }),
    call("Database::session", 0, |w| done(w.database()?.session())),
    call("Database::run", TABLE | GATE | ROW | CLOSURE | LOG, |w| {
        let panics = w.panics();
        let (table, row) = (&w.table, &w.row);
        done(w.database.clone()?.run(|tx| {
            assert!(!panics, "a bug of the caller");
            tx.put(table, row)
        }))
    }),
    call("Database::checkpoint", GATE, |w| done(w.database()?.checkpoint())),
    call("Database::backup", GATE, |w| {
        let options = BackupOptions { bytes_per_second: Some(u64::MAX) };
        done(w.database()?.backup("copy", options))
    }),
    call("Database::compact", GATE, |w| done(w.database()?.compact())),
    call("Database::durable_lsn", 0, |w| always(w.database()?.durable_lsn())),
    call("Database::flush", LOG | WAITS, |w| done(w.database()?.flush())),
    call("Database::completion", TICKET, |w| polled(w.database()?.completion(w.ticket))),
    call("Database::worker", 0, |w| always(w.database()?.worker())),
    call("Database::prefetcher", 0, |w| always(w.database()?.prefetcher())),
    call("Database::is_read_only", 0, |w| always(w.database()?.is_read_only())),
    call("Database::archive_failure", 0, |w| always(w.database()?.archive_failure())),
    call("Database::settings", LOG, |w| done(w.database()?.settings())),
    call("Database::options", 0, |w| always(w.database()?.options())),
    call("Database::stats", 0, |w| always(w.database()?.stats())),
    call("Database::take_commit_paths", 0, |w| always(w.database()?.take_commit_paths())),
    call("Database::verify", GATE, |w| done(w.database()?.verify())),
    call("Database::inspect", WAITS | LOG, |w| done(w.database()?.inspect())),
    call("Database::pages_of", TABLE, |w| done(w.database()?.pages_of(&w.table))),
    call("Database::close", GATE, |w| {
        // Another owner prevents closing: then there is nothing to test.
        match Arc::try_unwrap(w.database.take()?) {
            Ok(database) => done(database.close()),
            Err(shared) => {
                w.database = Some(shared);
                None
            }
        }
    }),
    call("Database::large_objects", GATE | LOG, |w| done(w.database()?.large_objects("new"))),
    call("LargeObjects::write", GATE | LOG, |w| {
        let database = w.database()?;
        let objects = database.large_objects("new");
        done(objects.and_then(|objects| objects.write(&database).map(drop)))
    }),
    call("LargeObjects::read", GATE | LOG, |w| {
        let database = w.database()?;
        let objects = database.large_objects("new");
        done(objects.and_then(|objects| {
            database.run(|transaction| objects.read(transaction, i64::MIN).map(drop))
        }))
    }),
    call("LargeObjects::delete", GATE | LOG, |w| {
        let database = w.database()?;
        let objects = database.large_objects("new");
        done(
            objects.and_then(|objects| {
                database.run(|transaction| objects.delete(transaction, i64::MAX))
            }),
        )
    }),
    call("LargeObjectWriter::finish", GATE | LOG | CLOSURE, |w| {
        let panics = w.panics();
        let database = w.database()?;
        let objects = database.large_objects("new");
        let body = move |_: &mut Transaction<'_, _>, _: i64| {
            assert!(!panics, "a bug of the caller");
            Ok(())
        };
        done(objects.and_then(|objects| objects.write(&database)?.finish(body)))
    }),
    call("Worker::begin_pass", 0, |w| always(w.worker.begin_pass())),
    call("Worker::end_pass", 0, |w| always(w.worker.end_pass())),
    call("Worker::has_clients", 0, |w| always(w.worker.has_clients(usize::MAX))),
    call("Worker::staged", 0, |w| always(w.worker.staged(usize::MAX))),
    call("Worker::completion", TICKET, |w| polled(w.worker.completion(w.ticket))),
    call("Prefetcher::add", ORIGIN, |w| done(w.prefetcher.add(&w.table, &w.prefetch_key))),
    call("Prefetcher::add_missing", ORIGIN, |w| {
        done(w.prefetcher.add_missing(&w.table, &w.prefetch_key))
    }),
    call("Prefetcher::add_writes", 0, |w| always(w.prefetcher.add_writes(&w.session))),
    call("Prefetcher::prefetch", 0, |w| always(w.prefetcher.prefetch())),
    call("Prefetcher::begin", 0, |w| always(w.prefetcher.begin())),
    call("Prefetcher::load", 0, |w| always(w.prefetcher.load(usize::MAX))),
    call("Prefetcher::is_loaded", 0, |w| {
        always(w.prefetcher.load(0).map(|load| w.prefetcher.is_loaded(load)))
    }),
    call("Prefetcher::is_loading", 0, |w| always(w.prefetcher.is_loading())),
    call("Prefetcher::wait", WAITS, |w| done(w.prefetcher.wait())),
    call("Prefetcher::set_hint", 0, |w| {
        always(w.prefetcher.set_hint(usize::MAX, &mut w.prefetch_key))
    }),
    call("Row::get", READ | COLUMN, |w| {
        let (column, row) = (w.column, w.session.get(&w.table, &w.key));
        done(row.and_then(|row| row.map(|row| row.get::<Value<'_>>(column).map(drop)).transpose()))
    }),
    call("OwnedRow::get", TABLE | KEY | COLUMN | WAITS, |w| {
        done(w.database.clone()?.read(|tx| {
            let row = tx.get(&w.table, &w.key)?;
            row.map(|row| row.get::<Value<'_>>(w.column).map(drop)).transpose()
        }))
    }),
    call("OwnedRow::value", TABLE | KEY | COLUMN | WAITS, |w| {
        done(w.database.clone()?.read(|tx| {
            let row = tx.get(&w.table, &w.key)?;
            row.map(|row| row.value(w.column).map(drop)).transpose()
        }))
    }),
    call("Rows::next_row", TABLE | KEY | WAITS, |w| {
        done(
            w.database
                .clone()?
                .read(|tx| tx.rows(&w.table, KeyRange::prefix(&w.key))?.next_row().map(drop)),
        )
    }),
    call("Rows::next_row_back", TABLE | KEY | WAITS, |w| {
        done(
            w.database
                .clone()?
                .read(|tx| tx.rows(&w.table, KeyRange::prefix(&w.key))?.next_row_back().map(drop)),
        )
    }),
    call("Row::value", READ | COLUMN, |w| {
        let row = w.session.get(&w.table, &w.key);
        done(row.and_then(|row| row.expect("the row is there").value(w.column).map(drop)))
    }),
];

/// Functions that depend only on their arguments and accept any of their type.
pub(super) const PURE: &[&str] = &[
    "Builder::column",
    "Builder::index",
    "Builder::key",
    "Builder::nullable",
    "Builder::unique",
    "Change::add",
    "Change::at_least",
    "Change::at_most",
    "Change::column",
    "Change::set",
    "Column::default",
    "Column::is_nullable",
    "Column::kind",
    "Column::name",
    "Column::since",
    "CommitPath::total_ns",
    "Conflict::word",
    "Counts::conflicts_by",
    "DatabaseId::random",
    "Distribution::mean",
    "Durability::word",
    "Index::columns",
    "LargeObjectReader::len_bytes",
    "LargeObjectWriter::id",
    "LargeObjectWriter::len_bytes",
    "LargeObjects::table",
    "Index::is_unique",
    "Index::name",
    "KeyPart::nulls_first",
    "KeyPart::nulls_last",
    "Options::tiny",
    "PathStep::name",
    "Builder::column_of",
    "Date::days",
    "Date::from_days",
    "Date::from_ymd",
    "Date::ymd",
    "Metrics::all",
    "Metrics::value",
    "OwnedRow::as_row",
    "OwnedRow::read",
    "OwnedRow::schema",
    "OwnedRow::values",
    "OwnedValue::as_value",
    "Row::field",
    "Row::into_owned",
    "Row::read",
    "Row::schema",
    "Row::values",
    "Rows::limit",
    "Schema::column",
    "Schema::columns",
    "Schema::index",
    "Schema::indexes",
    "Schema::key",
    "Schema::name",
    "Schema::table",
    "Schema::version",
    "Stats::metrics",
    "Table::name",
    "Table::schema",
    "Texts::ends",
    "Texts::text",
    "Ticket::csn",
    "Value::as_bool",
    "Value::as_bytes",
    "Value::as_date",
    "Value::as_decimal",
    "Value::as_float",
    "Value::as_int",
    "Value::as_text",
    "Value::as_timestamp",
    "Value::as_unsigned",
    "Value::as_uuid",
    "Value::is_null",
    "Value::kind",
    "asc",
    "desc",
];

/// The log without a database, which has its own tests in `log/tests`: its callers order commits themselves,
/// and each function documents what they must not do between number and record.
pub(super) const ALONE: &[&str] = &[
    "Log::archive_failure",
    "Log::close",
    "Log::completion",
    "Log::create",
    "Log::flush",
    "Log::durable_lsn",
    "Log::nudge",
    "Log::open",
    "Log::release",
    "Log::reserve",
    "Log::settings",
    "Log::stats",
    "Log::try_reserve",
    "Log::wait",
    "Log::worker",
    "Permit::take",
    "Reserved::csn",
    "Reserved::publish",
    "Reserved::void",
];
