//! Retrying allocations that failed at the memory cap.

use crate::error::{Error, Result};

/// How often memory is reclaimed for one attempt before it fails: other threads may take it first each time.
pub(crate) const RECLAIMS_MAX: u64 = 1_000;

/// Runs `attempt` until it is not refused memory for pages, or `reclaim` cannot free enough. Both work on
/// `state`.
pub(crate) fn retry_at_cap<S: ?Sized, R>(
    state: &mut S,
    mut reclaim: impl FnMut(&mut S) -> Result<bool>,
    mut attempt: impl FnMut(&mut S) -> Result<R>,
) -> Result<R> {
    let mut reclaims = 0;
    loop {
        let refused = match attempt(state) {
            Err(refused @ Error::Capped { .. }) => refused,
            outcome => return outcome,
        };
        if reclaims == RECLAIMS_MAX || !reclaim(state)? {
            return Err(refused);
        }
        reclaims += 1;
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{RECLAIMS_MAX, retry_at_cap};
    use crate::error::{Error, Result};

    fn capped<R>() -> Result<R> {
        Err(Error::Capped { what: "memory", bytes: 2, bytes_max: 1, advice: "wait" })
    }

    /// A writer near the cap used to fail because another one took the memory that had been freed for it.
    #[test]
    fn memory_that_others_took_is_reclaimed_again() {
        let (mut free, mut taken_by_others) = (0, 5);
        let done = retry_at_cap(
            &mut free,
            |free| {
                *free += 1;
                Ok(true)
            },
            |free| {
                if *free > 0 && taken_by_others > 0 {
                    (*free, taken_by_others) = (*free - 1, taken_by_others - 1);
                }
                if *free == 0 { capped() } else { Ok(*free) }
            },
        );
        assert_eq!((done.unwrap(), taken_by_others), (1, 0));
    }

    #[test]
    fn an_attempt_fails_when_nothing_can_be_freed_or_others_always_take_it() {
        let mut attempts = 0;
        let refused = retry_at_cap(
            &mut (),
            |()| Ok(false),
            |()| {
                attempts += 1;
                capped::<()>()
            },
        );
        assert!(matches!(refused, Err(Error::Capped { .. })) && attempts == 1);
        let mut reclaims = 0;
        let reclaim = |(): &mut ()| {
            reclaims += 1;
            Ok(true)
        };
        let refused = retry_at_cap(&mut (), reclaim, |()| capped::<()>());
        assert!(matches!(refused, Err(Error::Capped { .. })) && reclaims == RECLAIMS_MAX);
        let failed = retry_at_cap(&mut (), |()| Err(Error::Busy), |()| capped::<()>());
        assert!(matches!(failed, Err(Error::Busy)));
    }
}
