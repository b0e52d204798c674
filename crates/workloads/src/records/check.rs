//! The check: reads every record back, compares every byte, and compares the set of records with what was
//! loaded and acknowledged.

use super::table::{PAGE_ROWS, Table};
use super::tasks::Tally;
use crate::rows::{Expected, RowSet};
use crate::violations::Violations;
use syncline_contract::{AccessPattern, Check, RequestTracker, Session, Stop, Transaction};

const BYTES: &str = "every record holds the bytes that were written";
const READS: &str = "every read answered its record, byte for byte";

/// The names of the checks.
pub(crate) const NAMES: [&str; 3] = [Expected::NAME, BYTES, READS];

/// Runs all checks.
pub(crate) async fn check<S: Session>(
    table: &Table,
    tallies: &[Tally],
    session: &mut S,
) -> Result<Vec<Check>, Stop> {
    let mut expected = Expected::default();
    (0..table.prewritten).for_each(|number| expected.present.add(number));
    let mut reads = Violations::default();
    for tally in tallies {
        expected.present.merge(tally.written);
        expected.perhaps.extend_from_slice(&tally.perhaps);
        reads.merge(&tally.wrong);
    }
    expected.sort();
    let (mut records_found, mut damaged) = (RowSet::default(), Violations::default());
    let (mut requests, mut from) = (RequestTracker::new(false), i64::MIN);
    loop {
        requests.clear();
        session.begin(AccessPattern::Single);
        let mut transaction = Transaction::new(session, &mut requests);
        transaction.ask(&table.page, (from,))?;
        let (mut rows, mut last) = (0, None);
        for row in transaction.answers(&table.page).await? {
            let (id, bytes) = row?;
            if last.is_some_and(|last| last >= id) {
                damaged.add(|| format!("record {id} is returned twice or out of order"));
            }
            (rows, last) = (rows + 1, Some(id));
            let number = id.cast_unsigned();
            if bytes != table.bytes.of(number) {
                damaged.add(|| format!("record {id} differs from the bytes that were written"));
            }
            if expected.counts(number) {
                records_found.add(number);
            }
        }
        session.commit().await?;
        let next = last.filter(|_| rows == PAGE_ROWS);
        match next.and_then(|last| last.checked_add(1)) {
            Some(next) => from = next,
            None => break,
        }
    }
    Ok(vec![expected.check(records_found), damaged.check(BYTES), reads.check(READS)])
}
