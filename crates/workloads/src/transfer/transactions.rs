//! The client: draws and performs transfers.

use super::schema::{Operations, Transfer};
use crate::distributions::{Stream, Zipf};
use syncline_contract::{AccessPattern, Client, Ending, Session, Stop, Transaction};

/// The greatest sum of a transfer; the least is 1.
const SUM_MAX: u64 = 10;

/// What the check needs from a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Committed transfers.
    pub committed: u64,
    /// Transfers with unknown outcomes.
    pub unknown: u64,
}

/// A client.
#[derive(Debug)]
pub struct TransferClient {
    operations: Operations,
    accounts: u64,
    /// None: all accounts are drawn alike.
    zipf: Option<Zipf>,
    stream: Stream,
    /// The payer and the payee, which differ.
    between: [i64; 2],
    sum: i64,
    tally: Tally,
}

impl TransferClient {
    pub(super) fn new(of: &Transfer, number: usize, seed: u64) -> TransferClient {
        let accounts = of.options.accounts;
        TransferClient {
            operations: of.operations,
            accounts,
            zipf: of.options.profile.theta().map(|theta| Zipf::new(accounts, theta)),
            stream: Stream::of_client(seed, number, "transfer"),
            between: [0, 1],
            sum: 0,
            tally: Tally::default(),
        }
    }

    #[inline]
    fn draw_account(&mut self) -> i64 {
        let account = match &self.zipf {
            Some(zipf) => zipf.draw(&mut self.stream),
            None => self.stream.below(self.accounts),
        };
        account as i64
    }
}

impl Client for TransferClient {
    type Tally = Tally;

    #[inline]
    fn draw(&mut self) -> usize {
        let payer = self.draw_account();
        let mut payee = self.draw_account();
        while payee == payer {
            payee = self.draw_account();
        }
        self.between = [payer, payee];
        self.sum = 1 + self.stream.below(SUM_MAX) as i64;
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
        let Operations { read, write, .. } = self.operations;
        let [payer, payee] = self.between;
        let (lower, higher) = (payer.min(payee), payer.max(payee));
        transaction.ask(&read, (lower,))?;
        transaction.ask(&read, (higher,))?;
        let of_lower = transaction.answer(&read).await?;
        let of_higher = transaction.answer(&read).await?;
        let (of_payer, of_payee) =
            if payer < payee { (of_lower, of_higher) } else { (of_higher, of_lower) };
        if of_payer.0 < self.sum {
            return Err(Stop::Abort);
        }
        transaction.write(&write, (payer, of_payer.0 - self.sum, of_payer.1 + 1))?;
        transaction.write(&write, (payee, of_payee.0 + self.sum, of_payee.1 + 1))
    }

    #[inline]
    fn ended(&mut self, _kind: usize, ending: Ending) {
        match ending {
            Ending::Committed => self.tally.committed += 1,
            Ending::Undone => {}
            Ending::Unknown => self.tally.unknown += 1,
        }
    }

    fn tally(self) -> Tally {
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Options, Profile, Transfer};
    use syncline_contract::{Client, Workload};

    /// The share of transfers in which the first account takes part.
    fn share_of_first(profile: Profile) -> f64 {
        let load = Transfer::new(Options { profile, ..Options::default() });
        let mut client = load.client(0, 1, 7);
        let mut with_first = 0;
        for _ in 0..100_000 {
            client.draw();
            assert_ne!(client.between[0], client.between[1]);
            assert!(client.between.iter().all(|account| (0..100_000).contains(account)));
            assert!((1..=10).contains(&client.sum));
            with_first += u64::from(client.between.contains(&0));
        }
        with_first as f64 / 100_000.0
    }

    /// With shares p, the first account pays with p1, and is paid by account k with `p_k p1 / (1 - p_k)`,
    /// since a payer is not drawn again as the payee.
    #[test]
    fn the_first_account_takes_part_as_often_as_zipf_says() {
        for (profile, theta) in
            [(Profile::Zipf15, 1.5), (Profile::Zipf12, 1.2), (Profile::Zipf09, 0.9)]
        {
            let weight = |k: u64| (k as f64).powf(-theta);
            let sum: f64 = (1..=100_000).map(weight).sum();
            let first = 1.0 / sum;
            let others: f64 = (2..=100_000)
                .map(|k| {
                    let p = weight(k) / sum;
                    p / (1.0 - p)
                })
                .sum();
            let expected = first + first * others;
            let found = share_of_first(profile);
            assert!((found - expected).abs() < 0.006, "{profile:?}: {found}, expected {expected}");
        }
        assert!(share_of_first(Profile::Uniform) < 0.001);
    }
}
