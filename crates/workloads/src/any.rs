//! Every workload as one type, written by one macro, so that the program instantiates the runner
//! once, and the table from which names, listings and construction come.
//!
//! A new workload is one line in the table at the foot of this file.

use crate::error::Error;
use crate::{
    concurrent_tx, debit_credit, group_commit, insert, join, mrmw, mrow, oltp, script, short,
    single_record, smallbank, tatp, tpcc, ycsb,
};
use syncline_contract::{
    AccessPattern, Check, Client, Counts, Ending, Load, OptionArgs, OptionListing, OwnFigure, Plan,
    ResponseBound, Rows, Session, Stop, TableId, Transaction, Unit, Waits, Workload,
};

/// A workload as a listing shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub what: &'static str,
    /// Its options.
    pub options: &'static [OptionListing],
}

macro_rules! workloads {
    ($($name:ident: $workload:ty, $options:ty, $what:literal;)*) => {
        /// Every workload there is.
        pub const LISTINGS: &[Listing] = &[$(Listing {
            name: <$workload>::NAME,
            what: $what,
            options: <$options>::LISTING,
        },)*];

        /// One of the workloads.
        #[allow(
            clippy::large_enum_variant,
            reason = "one is made a client or a run, and stays where it is"
        )]
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant, reason = "there is one of it in a run")]
        pub enum AnyWorkload {
            $(#[doc = $what] $name($workload),)*
        }

        /// A client of one of the workloads.
        #[allow(
            clippy::large_enum_variant,
            reason = "one is made a client or a run, and stays where it is"
        )]
        #[derive(Debug)]
        #[allow(
            clippy::large_enum_variant,
            reason = "a run's clients are all of one workload, and a box would be followed a transaction"
        )]
        pub enum AnyClient {
            $(#[doc = $what] $name(<$workload as Workload>::Client),)*
        }

        /// What one of those clients tells the checks.
        #[allow(
            clippy::large_enum_variant,
            reason = "one is made a client or a run, and stays where it is"
        )]
        #[derive(Debug)]
        pub enum AnyTally {
            $(#[doc = $what] $name(<<$workload as Workload>::Client as Client>::Tally),)*
        }

        impl AnyWorkload {
            /// The workload of that name with those options, given as pairs of key and value.
            pub fn parse(name: &str, pairs: &[(String, String)]) -> Result<AnyWorkload, Error> {
                $(if name == <$workload>::NAME {
                    let of = format!("workload {name}");
                    let given = OptionArgs::new(of, <$options>::LISTING, pairs)?;
                    let options = <$options>::parse(&given)?;
                    return Ok(AnyWorkload::$name(<$workload>::new(options)));
                })*
                let known: Vec<_> = LISTINGS.iter().map(|listing| listing.name).collect();
                Err(Error::UnknownWorkload { name: name.to_owned(), known: known.join(", ") })
            }
        }

        impl Client for AnyClient {
            type Tally = AnyTally;

            #[inline]
            fn draw(&mut self) -> usize {
                match self { $(AnyClient::$name(client) => client.draw(),)* }
            }

            #[inline]
            fn shape(&self, kind: usize) -> AccessPattern {
                match self { $(AnyClient::$name(client) => client.shape(kind),)* }
            }

            #[inline]
            fn waits(&mut self, kind: usize) -> Waits {
                match self { $(AnyClient::$name(client) => client.waits(kind),)* }
            }

            #[inline]
            async fn perform<S: Session>(
                &mut self,
                kind: usize,
                transaction: &mut Transaction<'_, S>,
            ) -> Result<(), Stop> {
                match self { $(AnyClient::$name(client) => client.perform(kind, transaction).await,)* }
            }

            #[inline]
            fn ended(&mut self, kind: usize, ending: Ending) {
                match self { $(AnyClient::$name(client) => client.ended(kind, ending),)* }
            }

            fn tally(self) -> AnyTally {
                match self { $(AnyClient::$name(client) => AnyTally::$name(client.tally()),)* }
            }
        }

        impl Workload for AnyWorkload {
            type Client = AnyClient;

            fn name(&self) -> &'static str {
                match self { $(AnyWorkload::$name(workload) => workload.name(),)* }
            }

            fn notice(&self) -> Option<&'static str> {
                match self { $(AnyWorkload::$name(workload) => workload.notice(),)* }
            }

            fn options(&self) -> Vec<(&'static str, String)> {
                match self { $(AnyWorkload::$name(workload) => workload.options(),)* }
            }

            fn transactions(&self) -> &'static [&'static str] {
                match self { $(AnyWorkload::$name(workload) => workload.transactions(),)* }
            }

            fn always_writes(&self, transaction: usize) -> bool {
                match self {
                    $(AnyWorkload::$name(workload) => workload.always_writes(transaction),)*
                }
            }

            fn unit(&self) -> Unit {
                match self { $(AnyWorkload::$name(workload) => workload.unit(),)* }
            }

            fn plan(&self) -> &Plan {
                match self { $(AnyWorkload::$name(workload) => workload.plan(),)* }
            }

            fn loads(&self) -> Vec<Load> {
                match self { $(AnyWorkload::$name(workload) => workload.loads(),)* }
            }

            fn load_unit(&self, table: TableId, number: u64, batch: &mut Rows) {
                match self {
                    $(AnyWorkload::$name(workload) => workload.load_unit(table, number, batch),)*
                }
            }

            fn loaded_as(&self) -> Option<String> {
                match self { $(AnyWorkload::$name(workload) => workload.loaded_as(),)* }
            }

            fn leaves_other_rows(&self) -> bool {
                match self { $(AnyWorkload::$name(workload) => workload.leaves_other_rows(),)* }
            }

            fn run_begins(&self, salt: u64) {
                match self { $(AnyWorkload::$name(workload) => workload.run_begins(salt),)* }
            }

            async fn look_at_kept_rows<S: Session>(&self, session: &mut S) -> Result<(), Stop> {
                match self {
                    $(AnyWorkload::$name(workload) => workload.look_at_kept_rows(session).await,)*
                }
            }

            fn response_bounds(&self) -> Vec<ResponseBound> {
                match self { $(AnyWorkload::$name(workload) => workload.response_bounds(),)* }
            }

            fn figures(&self, counts: &Counts<'_>) -> Vec<OwnFigure> {
                match self { $(AnyWorkload::$name(workload) => workload.figures(counts),)* }
            }

            fn client(&self, number: usize, clients: usize, seed: u64) -> AnyClient {
                match self {
                    $(AnyWorkload::$name(workload) => {
                        AnyClient::$name(workload.client(number, clients, seed))
                    })*
                }
            }

            async fn check<S: Session>(
                &self,
                tallies: Vec<AnyTally>,
                session: &mut S,
            ) -> Result<Vec<Check>, Stop> {
                match self {
                    $(AnyWorkload::$name(workload) => {
                        let own = tallies.into_iter().filter_map(|tally| match tally {
                            AnyTally::$name(tally) => Some(tally),
                            _ => None,
                        });
                        workload.check(own.collect(), session).await
                    })*
                }
            }

            fn check_names(&self) -> Vec<&'static str> {
                match self { $(AnyWorkload::$name(workload) => workload.check_names(),)* }
            }
        }
    };
}

workloads! {
    Insert: insert::Insert, insert::Options,
        "prepared inserts of an integer key and a varchar(100), a commit every n";
    DebitCredit: debit_credit::DebitCredit, debit_credit::Options,
        "move a sum through account, teller, branch and history (after TPC-A, TPC-B, pgbench, ...)";
    Select: single_record::Select, single_record::Options,
        "read one row of 100 characters, by key or index (Derby's load)";
    Update: single_record::Update, single_record::Options,
        "update one row of 100 characters (Derby's load)";
    Join: join::Join, join::Options,
        "join 1,000 rows with 10,000, returning 1,000 (Derby's load)";
    Short: short::Short, short::Options,
        "one point read or update in each of 1 to 8 tables: what a transaction costs to start";
    ConcurrentTx: concurrent_tx::ConcurrentTx, concurrent_tx::Options,
        "puts and removals of random keys, 11 % of the transactions aborted (bigdata's stress test)";
    GroupCommit: group_commit::GroupCommit, group_commit::Options,
        "tasks that insert into separate key ranges, so that only commits are shared";
    SmallBank: smallbank::SmallBank, smallbank::Options,
        "customers with two accounts each, a few of them hot: deposits, checks, payments";
    Tatp: tatp::Tatp, tatp::Options,
        "a mobile network's register of subscribers, 80 % reads";
    Tpcc: tpcc::Tpcc, tpcc::Options,
        "order entry derived from TPC-C: five transactions over nine tables, by weights";
    Mrmw: mrmw::Mrmw, mrmw::Options,
        "many readers, many writers of random records, every byte verified (bigdata, 2007)";
    Mrow: mrow::Mrow, mrow::Options,
        "many readers, one writer of random records, every byte verified (bigdata, 2007)";
    Ycsb: ycsb::Ycsb, ycsb::Options,
        "YCSB's core workloads A to F, and K2's profile of them: reads, updates, inserts, scans by key";
    Oltp: oltp::Oltp, oltp::Options,
        "sysbench's nine OLTP tests, from point selects to read-write transactions";
    Script: script::Scripts, script::Options,
        "scripts of pgbench, a user's or built in, on stores that take a user's statements";
}

#[cfg(test)]
mod tests {
    use super::{AnyWorkload, LISTINGS};
    use syncline_contract::Workload;

    fn parse(name: &str, options: &[(&str, &str)]) -> Result<AnyWorkload, String> {
        let pairs = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let pairs: Vec<_> = pairs.collect();
        AnyWorkload::parse(name, &pairs).map_err(|error| error.to_string())
    }

    #[test]
    fn options_come_back_as_given_or_defaulted() {
        let workload = parse("insert", &[("keys", "random"), ("commit_every", "10")]).unwrap();
        let options: Vec<_> = workload.options();
        let again: Vec<_> = options.iter().map(|(key, value)| (*key, value.as_str())).collect();
        assert_eq!(again, [("commit_every", "10"), ("keys", "random"), ("check", "scan")]);
        assert_eq!(parse("insert", &again).unwrap().options(), options);
        assert_eq!(workload.unit().per_transaction, 10);
    }

    #[test]
    fn weights_come_back_in_the_order_of_their_profile() {
        let weights = |options: &[(&str, &str)]| {
            let options = parse("tpcc", options).unwrap().options();
            let found = options.into_iter().find(|(name, _)| *name == "weights");
            found.unwrap().1
        };
        assert_eq!(weights(&[("profile", "k2")]), "43,4,4,45,4");
        let given = [("profile", "k2"), ("weights", "50,0,0,50,0")];
        assert_eq!(weights(&given), "50,0,0,50,0");
    }

    #[test]
    fn every_listed_default_is_the_default() {
        for listing in LISTINGS {
            let workload = parse(listing.name, &[]).unwrap();
            let defaults: Vec<_> = listing
                .options
                .iter()
                .map(|option| (option.name, option.default.to_owned()))
                .collect();
            assert_eq!(workload.options(), defaults);
            assert_eq!(workload.name(), listing.name);
        }
    }

    #[test]
    fn options_of_debit_credit_come_back_too() {
        for think_s in ["by-profile", "0", "7"] {
            let given = [("profile", "tpca"), ("think_s", think_s)];
            let options = parse("debit-credit", &given).unwrap().options();
            assert!(options.contains(&("think_s", think_s.to_owned())));
            assert!(options.contains(&("profile", "tpca".to_owned())));
        }
    }

    #[test]
    fn bad_options_get_one_clear_sentence() {
        for (name, options, said) in [
            (
                "incert",
                &[][..],
                "there is no workload \"incert\"; there are: insert, debit-credit, select, update, join, ",
            ),
            ("insert", &[("key", "random")], "has no option \"key\"; it has: commit_every, keys"),
            ("insert", &[("keys", "")], "it takes ascending, random or server"),
            ("insert", &[("commit_every", "0")], "from 1 to 1000000"),
            (
                "tpcc",
                &[("weights", "45,43,4,4")],
                "it takes five whole numbers up to 10000 with commas",
            ),
            (
                "tpcc",
                &[("profile", "oracle")],
                "option profile of workload tpcc is \"oracle\"; it takes spec or k2",
            ),
            ("insert", &[("commit_every", "1"), ("commit_every", "2")], "given twice"),
            ("insert", &[("keys", "server"), ("check", "get")], "cannot combine keys=server"),
            (
                "debit-credit",
                &[("profile", "pgbench-select-only"), ("branch", "read-write")],
                "cannot combine branch=read-write",
            ),
            (
                "debit-credit",
                &[("think_s", "long")],
                "it takes by-profile, or a whole number of seconds",
            ),
            ("join", &[("rows", "10"), ("joined", "11")], "cannot combine joined"),
            ("smallbank", &[("customers", "10"), ("hot", "10")], "cannot combine hot with"),
            (
                "smallbank",
                &[("customers", "2"), ("hot", "1"), ("hot_percent", "100")],
                "cannot combine hot_percent",
            ),
            (
                "smallbank",
                &[("customers", "10"), ("hot", "9"), ("hot_percent", "0")],
                "cannot combine hot_percent",
            ),
        ] {
            let error = parse(name, options).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
