//! A row's version word: which commit wrote the row, and its state. Eight bytes, stored in the page.
//!
//! The upper 48 bits are the csn of the commit that wrote the row, zero for a row that no commit has written
//! yet. The lower 16 bits are flags; those not named here are zero and reserved.
//!
//! | bit | name | meaning |
//! |---|---|---|
//! | 0 | locked | a committing transaction will apply or leave the row within its section |
//! | 1 | held | a transaction keeps the row over several statements; not used yet |
//! | 2 | ghost | there is no such row: deleted, or locked by the commit that is about to insert it |
//! | 3 | overflow | the value in the leaf is an extent pointer; the value lies in extents |

use crate::ids::Csn;
use std::fmt;

/// The version word of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct VersionWord(pub(crate) u64);

const CSN_SHIFT: u32 = 16;
const LOCKED: u64 = 1;
const GHOST: u64 = 1 << 2;
const OVERFLOW: u64 = 1 << 3;

impl VersionWord {
    /// The word of a row written by that commit.
    #[inline]
    pub(crate) fn of(csn: Csn) -> VersionWord {
        debug_assert!(csn.0 < 1 << 48, "48 bits of commits last for centuries");
        VersionWord(csn.0 << CSN_SHIFT)
    }

    /// The commit that wrote the row.
    #[inline]
    pub(crate) fn csn(self) -> Csn {
        Csn(self.0 >> CSN_SHIFT)
    }

    /// True while a commit is working on the row.
    #[inline]
    pub(crate) fn is_locked(self) -> bool {
        self.0 & LOCKED != 0
    }

    /// True if there is no such row.
    #[inline]
    pub(crate) fn is_ghost(self) -> bool {
        self.0 & GHOST != 0
    }

    /// True if the value lies in extents.
    #[inline]
    pub(crate) fn is_overflow(self) -> bool {
        self.0 & OVERFLOW != 0
    }

    /// The same, locked.
    #[inline]
    #[must_use]
    pub(crate) fn locked(self) -> VersionWord {
        VersionWord(self.0 | LOCKED)
    }

    /// The same, not locked.
    #[inline]
    #[must_use]
    pub(crate) fn unlocked(self) -> VersionWord {
        VersionWord(self.0 & !LOCKED)
    }

    /// The same, as a ghost.
    #[inline]
    #[must_use]
    pub(crate) fn ghost(self) -> VersionWord {
        VersionWord(self.0 | GHOST)
    }

    /// The same, with its value in extents.
    #[inline]
    #[must_use]
    pub(crate) fn overflow(self) -> VersionWord {
        VersionWord(self.0 | OVERFLOW)
    }
}

impl fmt::Debug for VersionWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.csn())?;
        let flag = |f: &mut fmt::Formatter<'_>, set: bool, name: &str| {
            if set { write!(f, " {name}") } else { Ok(()) }
        };
        flag(f, self.is_locked(), "locked")?;
        flag(f, self.is_ghost(), "ghost")?;
        flag(f, self.is_overflow(), "overflow")
    }
}

#[cfg(test)]
mod tests {
    use super::VersionWord;
    use crate::ids::Csn;

    #[test]
    fn flags_do_not_change_the_csn() {
        let word = VersionWord::of(Csn(7)).locked().ghost();
        assert!(word.is_locked() && word.is_ghost() && !word.is_overflow());
        assert_eq!(word.csn(), Csn(7));
        assert_eq!(word.unlocked(), VersionWord::of(Csn(7)).ghost());
        assert_eq!(format!("{:?}", word.overflow()), "csn 7 locked ghost overflow");
    }
}
