//! The check: reads every row back and compares the set with what clients were acknowledged.
//!
//! A transaction with an unknown outcome may be present or absent, but as a whole. The check holds one bit
//! per drawn row; rows themselves are read a page at a time.

use super::body::Body;
use super::keys::{Keys, number_of, random_key};
use super::schema::{CheckBy, Insert, Options, PAGE_ROWS, ReadBack};
use super::transactions::Tally;
use crate::outcomes::Outcome;
use crate::violations::Violations;
use syncline_contract::{
    AccessPattern, Check, CheckOutcome, Int, Read, RequestTracker, Session, Stop, Text, Transaction,
};

const PRESENT: &str = "every acknowledged row is there";
const INTACT: &str = "every row is there once, with the bytes that were sent";
const NOTHING_ELSE: &str = "no row is there that was neither acknowledged nor unfinished";
const WHOLE: &str = "transactions of unknown outcome are there whole or not at all";

/// The names of the checks.
pub(super) fn names(options: &Options) -> Vec<&'static str> {
    let mut names = vec![PRESENT, INTACT, NOTHING_ELSE];
    names.extend((options.commit_every > 1).then_some(WHOLE));
    names
}

/// Runs all checks.
pub(super) async fn check<S: Session>(
    insert: &Insert,
    tallies: &[Tally],
    session: &mut S,
) -> Result<Vec<Check>, Stop> {
    let mut found = CheckState::new(insert, tallies);
    match &insert.read_back {
        ReadBack::Page(page) => scan(page, &mut found, session).await?,
        ReadBack::One(one) => get_each(one, &mut found, session).await?,
    }
    Ok(found.checks())
}

/// Scans the whole table, each page in its own transaction.
async fn scan<S: Session>(
    page: &Read<(Int,), (Int, Text)>,
    found: &mut CheckState<'_>,
    session: &mut S,
) -> Result<(), Stop> {
    let (mut requests, mut from) = (RequestTracker::new(false), i64::MIN);
    loop {
        session.begin(AccessPattern::Single);
        let mut transaction = Transaction::new(session, &mut requests);
        transaction.ask(page, (from,))?;
        let (mut rows, mut last) = (0, None);
        for row in transaction.answers(page).await? {
            let (key, text) = row?;
            found.row(key, text, last);
            (rows, last) = (rows + 1, Some(key));
        }
        session.commit().await?;
        match last.filter(|_| rows == PAGE_ROWS).and_then(|key| key.checked_add(1)) {
            Some(next) => from = next,
            None => return Ok(()),
        }
    }
}

/// Gets each row that must or may exist.
async fn get_each<S: Session>(
    one: &Read<(Int,), (Int, Text)>,
    found: &mut CheckState<'_>,
    session: &mut S,
) -> Result<(), Stop> {
    let mut requests = RequestTracker::new(false);
    for index in 0..found.clients.len() {
        for row in 0..found.clients[index].rows {
            let key = found.key(index, row);
            session.begin(AccessPattern::Single);
            let mut transaction = Transaction::new(session, &mut requests);
            if let Some((key, text)) = transaction.read_if_any(one, (key,)).await? {
                found.row(key, text, None);
            }
            session.commit().await?;
        }
    }
    Ok(())
}

/// One client's rows: which must exist and which were found.
#[derive(Debug)]
struct ClientRows<'a> {
    tally: &'a Tally,
    rows: u64,
    seen: Vec<u64>,
}

impl ClientRows<'_> {
    fn is_marked(&self, row: u64) -> bool {
        self.seen[(row / 64) as usize] & (1 << (row % 64)) != 0
    }

    /// Marks a row; false if it was marked already.
    fn mark(&mut self, row: u64) -> bool {
        let fresh = !self.is_marked(row);
        self.seen[(row / 64) as usize] |= 1 << (row % 64);
        fresh
    }
}

/// The results so far.
#[derive(Debug)]
struct CheckState<'a> {
    options: Options,
    clients: Vec<ClientRows<'a>>,
    body: Body,
    damaged: Violations,
    unasked: Violations,
}

impl<'a> CheckState<'a> {
    fn new(insert: &Insert, tallies: &'a [Tally]) -> CheckState<'a> {
        let commit_every = insert.options.commit_every;
        let mut clients: Vec<_> = tallies
            .iter()
            .map(|tally| {
                let rows = tally.transactions.count() * commit_every;
                let seen = vec![0; rows.div_ceil(64) as usize];
                ClientRows { tally, rows, seen }
            })
            .collect();
        clients.sort_by_key(|client| client.tally.client);
        CheckState {
            options: insert.options,
            body: Body::new(tallies.first().map_or(0, |tally| tally.seed)),
            clients,
            damaged: Violations::default(),
            unasked: Violations::default(),
        }
    }

    /// The key of a client's row.
    fn key(&self, index: usize, row: u64) -> i64 {
        let tally = self.clients[index].tally;
        let number = row * tally.clients + u64::from(tally.client);
        match self.options.keys {
            Keys::Random => random_key(number, tally.seed),
            Keys::Ascending | Keys::Server => number as i64,
        }
    }

    /// Checks a row of the store; `before` is the key of the previous row in a scan.
    fn row(&mut self, key: i64, text: &str, before: Option<i64>) {
        if before.is_some_and(|before| before >= key) {
            self.damaged.add(|| format!("key {key} is returned twice or out of order"));
            return;
        }
        let identified = self.body.read(text);
        let Some((client, row)) = self.by_key(key, identified) else {
            self.unknown_row(key, identified);
            return;
        };
        if identified != Some((client, row)) {
            self.damaged.add(|| {
                format!(
                    "key {key}, row {row} of client {client}, differs from the bytes that were sent"
                )
            });
        }
        let index = self.clients.binary_search_by_key(&client, |of| of.tally.client);
        let of_client = index.ok().map(|index| &mut self.clients[index]);
        match of_client.filter(|of| row < of.rows) {
            Some(of) => {
                if !of.mark(row) {
                    self.damaged.add(|| {
                        format!("row {row} of client {client} exists twice, again at key {key}")
                    });
                }
            }
            None => self.unasked.add(|| {
                format!("key {key} holds row {row} of client {client}, whose transaction was rolled back or never sent")
            }),
        }
    }

    /// The client and row: by the key if clients choose keys, otherwise by the text.
    fn by_key(&self, key: i64, identified: Option<(u32, u64)>) -> Option<(u32, u64)> {
        let (clients, seed) = self.clients.first().map(|of| (of.tally.clients, of.tally.seed))?;
        let number = match self.options.keys {
            Keys::Server => return identified,
            Keys::Ascending => u64::try_from(key).ok()?,
            Keys::Random => number_of(key, seed)?,
        };
        Some(((number % clients) as u32, number / clients))
    }

    /// Records a row that no client can have sent.
    fn unknown_row(&mut self, key: i64, identified: Option<(u32, u64)>) {
        if self.options.keys == Keys::Server && identified.is_none() {
            self.damaged.add(|| format!("key {key} holds bytes that no client sent"));
        } else {
            self.unasked.add(|| format!("key {key} was never used by a client"));
        }
    }

    fn checks(self) -> Vec<Check> {
        let (mut missing, mut torn) = (Violations::default(), Violations::default());
        for of in &self.clients {
            of_one_client(of, self.options.commit_every, &mut missing, &mut torn);
        }
        let nothing_else = match self.options.check {
            CheckBy::Scan => self.unasked.check(NOTHING_ELSE),
            CheckBy::Get => Check {
                name: NOTHING_ELSE.to_owned(),
                outcome: CheckOutcome::NotApplicable(
                    "rows were read by key (check=get), which cannot find additional rows"
                        .to_owned(),
                ),
            },
        };
        let mut checks = vec![missing.check(PRESENT), self.damaged.check(INTACT), nothing_else];
        if self.options.commit_every > 1 {
            checks.push(torn.check(WHOLE));
        }
        checks
    }
}

/// Checks a client for missing acknowledged rows and for partially present unknown transactions.
fn of_one_client(
    of: &ClientRows<'_>,
    commit_every: u64,
    missing: &mut Violations,
    torn: &mut Violations,
) {
    let client = of.tally.client;
    for transaction in 0..of.tally.transactions.count() {
        let rows = transaction * commit_every..(transaction + 1) * commit_every;
        if of.tally.transactions.of(transaction) == Outcome::Unknown {
            let seen = rows.clone().filter(|row| of.is_marked(*row)).count() as u64;
            if seen != 0 && seen != commit_every {
                torn.add(|| {
                    format!(
                        "{seen} of {commit_every} rows from row {} of client {client} on",
                        rows.start
                    )
                });
            }
        } else {
            for row in rows.filter(|row| !of.is_marked(*row)) {
                missing
                    .add(|| format!("row {row} of client {client} was acknowledged but is gone"));
            }
        }
    }
}
