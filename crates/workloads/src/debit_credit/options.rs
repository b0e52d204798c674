//! What a user may choose.

use super::profile::{Profile, Rules};
use super::schema::DebitCredit;
use crate::error::Error;
use syncline_contract::{OptionArgs, OptionListing};

/// Accounts of a branch by the standards.
pub(super) const ACCOUNTS: u64 = 100_000;

/// How the branch is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    /// By an addition in the store.
    Add,
    /// Read for update and written back.
    ReadWrite,
}

impl Branch {
    /// Every way.
    pub const ALL: [Branch; 2] = [Branch::Add, Branch::ReadWrite];

    /// The word of the option.
    pub fn word(self) -> &'static str {
        match self {
            Branch::Add => "add",
            Branch::ReadWrite => "read-write",
        }
    }
}

/// How long a client of a closed loop thinks before a transaction, on average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Think {
    /// As the profile says: 10 s for `tpca`, else not at all.
    ByProfile,
    /// So many seconds.
    Seconds(u64),
}

/// What a user may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whose debit-credit it is.
    pub profile: Profile,
    /// Branches.
    pub scale: u64,
    /// Accounts of a branch.
    pub accounts: u64,
    /// How the branch is changed.
    pub branch: Branch,
    /// Mean think time.
    pub think_s: Think,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            profile: Profile::Tpcb,
            scale: 1,
            accounts: ACCOUNTS,
            branch: Branch::Add,
            think_s: Think::ByProfile,
        }
    }
}

impl Options {
    /// The options for a listing.
    pub const LISTING: &'static [OptionListing] = &[
        OptionListing {
            name: "profile",
            takes: "tpcb, tpca, pgbench, pgbench-simple-update, pgbench-select-only, derby or berkeley",
            default: "tpcb",
            meaning: "whose debit-credit it is",
        },
        OptionListing {
            name: "scale",
            takes: "a whole number from 1 to 1000000",
            default: "1",
            meaning: "branches, each with 10 tellers and its accounts",
        },
        OptionListing {
            name: "accounts",
            takes: "a whole number from 1 to 1000000",
            default: "100000",
            meaning: "accounts of a branch; another number than 100000 is said to be not scaled",
        },
        OptionListing {
            name: "branch",
            takes: "add or read-write",
            default: "add",
            meaning: "how the branch is changed: by an addition in the store, or read and written back",
        },
        OptionListing {
            name: "think_s",
            takes: "by-profile, or a whole number of seconds from 0 to 3600",
            default: "by-profile",
            meaning: "mean think time of a closed loop's terminals; by-profile is 10 for tpca, else 0",
        },
    ];

    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        let defaults = Options::default();
        let by_profile = given.word("think_s", &[Think::ByProfile], |_| "by-profile");
        let think_s = match by_profile {
            Ok(think) => think,
            Err(_) => given.number("think_s", 0..=3_600)?.map(Think::Seconds),
        };
        let profile = given.word("profile", &Profile::ALL, Profile::word)?;
        let branch = given.word("branch", &Branch::ALL, Branch::word)?;
        let options = Options {
            profile: profile.unwrap_or(defaults.profile),
            scale: given.number("scale", 1..=1_000_000)?.unwrap_or(defaults.scale),
            accounts: given.number("accounts", 1..=1_000_000)?.unwrap_or(defaults.accounts),
            branch: branch.unwrap_or(defaults.branch),
            think_s: think_s.unwrap_or(defaults.think_s),
        };
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
