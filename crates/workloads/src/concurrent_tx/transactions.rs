//! The one transaction, and the client that performs it.
//!
//! A client remembers two bits per transaction: whether it was rolled back, and whether its outcome is known.

use super::operations::{Operations, Origin};
use super::schema::{ConcurrentTx, Options};
use crate::distributions::Stream;
use syncline_contract::{AccessPattern, Bytes, Client, Ending, Session, Stop, Transaction, Write};

/// What the check needs from a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The client's number.
    pub client: u32,
    /// The seed of its draws.
    pub seed: u64,
    /// The endings of its transactions: two bits each, four per byte.
    endings: Vec<u8>,
    /// Number of transactions.
    transactions: u64,
}

impl Tally {
    /// The tally of a client before its first transaction.
    pub(super) fn new(client: u32, seed: u64) -> Tally {
        Tally { client, seed, endings: Vec::new(), transactions: 0 }
    }

    /// Adds the ending of the next transaction.
    #[inline]
    pub(super) fn add(&mut self, ending: Ending) {
        let (byte, shift) = ((self.transactions / 4) as usize, self.transactions % 4 * 2);
        if byte == self.endings.len() {
            self.endings.push(0);
        }
        let bits = match ending {
            Ending::Undone => 0,
            Ending::Committed => 1,
            Ending::Unknown => 2,
        };
        self.endings[byte] |= bits << shift;
        self.transactions += 1;
    }

    /// Number of transactions.
    pub(super) fn transactions(&self) -> u64 {
        self.transactions
    }

    /// The ending of a transaction; undone if there is none with this number.
    pub(super) fn ending(&self, number: u64) -> Ending {
        let byte = self.endings.get((number / 4) as usize).copied().unwrap_or(0);
        match byte >> (number % 4 * 2) & 3 {
            1 => Ending::Committed,
            2 => Ending::Unknown,
            _ => Ending::Undone,
        }
    }
}

/// A client.
#[derive(Debug)]
pub struct ConcurrentTxClient {
    options: Options,
    put: Write<(Bytes, Bytes)>,
    remove: Write<(Bytes,)>,
    aborting: Stream,
    aborts: bool,
    tally: Tally,
}

impl ConcurrentTxClient {
    pub(super) fn new(of: &ConcurrentTx, number: usize, seed: u64) -> ConcurrentTxClient {
        let client = u32::try_from(number).expect("clients are counted in 32 bits");
        ConcurrentTxClient {
            options: of.options,
            put: of.put,
            remove: of.remove,
            aborting: Stream::of_client(seed, number, "aborts"),
            aborts: false,
            tally: Tally::new(client, seed),
        }
    }
}

impl Client for ConcurrentTxClient {
    type Tally = Tally;

    #[inline]
    fn draw(&mut self) -> usize {
        self.aborts = self.aborting.percent(self.options.aborts);
        0
    }

    #[inline]
    fn access_pattern(&self, _kind: usize) -> AccessPattern {
        AccessPattern::Several
    }

    #[inline]
    async fn perform<S: Session>(
        &mut self,
        _kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let (client, number) = (self.tally.client, self.tally.transactions);
        let size = self.options.transaction_size();
        let operations = Operations::of(self.tally.seed, client, number, size);
        for (operation, one) in (0..).zip(operations) {
            let key = &one.key[..size.key_bytes];
            if one.puts {
                let origin = Origin { client, transaction: number, operation };
                transaction.write(&self.put, (key, &origin.value()))?;
            } else {
                transaction.write(&self.remove, (key,))?;
            }
        }
        if self.aborts {
            return Err(Stop::Abort);
        }
        Ok(())
    }

    #[inline]
    fn ended(&mut self, _kind: usize, ending: Ending) {
        self.tally.add(ending);
    }

    fn tally(self) -> Tally {
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;
    use syncline_contract::Ending;

    #[test]
    fn endings_are_remembered() {
        let endings = [Ending::Committed, Ending::Undone, Ending::Unknown];
        let mut tally = Tally::new(1, 2);
        for number in 0..100 {
            tally.add(endings[number % 3]);
        }
        for number in 0..100 {
            assert_eq!(tally.ending(number as u64), endings[number % 3]);
        }
        assert_eq!(tally.ending(100), Ending::Undone);
        assert_eq!(tally.transactions(), 100);
    }
}
