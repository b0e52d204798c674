//! The workload itself: its names, its notice, and the rate that its scale permits.

use super::check;
use super::load;
use super::options::{ACCOUNTS, Options};
use super::profile::{Profile, Steps};
use super::tables::{CheckQueries, Operations, Tables, check_queries, operations, tables};
use super::transactions::{DebitCreditClient, Tally};
use syncline_contract::{
    Check, Counts, Load, OwnFigure, Plan, ResponseBound, Rows, Session, Stop, TableId, Workload,
};

/// Terminals per branch in TPC-A; equal to its tellers.
const TERMINALS: u64 = 10;

/// The debit-credit workload.
#[derive(Debug)]
pub struct DebitCredit {
    pub(super) options: Options,
    plan: Plan,
    pub(super) tables: Tables,
    pub(super) operations: Operations,
    pub(super) check_queries: CheckQueries,
}

impl DebitCredit {
    /// Its name.
    pub const NAME: &'static str = "debit-credit";

    /// The workload with these options.
    pub fn new(options: Options) -> DebitCredit {
        let mut plan = Plan::new();
        plan.pipeline = !options.rules().steps.wait_for_each();
        let tables = tables(options.rules(), &mut plan);
        DebitCredit {
            options,
            operations: operations(&tables, options.rules(), &mut plan),
            check_queries: check_queries(&tables, &mut plan),
            tables,
            plan,
        }
    }
}

impl Workload for DebitCredit {
    type Client = DebitCreditClient;

    fn name(&self) -> &'static str {
        DebitCredit::NAME
    }

    fn notice(&self) -> Option<&'static str> {
        let is_scaled = self.options.accounts == ACCOUNTS;
        Some(match (self.options.profile, is_scaled) {
            (Profile::Tpca, true) => "derived from TPC-A, not comparable to published TPC results",
            (Profile::Tpca, false) => {
                "derived from TPC-A, not comparable to published TPC results; not scaled: a branch \
                 has another number of accounts than 100,000"
            }
            (_, true) => "derived from TPC-B, not comparable to published TPC results",
            (_, false) => {
                "derived from TPC-B, not comparable to published TPC results; not scaled: a branch \
                 has another number of accounts than 100,000"
            }
        })
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.options.pairs()
    }

    fn transactions(&self) -> &'static [&'static str] {
        match self.options.rules().steps {
            Steps::SelectOnly => &["select balance"],
            Steps::SimpleUpdate => &["simple update"],
            Steps::Standard | Steps::Pgbench | Steps::Berkeley => &["debit credit"],
        }
    }

    fn always_writes(&self, _transaction: usize) -> bool {
        match self.options.rules().steps {
            Steps::SelectOnly => false,
            Steps::SimpleUpdate | Steps::Standard | Steps::Pgbench | Steps::Berkeley => true,
        }
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn loads(&self) -> Vec<Load> {
        load::loads(self)
    }

    fn load_unit(&self, table: TableId, number: u64, batch: &mut Rows) {
        load::unit(self, table, number, batch);
    }

    fn loaded_as(&self) -> Option<String> {
        let Options { profile, scale, accounts, .. } = self.options;
        // Every other profile leaves changed balances and a history behind.
        (profile == Profile::PgbenchSelectOnly).then(|| {
            format!("{scale} branches of {accounts} accounts as {} has them", profile.word())
        })
    }

    fn client(&self, number: usize, _clients: usize, seed: u64) -> DebitCreditClient {
        DebitCreditClient::new(self, number, seed)
    }

    fn response_bounds(&self) -> Vec<ResponseBound> {
        let bound = ResponseBound { transaction: 0, percent: 90, within_ns: 2_000_000_000 };
        self.options.rules().judged.then_some(bound).into_iter().collect()
    }

    fn figures(&self, counts: &Counts<'_>) -> Vec<OwnFigure> {
        let figure = || against_scale(counts, &self.options);
        self.options.rules().judged.then(figure).into_iter().collect()
    }

    async fn check<S: Session>(
        &self,
        tallies: Vec<Tally>,
        session: &mut S,
    ) -> Result<Vec<Check>, Stop> {
        check::check(self, tallies, session).await
    }

    fn check_names(&self) -> Vec<&'static str> {
        check::names(&self.options)
    }
}

/// The ratio of the rate to what the scale permits: one transaction per second for each branch. The result
/// counts as scaled only if every rule is kept: the rate, the accounts per branch and, with terminals, their
/// number. Arrivals are random, so up to three standard deviations of a Poisson count above the rate still
/// count as scaled.
fn against_scale(counts: &Counts<'_>, options: &Options) -> OwnFigure {
    let committed: u64 = counts.committed.iter().sum();
    let allowed = options.scale as f64 * counts.seconds;
    let terminals = options.scale * TERMINALS;
    let has_terminals = options.profile != Profile::Tpca || counts.clients as u64 == terminals;
    let most = allowed + 3.0 * allowed.sqrt();
    let is_scaled = committed as f64 <= most && options.accounts == ACCOUNTS && has_terminals;
    OwnFigure {
        name: if is_scaled {
            "times the rate that the scale allows (scaled)"
        } else if committed as f64 > most {
            "times the rate that the scale allows (not scaled): scale too small for this rate, TPC-A and \
             TPC-B require 1 branch per transaction/s"
        } else {
            "times the rate that the scale allows (not scaled): accounts or terminals differ from what TPC-A and \
             TPC-B require"
        },
        unit: "",
        value: committed as f64 / allowed,
    }
}

#[cfg(test)]
mod tests {
    use super::{DebitCredit, Options, Profile};
    use syncline_contract::{Counts, Workload};

    fn with(profile: Profile, scale: u64, accounts: u64) -> DebitCredit {
        DebitCredit::new(Options { profile, scale, accounts, ..Options::default() })
    }

    fn figure(profile: Profile, committed: u64) -> Option<(&'static str, f64)> {
        figure_of(profile, committed, 100_000, 100)
    }

    fn figure_of(
        profile: Profile,
        committed: u64,
        accounts: u64,
        clients: usize,
    ) -> Option<(&'static str, f64)> {
        let counts = Counts { seconds: 10.0, clients, committed: &[committed], aborted: &[0] };
        let figures = with(profile, 10, accounts).figures(&counts);
        figures.first().map(|figure| (figure.name, figure.value))
    }

    #[test]
    fn a_rate_above_the_scale_is_not_scaled() {
        for profile in [Profile::Tpca, Profile::Tpcb] {
            let (name, value) = figure(profile, 100).unwrap();
            assert!(name.ends_with("(scaled)") && (value - 1.0).abs() < 1e-9);
            assert!(figure(profile, 130).unwrap().0.ends_with("(scaled)"));
            let (name, _) = figure(profile, 131).unwrap();
            assert!(name.contains("(not scaled): scale too small"), "{name}");
        }
        assert_eq!(figure(Profile::Pgbench, 1), None);
    }

    #[test]
    fn a_scaled_result_keeps_every_rule_of_scale() {
        let is_scaled = |profile, accounts, clients| {
            let (name, _) = figure_of(profile, 50, accounts, clients).unwrap();
            name.ends_with("(scaled)")
        };
        assert!(is_scaled(Profile::Tpca, 100_000, 100));
        assert!(!is_scaled(Profile::Tpca, 100, 100), "accounts of a branch");
        assert!(!is_scaled(Profile::Tpca, 100_000, 99), "terminals of a branch");
        // A batch has no terminals.
        assert!(is_scaled(Profile::Tpcb, 100_000, 1));
        assert!(!is_scaled(Profile::Tpcb, 99_999, 1));
    }

    #[test]
    fn the_notice_names_the_source_and_what_is_not_scaled() {
        let notice = |profile, accounts| with(profile, 1, accounts).notice().unwrap();
        assert!(notice(Profile::Tpca, 100_000).starts_with("derived from TPC-A, not comparable"));
        assert!(!notice(Profile::Tpca, 100_000).contains("not scaled"));
        for profile in Profile::ALL {
            assert!(notice(profile, 99_999).contains("; not scaled: "));
        }
        assert!(notice(Profile::Pgbench, 100_000).starts_with("derived from TPC-B"));
    }

    #[test]
    fn responses_are_judged_if_the_standards_judge_them() {
        for profile in Profile::ALL {
            let judged = matches!(profile, Profile::Tpca | Profile::Tpcb);
            let bounds = with(profile, 1, 10).response_bounds();
            assert_eq!(bounds.len(), usize::from(judged), "{profile:?}");
        }
    }
}
