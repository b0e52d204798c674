//! The client: draws and performs transactions.
//!
//! A client remembers sums by branch and the transactions with unknown outcomes, never its rows.

use super::options::Branch;
use super::profile::{Filler, Rules, Steps};
use super::schema::DebitCredit;
use super::tables::{NewHistory, Operations, TELLERS};
use crate::distributions::Stream;
use syncline_contract::{AccessPattern, Client, Ending, Session, Stop, Transaction, Waits};

/// The time in a client's first history row: 2020-01-01, in microseconds since 1970.
const FIRST_TIME_US: i64 = 1_577_836_800_000_000;
const NS_IN_S: f64 = 1e9;
const HISTORY_FILLER_BYTES_MAX: usize = 84;

/// A sum that was moved, or may have been, with the branches whose rows changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchDelta {
    /// The branch of the account, the branch of the teller, and the branch itself.
    pub branches: [u64; 3],
    /// The sum.
    pub delta: i64,
}

/// What the check needs from a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// For each branch, the sums committed to its accounts, its tellers and itself.
    pub committed: Vec<[i64; 3]>,
    /// Committed transactions that wrote a history row.
    pub transactions: u64,
    /// The sums that transactions with unknown outcomes may have moved.
    pub unknown: Vec<BranchDelta>,
}

/// The drawn input; numbers count from zero.
#[derive(Clone, Copy, Debug, Default)]
struct Input {
    account: u64,
    account_branch: u64,
    teller: u64,
    branch: u64,
    delta: i64,
}

/// A client.
#[derive(Debug)]
pub struct DebitCreditClient {
    rules: &'static Rules,
    operations: Operations,
    branch: Branch,
    scale: u64,
    accounts: u64,
    think_mean_ns: f64,
    stream: Stream,
    thinking: Stream,
    input: Input,
    time_us: i64,
    filler: [u8; HISTORY_FILLER_BYTES_MAX],
    tally: Tally,
}

impl DebitCreditClient {
    pub(super) fn new(of: &DebitCredit, number: usize, seed: u64) -> DebitCreditClient {
        let options = &of.options;
        DebitCreditClient {
            rules: options.rules(),
            operations: of.operations,
            branch: options.branch,
            scale: options.scale,
            accounts: options.accounts,
            think_mean_ns: options.think_s() as f64 * NS_IN_S,
            stream: Stream::of_client(seed, number, "debit-credit"),
            thinking: Stream::of_client(seed, number, "thinking"),
            input: Input::default(),
            time_us: FIRST_TIME_US,
            filler: [b' '; HISTORY_FILLER_BYTES_MAX],
            tally: Tally {
                committed: vec![[0; 3]; options.scale as usize],
                transactions: 0,
                unknown: Vec::new(),
            },
        }
    }

    #[inline]
    fn id(&self, number: u64) -> i64 {
        self.rules.first_id + number as i64
    }

    /// The account's branch: by the 85/15 rule, or any.
    #[inline]
    fn draw_account_branch(&mut self, home: u64) -> u64 {
        if self.scale == 1 || self.stream.percent(85) {
            return home;
        }
        let other = self.stream.below(self.scale - 1);
        other + u64::from(other >= home)
    }

    #[inline]
    fn add_to_account<S: Session>(&self, transaction: &mut Transaction<'_, S>) -> Result<(), Stop> {
        let parameters = (self.id(self.input.account), self.input.delta);
        transaction.write(&self.operations.add_to_account, parameters)
    }

    #[inline]
    fn ask_balance<S: Session>(&self, transaction: &mut Transaction<'_, S>) -> Result<(), Stop> {
        transaction.ask(&self.operations.read_account, (self.id(self.input.account),))
    }

    #[inline]
    async fn balance<S: Session>(&self, transaction: &mut Transaction<'_, S>) -> Result<(), Stop> {
        transaction.answer(&self.operations.read_account).await?;
        Ok(())
    }

    #[inline]
    fn add_to_teller<S: Session>(&self, transaction: &mut Transaction<'_, S>) -> Result<(), Stop> {
        let parameters = (self.id(self.input.teller), self.input.delta);
        transaction.write(&self.operations.add_to_teller, parameters)
    }

    #[inline]
    async fn change_branch<S: Session>(
        &self,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let (id, delta) = (self.id(self.input.branch), self.input.delta);
        match self.branch {
            Branch::Add => transaction.write(&self.operations.add_to_branch, (id, delta)),
            Branch::ReadWrite => {
                let (balance,) = transaction.read(&self.operations.read_branch, (id,)).await?;
                transaction.write(&self.operations.write_branch, (id, balance + delta))
            }
        }
    }

    #[inline]
    fn insert_history<S: Session>(&self, transaction: &mut Transaction<'_, S>) -> Result<(), Stop> {
        let Input { account, teller, branch, delta, .. } = self.input;
        let (teller, branch, account) = (self.id(teller), self.id(branch), self.id(account));
        let filler = &self.filler[..self.rules.history_filler_bytes];
        let letters = self.rules.filler == Filler::Letters;
        let filler = letters.then(|| str::from_utf8(filler).expect("letters are text"));
        match &self.operations.new_history {
            NewHistory::Timed(insert) => {
                let row = (teller, branch, account, delta, self.time_us, filler);
                transaction.write(insert, row)
            }
            NewHistory::Untimed(insert) => {
                transaction.write(insert, (teller, branch, account, delta, filler))
            }
        }
    }
}

impl Client for DebitCreditClient {
    type Tally = Tally;

    #[inline]
    fn draw(&mut self) -> usize {
        let tellers = self.scale * TELLERS;
        if self.rules.at_home {
            let teller = self.stream.below(tellers);
            let branch = teller / TELLERS;
            let account_branch = self.draw_account_branch(branch);
            self.input = Input {
                account: account_branch * self.accounts + self.stream.below(self.accounts),
                account_branch,
                teller,
                branch,
                delta: 0,
            };
        } else {
            let account = self.stream.below(self.scale * self.accounts);
            self.input = Input {
                account,
                account_branch: account / self.accounts,
                branch: self.stream.below(self.scale),
                teller: self.stream.below(tellers),
                delta: 0,
            };
        }
        let (least, most) = (*self.rules.deltas.start(), *self.rules.deltas.end());
        self.input.delta = self.stream.between(least, most);
        self.time_us += 1;
        if self.rules.filler == Filler::Letters {
            self.stream.fill(&mut self.filler[..self.rules.history_filler_bytes]);
        }
        0
    }

    #[inline]
    fn access_pattern(&self, _kind: usize) -> AccessPattern {
        match self.rules.steps {
            Steps::SelectOnly => AccessPattern::Single,
            _ => AccessPattern::Several,
        }
    }

    #[inline]
    fn waits(&mut self, _kind: usize) -> Waits {
        if self.think_mean_ns == 0.0 {
            return Waits::default();
        }
        // Thinking comes first, so that terminals do not all start at once.
        Waits { before_ns: self.thinking.exponential(self.think_mean_ns) as u64, after_ns: 0 }
    }

    #[inline]
    async fn perform<S: Session>(
        &mut self,
        _kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        match self.rules.steps {
            Steps::Standard => {
                self.add_to_account(transaction)?;
                self.insert_history(transaction)?;
                self.add_to_teller(transaction)?;
                self.change_branch(transaction).await?;
                self.ask_balance(transaction)?;
                self.balance(transaction).await
            }
            Steps::Pgbench => {
                self.add_to_account(transaction)?;
                self.ask_balance(transaction)?;
                self.balance(transaction).await?;
                self.add_to_teller(transaction)?;
                self.change_branch(transaction).await?;
                self.insert_history(transaction)
            }
            Steps::SimpleUpdate => {
                self.add_to_account(transaction)?;
                self.ask_balance(transaction)?;
                self.balance(transaction).await?;
                self.insert_history(transaction)
            }
            Steps::SelectOnly => {
                self.ask_balance(transaction)?;
                self.balance(transaction).await
            }
            Steps::Berkeley => {
                self.add_to_account(transaction)?;
                self.change_branch(transaction).await?;
                self.add_to_teller(transaction)?;
                self.insert_history(transaction)
            }
        }
    }

    #[inline]
    fn ended(&mut self, _kind: usize, ending: Ending) {
        if !self.rules.steps.write() {
            return;
        }
        let Input { account_branch, teller, branch, delta, .. } = self.input;
        let branches = [account_branch, teller / TELLERS, branch];
        match ending {
            Ending::Committed => {
                self.tally.transactions += 1;
                let parts = self.rules.steps.parts();
                for (part, branch) in branches.iter().enumerate().take(parts) {
                    self.tally.committed[*branch as usize][part] += delta;
                }
            }
            Ending::Undone => {}
            Ending::Unknown => self.tally.unknown.push(BranchDelta { branches, delta }),
        }
    }

    fn tally(self) -> Tally {
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use crate::AnyWorkload;
    use crate::distributions::fits;
    use syncline_contract::{Client, Workload};

    #[test]
    fn accounts_follow_the_85_15_rule() {
        let pairs = [("scale", "10"), ("accounts", "10")];
        let pairs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let Ok(AnyWorkload::DebitCredit(load)) = AnyWorkload::parse("debit-credit", &pairs) else {
            panic!("expected debit-credit");
        };
        let mut client = load.client(0, 1, 12);
        // The distance from the teller's branch to the account's, modulo ten.
        let mut counts = [0; 10];
        let mut deltas = [0; 2];
        for _ in 0..200_000 {
            client.draw();
            let input = client.input;
            assert_eq!(input.account / 10, input.account_branch);
            counts[((input.account_branch + 10 - input.branch) % 10) as usize] += 1;
            assert!((-999_999..=999_999).contains(&input.delta));
            deltas[usize::from(input.delta > 0)] += 1;
        }
        let away = 0.15 / 9.0;
        let mut shares = [away; 10];
        shares[0] = 0.85;
        assert!(fits(&counts, &shares).holds(), "{counts:?}");
        assert!(fits(&deltas, &[0.5, 0.5]).holds(), "{deltas:?}");
    }
}
