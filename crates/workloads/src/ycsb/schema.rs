//! The workload itself: its table, and the operations that the mix needs.

use super::check;
use super::content::Content;
use super::keys::{KEY_BYTES_MAX, Keys};
use super::load::LoadOrder;
use super::operation_kind::{DELETE, INSERT, MIXED, Mix, NAMES, READ_MODIFY_WRITE, SCAN, UPDATE};
use super::option_values::{Distribution, Lengths, Profile};
use super::options::Options;
use super::transactions::{Tally, YcsbClient};
use crate::distributions::{
    Exponential, Gray, Hotspot, KeyChooser, Latest, Scrambled, Sequential, Zipf, mixed,
};
use crate::rows::{NewRows, SharedRowBitmap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use syncline_contract::{
    Check, Counts, Int, Limit, Load, Lock, Many, OwnFigure, Path, Plan, Range, Read, Rows, Scan,
    Session, Set, Stop, Table, TableId, Text, Unit, Workload, Write,
};

/// Rows per page of the check.
pub(super) const PAGE_ROWS: u64 = 500;

/// A read of a row by its key.
pub(super) type Get = Read<(Text,), Many<Text>>;
/// A scan from a key with a limit: the key, then fields.
pub(super) type ScanFrom = Read<(Text, Int), Many<Text>>;

/// The operations. If single fields are read or written, there is one operation per field, in order;
/// otherwise one for all fields.
#[derive(Clone, Debug)]
pub(super) struct Operations {
    pub(super) reads: Vec<Get>,
    /// As `reads`, for a subsequent change; empty unless the mix has read-modify-writes.
    pub(super) reads_to_change: Vec<Get>,
    /// Empty unless the mix has scans.
    pub(super) scans: Vec<ScanFrom>,
    pub(super) updates: Vec<Write<Many<Text>>>,
    pub(super) insert: Write<Many<Text>>,
    /// Checks that a row exists before changing it; none unless the mix deletes.
    pub(super) is_there: Option<Read<(Text,), (Text,)>>,
    pub(super) delete: Option<Write<(Text,)>>,
    /// A page of all rows, for the check.
    pub(super) page: Read<(Text,), Many<Text>>,
}

/// The YCSB workload.
#[derive(Debug)]
pub struct Ycsb {
    pub(super) options: Options,
    plan: Plan,
    pub(super) table: TableId,
    pub(super) operations: Arc<Operations>,
    pub(super) content: Content,
    pub(super) keys: Keys,
    /// Number of fields with values; excludes the key in profile `k2`.
    pub(super) value_fields: usize,
    pub(super) new_rows: Arc<NewRows>,
    pub(super) load_order: LoadOrder,
    /// The versions of this run follow this one: zero, the version of loaded values, or a value from the
    /// run's salt if rows were kept.
    pub(super) first_version: AtomicU64,
    /// Loaded rows with an acknowledged update.
    pub(super) updated: SharedRowBitmap,
}

impl Ycsb {
    /// Its name.
    pub const NAME: &'static str = "ycsb";

    /// The workload with these options.
    pub fn new(options: Options) -> Ycsb {
        let (key, fields) = columns(&options);
        let mut plan = Plan::new();
        let field_bytes = options.field_bytes as u32;
        let mut table = Table::new(options.table.clone()).text(key.clone(), KEY_BYTES_MAX as u32);
        for field in &fields {
            table = table.text(field.clone(), field_bytes);
        }
        let table = plan.table(table.key(&[&key]));
        let operations = Declare {
            plan: &mut plan,
            table,
            key: &key,
            fields: &fields.iter().map(String::as_str).collect::<Vec<_>>(),
            options: &options,
        }
        .all();
        let keys = match options.profile {
            Profile::Ycsb => Keys::User {
                order: options.insert_order,
                digits_min: options.zero_padding as usize,
            },
            Profile::K2 => Keys::Base93 { bytes: options.field_bytes as usize },
        };
        Ycsb {
            plan,
            table,
            operations: Arc::new(operations),
            content: Content::of(&options),
            keys,
            value_fields: fields.len(),
            new_rows: Arc::new(NewRows::new(options.records)),
            load_order: LoadOrder::default(),
            first_version: AtomicU64::new(0),
            updated: SharedRowBitmap::default(),
            options,
        }
    }

    /// The mix of a client.
    pub(super) fn mix(&self) -> Mix {
        Mix::new(&self.options.weights())
    }

    /// True if rows may be updated.
    pub(super) fn updates(&self) -> bool {
        let weights = &self.options.weights();
        weights[UPDATE] > 0.0 || weights[READ_MODIFY_WRITE] > 0.0
    }

    /// True if rows may be deleted.
    pub(super) fn deletes(&self) -> bool {
        self.options.delete > 0.0
    }

    /// The key chooser of a client, and the record from which its draws count. As in YCSB only Zipf covers
    /// keys that do not exist yet; uniform, hotspot and sequential keep to loaded ones, and the others follow
    /// the newest.
    pub(super) fn chooser(&self, client: usize, clients: usize) -> (KeyChooser, u64) {
        let options = &self.options;
        let (keys, theta) = (options.drawn_keys(), options.theta);
        let requested = options.requested_records();
        let requested_count = requested.end - requested.start;
        let chooser = match options.distribution {
            Distribution::Uniform => KeyChooser::Uniform(requested_count),
            Distribution::Zipfian => KeyChooser::Zipfian(Zipf::new(keys, theta)),
            Distribution::Scrambled => KeyChooser::Scrambled(Scrambled::new(keys, theta)),
            Distribution::Latest => KeyChooser::Latest(Latest::new(options.records, theta)),
            Distribution::Hotspot => KeyChooser::Hotspot(Hotspot::new(
                requested_count,
                options.hotspot_data,
                options.hotspot_draws,
            )),
            Distribution::Sequential => {
                KeyChooser::Sequential(Sequential::new(requested_count, client, clients))
            }
            Distribution::Exponential => KeyChooser::Exponential(Exponential::new(
                options.records,
                options.exponential_percentile,
                options.exponential_data,
            )),
        };
        let follows_newest = [Distribution::Latest, Distribution::Exponential];
        if follows_newest.contains(&options.distribution) {
            (chooser, 0)
        } else {
            (chooser, requested.start)
        }
    }

    /// The number of rows in a client's scans.
    pub(super) fn scan_rows(&self) -> ScanRows {
        let (least, most) = (self.options.scan_rows_min, self.options.scan_rows_max);
        match self.options.scan_lengths {
            Lengths::Constant | Lengths::Histogram => ScanRows::Always(most),
            Lengths::Uniform => ScanRows::Between(least, most),
            Lengths::Zipfian => ScanRows::Zipfian(least, Gray::new(most - least + 1, 0.99)),
        }
    }
}

/// The number of rows in a scan.
#[derive(Clone, Debug)]
pub(super) enum ScanRows {
    Always(u64),
    Between(u64, u64),
    Zipfian(u64, Gray),
}

/// The name of the key column, and those of the value columns.
fn columns(options: &Options) -> (String, Vec<String>) {
    let name = |field| format!("{}{field}", options.field_prefix);
    match options.profile {
        Profile::Ycsb => ("ycsb_key".to_owned(), (0..options.fields).map(name).collect()),
        Profile::K2 => (name(0), (1..options.fields).map(name).collect()),
    }
}

struct Declare<'d> {
    plan: &'d mut Plan,
    table: TableId,
    key: &'d str,
    fields: &'d [&'d str],
    options: &'d Options,
}

impl<'d> Declare<'d> {
    fn all(mut self) -> Operations {
        let weights = self.options.weights();
        let (read, write) = (self.options.read_all_fields, self.options.write_all_fields);
        let table = self.table;
        let from_key = Path::by_key(table, 0, Range::From);
        Operations {
            reads: self.each(read, |declare, what, fields| {
                let name = format!("read {what}");
                declare.plan.get(name, table, fields, Lock::None)
            }),
            reads_to_change: if weights[READ_MODIFY_WRITE] > 0.0 {
                self.each(read, |declare, what, fields| {
                    let name = format!("read {what} to change");
                    declare.plan.get(name, table, fields, Lock::Update)
                })
            } else {
                Vec::new()
            },
            scans: if weights[SCAN] > 0.0 {
                self.each(read, |declare, what, fields| {
                    let columns = [&[declare.key], fields].concat();
                    let scan = Scan::ascending(from_key, Limit::Parameter, &columns);
                    declare.plan.scan(format!("scan {what}"), scan)
                })
            } else {
                Vec::new()
            },
            updates: self.each(write, |declare, what, fields| {
                let sets: Vec<_> = fields.iter().map(|field| (*field, Set::To)).collect();
                declare.plan.update(format!("update {what}"), table, &sets)
            }),
            insert: self.plan.insert("insert row", table),
            is_there: (weights[DELETE] > 0.0).then(|| {
                let columns = [self.key];
                self.plan.get("find row to change", table, &columns, Lock::Update)
            }),
            delete: (weights[DELETE] > 0.0).then(|| self.plan.delete("delete row", table)),
            page: {
                let columns = [&[self.key], self.fields].concat();
                let scan = Scan::ascending(from_key, Limit::Fixed(PAGE_ROWS), &columns);
                self.plan.scan("read rows from key", scan)
            },
        }
    }

    /// One operation for all fields, or one for each.
    fn each<T>(
        &mut self,
        all: bool,
        declare: impl Fn(&mut Declare<'d>, &str, &[&str]) -> T,
    ) -> Vec<T> {
        let fields = self.fields;
        if all {
            return vec![declare(self, "row", fields)];
        }
        let each = fields.iter();
        each.map(|field| declare(self, field, &[field])).collect()
    }
}

impl Workload for Ycsb {
    type Client = YcsbClient;

    fn name(&self) -> &'static str {
        Ycsb::NAME
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.options.pairs()
    }

    fn transactions(&self) -> &'static [&'static str] {
        &NAMES
    }

    fn always_writes(&self, transaction: usize) -> bool {
        match transaction {
            INSERT => true,
            UPDATE | READ_MODIFY_WRITE => !self.deletes(),
            _ => false,
        }
    }

    fn unit(&self) -> Unit {
        Unit { name: "operations", per_transaction: self.options.ops_per_txn }
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn loads(&self) -> Vec<Load> {
        vec![Load {
            table: self.table,
            units: self.options.loads().end - self.options.loads().start,
        }]
    }

    fn load_unit(&self, _table: TableId, number: u64, batch: &mut Rows) {
        self.load(number, batch);
    }

    fn loaded_as(&self) -> Option<String> {
        Some(self.loaded_rows())
    }

    /// Updated values can be verified in later runs too; additional or missing rows would be unknown.
    fn leaves_other_rows(&self) -> bool {
        self.options.insert > 0.0 || self.deletes()
    }

    fn run_begins(&self, salt: u64) {
        self.new_rows.reset(self.options.records);
        let first = if salt == 0 { 0 } else { mixed(salt) };
        self.first_version.store(first, Ordering::Relaxed);
        let marked = if self.updates() { self.options.records } else { 0 };
        self.updated.begin(marked);
    }

    fn figures(&self, counts: &Counts<'_>) -> Vec<OwnFigure> {
        let transactions = counts.committed.get(MIXED).copied().unwrap_or_default();
        let operations = transactions * self.options.ops_per_txn;
        let several = self.options.ops_per_txn > 1 && counts.seconds > 0.0;
        let figure = several.then(|| OwnFigure {
            name: "operations a second",
            unit: "",
            value: operations as f64 / counts.seconds,
        });
        figure.into_iter().collect()
    }

    fn client(&self, number: usize, clients: usize, seed: u64) -> YcsbClient {
        YcsbClient::new(self, number, clients, seed)
    }

    async fn check<S: Session>(
        &self,
        tallies: Vec<Tally>,
        session: &mut S,
    ) -> Result<Vec<Check>, Stop> {
        check::check(self, &tallies, session).await
    }

    fn check_names(&self) -> Vec<&'static str> {
        check::names(self)
    }
}
