//! The client: draws and performs transactions.

use super::options::{Mix, Options};
use super::schema::{NAME_BYTES, Operations, SmallBank, money, write_name};
use crate::distributions::Stream;
use syncline_contract::{AccessPattern, Client, Ending, Session, Stop, Transaction};

const BALANCE: usize = 0;
const DEPOSIT_CHECKING: usize = 1;
const TRANSACT_SAVINGS: usize = 2;
const WRITE_CHECK: usize = 3;
const AMALGAMATE: usize = 4;

/// Amounts in hundredths.
const DEPOSIT: i64 = 130;
const SAVING: i64 = 2_020;
const CHECK: i64 = 500;
const PENALTY: i64 = 100;
const PAYMENT: i64 = 500;

/// What the check needs from a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The net amount that committed transactions added to the bank, in hundredths.
    pub brought: i64,
    /// The amounts that transactions with unknown outcomes may have added.
    pub unknown: Vec<i64>,
}

/// A client.
#[derive(Debug)]
pub struct SmallBankClient {
    options: Options,
    operations: Operations,
    stream: Stream,
    /// The names of the drawn customers; the two differ.
    names: [[u8; NAME_BYTES]; 2],
    /// The change of the savings account, in hundredths.
    saves: i64,
    /// The amount that the transaction adds to the bank if it commits.
    brings: i64,
    tally: Tally,
}

impl SmallBankClient {
    pub(super) fn new(of: &SmallBank, number: usize, seed: u64) -> SmallBankClient {
        SmallBankClient {
            options: of.options,
            operations: of.operations,
            stream: Stream::of_client(seed, number, "smallbank"),
            names: [[b'0'; NAME_BYTES]; 2],
            saves: 0,
            brings: 0,
            tally: Tally::default(),
        }
    }

    #[inline]
    fn draw_customer(&mut self) -> u64 {
        let Options { customers, hot, hot_percent, .. } = self.options;
        if hot == 0 {
            self.stream.below(customers)
        } else if self.stream.percent(hot_percent) {
            self.stream.below(hot)
        } else {
            hot + self.stream.below(customers - hot)
        }
    }

    #[inline]
    fn draw_kind(&mut self) -> usize {
        let mut left = self.stream.below(100);
        for (kind, weight) in self.options.mix.weights().into_iter().enumerate() {
            if left < weight {
                return kind;
            }
            left -= weight;
        }
        unreachable!("the weights of a mix sum to a hundred")
    }

    #[inline]
    fn ask_customer<S: Session>(
        &self,
        which: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let name = str::from_utf8(&self.names[which]).expect("digits are text");
        transaction.ask(&self.operations.find, (name,))
    }

    #[inline]
    async fn customer<S: Session>(
        &self,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<i64, Stop> {
        let (id,) = transaction.answer(&self.operations.find).await?;
        Ok(id)
    }

    /// The numbers of both customers.
    #[inline]
    async fn both<S: Session>(
        &self,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(i64, i64), Stop> {
        self.ask_customer(0, transaction)?;
        self.ask_customer(1, transaction)?;
        let first = self.customer(transaction).await?;
        Ok((first, self.customer(transaction).await?))
    }

    /// The savings and the checking balance of a customer, in hundredths.
    #[inline]
    async fn balances<S: Session>(
        &self,
        id: i64,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(i64, i64), Stop> {
        let (savings, checking) = (&self.operations.savings, &self.operations.checking);
        transaction.ask(&savings.read, (id,))?;
        transaction.ask(&checking.read, (id,))?;
        let (in_savings,) = transaction.answer(&savings.read).await?;
        let (in_checking,) = transaction.answer(&checking.read).await?;
        Ok((in_savings.units, in_checking.units))
    }

    #[inline]
    async fn transact_savings<S: Session>(
        &mut self,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let savings = self.operations.savings;
        let id = self.customer(transaction).await?;
        let (balance,) = transaction.read(&savings.read_for_update, (id,)).await?;
        if balance.units + self.saves < 0 {
            return Err(Stop::Abort);
        }
        self.brings = self.saves;
        transaction.write(&savings.add, (id, money(self.saves)))
    }

    #[inline]
    async fn write_check<S: Session>(
        &mut self,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let id = self.customer(transaction).await?;
        let (in_savings, in_checking) = self.balances(id, transaction).await?;
        let is_covered = in_savings + in_checking >= CHECK;
        self.brings = if is_covered { -CHECK } else { -CHECK - PENALTY };
        transaction.write(&self.operations.checking.add, (id, money(self.brings)))
    }

    #[inline]
    async fn amalgamate<S: Session>(
        &mut self,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let (savings, checking) = (self.operations.savings, self.operations.checking);
        let (from, to) = self.both(transaction).await?;
        transaction.ask(&savings.read_for_update, (from,))?;
        transaction.ask(&checking.read_for_update, (from,))?;
        let (in_savings,) = transaction.answer(&savings.read_for_update).await?;
        let (in_checking,) = transaction.answer(&checking.read_for_update).await?;
        transaction.write(&savings.set, (from, money(0)))?;
        transaction.write(&checking.set, (from, money(0)))?;
        let all = money(in_savings.units + in_checking.units);
        transaction.write(&checking.add, (to, all))
    }

    #[inline]
    async fn send_payment<S: Session>(
        &mut self,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let checking = self.operations.checking;
        let (from, to) = self.both(transaction).await?;
        let (balance,) = transaction.read(&checking.read_for_update, (from,)).await?;
        if balance.units < PAYMENT {
            return Err(Stop::Abort);
        }
        transaction.write(&checking.add, (from, money(-PAYMENT)))?;
        transaction.write(&checking.add, (to, money(PAYMENT)))
    }
}

impl Client for SmallBankClient {
    type Tally = Tally;

    #[inline]
    fn draw(&mut self) -> usize {
        let kind = self.draw_kind();
        let first = self.draw_customer();
        write_name(first, &mut self.names[0]);
        if kind >= AMALGAMATE {
            let mut second = self.draw_customer();
            while second == first {
                second = self.draw_customer();
            }
            write_name(second, &mut self.names[1]);
        }
        if kind == TRANSACT_SAVINGS {
            let withdraws = self.options.mix == Mix::BenchBase || self.stream.percent(50);
            self.saves = if withdraws { -SAVING } else { SAVING };
        }
        kind
    }

    #[inline]
    fn access_pattern(&self, kind: usize) -> AccessPattern {
        if kind == BALANCE { AccessPattern::ReadOnly } else { AccessPattern::Several }
    }

    #[inline]
    async fn perform<S: Session>(
        &mut self,
        kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        self.brings = 0;
        if kind < AMALGAMATE {
            self.ask_customer(0, transaction)?;
        }
        match kind {
            BALANCE => {
                let id = self.customer(transaction).await?;
                self.balances(id, transaction).await?;
                Ok(())
            }
            DEPOSIT_CHECKING => {
                let id = self.customer(transaction).await?;
                self.brings = DEPOSIT;
                transaction.write(&self.operations.checking.add, (id, money(DEPOSIT)))
            }
            TRANSACT_SAVINGS => self.transact_savings(transaction).await,
            WRITE_CHECK => self.write_check(transaction).await,
            AMALGAMATE => self.amalgamate(transaction).await,
            _ => self.send_payment(transaction).await,
        }
    }

    #[inline]
    fn ended(&mut self, _kind: usize, ending: Ending) {
        match ending {
            Ending::Committed => self.tally.brought += self.brings,
            Ending::Undone => {}
            Ending::Unknown => self.tally.unknown.push(self.brings),
        }
    }

    fn tally(self) -> Tally {
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Mix, Options, SmallBank};
    use syncline_contract::{Client, Workload};

    fn kinds(mix: Mix) -> [u64; 6] {
        let load = SmallBank::new(Options { mix, ..Options::default() });
        let mut client = load.client(0, 1, 7);
        let mut kinds = [0; 6];
        for _ in 0..100_000 {
            kinds[client.draw()] += 1;
        }
        kinds
    }

    #[test]
    fn a_mix_has_its_weights() {
        for mix in Mix::ALL {
            for (count, weight) in kinds(mix).into_iter().zip(mix.weights()) {
                let expected = weight * 1_000;
                assert!(count.abs_diff(expected) < 700, "{mix:?}: {count} for {expected}");
            }
        }
    }

    #[test]
    fn nine_of_ten_customers_are_hot_and_pairs_differ() {
        let load = SmallBank::new(Options::default());
        let mut client = load.client(0, 1, 7);
        let mut hot = 0;
        for _ in 0..10_000 {
            let kind = client.draw();
            let number = |which: usize| {
                let name: String = client.names[which].iter().map(|byte| *byte as char).collect();
                name.parse::<u64>().unwrap()
            };
            assert!(number(0) < 18_000);
            assert!(kind < super::AMALGAMATE || number(0) != number(1));
            hot += u64::from(number(0) < 1_000);
        }
        assert!((8_850..=9_150).contains(&hot), "{hot}");
    }
}
