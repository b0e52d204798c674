//! What a user may choose.

use super::profile::{Profile, Rules};
use super::schema::DebitCredit;
use crate::error::Error;
use syncline_contract::{OptionArgs, OptionForm, options, words};

/// Accounts of a branch by the standards.
pub(super) const ACCOUNTS: u64 = 100_000;

words! {
    /// How the branch is changed.
    pub enum Branch {
        /// By an addition in the store.
        Add = "add",
        /// Read for update and written back.
        ReadWrite = "read-write",
    }
}

/// How long a client of a closed loop thinks before a transaction, on average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Think {
    /// As the profile says: 10 s for `tpca`, else not at all.
    ByProfile,
    /// This number of seconds.
    Seconds(u64),
}

impl OptionForm<Think> for Think {
    const TAKES: &'static str = "by-profile, or a whole number of seconds from 0 to 3600";

    fn read(text: &str) -> Option<Think> {
        if text.eq_ignore_ascii_case("by-profile") {
            return Some(Think::ByProfile);
        }
        text.parse().ok().filter(|seconds| *seconds <= 3_600).map(Think::Seconds)
    }

    fn text(value: &Think) -> String {
        match value {
            Think::ByProfile => "by-profile".to_owned(),
            Think::Seconds(seconds) => seconds.to_string(),
        }
    }
}

options! {
    /// What a user may choose.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Options {
        pub profile: Profile = "tpcb", "whose debit-credit it is";
        pub scale: u64 = 1 in 1..=1_000_000, "branches, each with 10 tellers and its accounts";
        pub accounts: u64 = 100_000 in 1..=1_000_000,
            "accounts of a branch; another number than 100000 is said to be not scaled";
        pub branch: Branch = "add",
            "how the branch is changed: by an addition in the store, or read and written back";
        pub think_s: Think = "by-profile",
            "mean think time of a closed loop's terminals; by-profile is 10 for tpca, else 0";
    }
}

impl Options {
    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        let options = Options::read(given)?;
        if options.branch == Branch::ReadWrite && !options.rules().steps.reach_branch() {
            return Err(Error::Excluded {
                workload: DebitCredit::NAME,
                what: "branch=read-write with a profile that changes no branch",
            });
        }
        Ok(options)
    }

    pub(super) fn rules(&self) -> &'static Rules {
        self.profile.rules()
    }

    /// Mean think time in seconds.
    pub(super) fn think_s(&self) -> u64 {
        match self.think_s {
            Think::ByProfile => self.rules().think_s,
            Think::Seconds(seconds) => seconds,
        }
    }
}
