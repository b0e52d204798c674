//! Cases about two clients at once: what one may see of the other, and who gives way.

use super::block_on::pass;
use super::fixture::{Fixture, TestClient};
use super::outcome::{CaseFailure, Verdict, holds, same};
use super::test_schema::TestSchema;
use crate::outcome::Stop;
use crate::session::{AccessPattern, Session};
use crate::target::Target;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use syncline_instrument::clock;

/// How long one client keeps its transaction open for the other, at most.
const HOLD_TIMEOUT_NS: u64 = 2 * clock::SECOND;

/// How long one client waits for the other to read what it has locked: in vain, mostly.
const BLOCKED_READ_NS: u64 = clock::SECOND / 10;

/// Additions that each of two clients makes.
const ADDITIONS: i64 = 50;

/// How long one addition may conflict. Time and not tries: who spins beside a client that waits makes
/// as many tries as the processor can.
const RETRY_TIMEOUT_NS: u64 = 60 * clock::SECOND;

/// Lets others run until something holds or patience ends.
async fn until(holds: impl Fn() -> bool, patience_ns: u64) {
    let end = clock::now() + patience_ns;
    while !holds() && clock::now() < end {
        let_others_run().await;
    }
}

/// Lets the other client go on, be it on this thread or on another.
async fn let_others_run() {
    std::thread::yield_now();
    pass().await;
}

/// Nobody sees another's uncommitted rows; waiting or giving way is allowed.
pub(super) fn uncommitted_is_hidden<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut seat = fixture.client().await?;
        seat.commits(AccessPattern::Single, async |tx| scene.plain(tx, 1, 1)).await?;
        Ok::<(), CaseFailure>(())
    })?;
    let (written, looked) = (AtomicBool::new(false), AtomicBool::new(false));
    let hold = async |fixture: &Fixture<'_, T>| {
        let mut seat = fixture.client().await?;
        let mut tx = seat.begin(AccessPattern::Several);
        scene.plain(&mut tx, 2, 2)?;
        tx.write(&scene.set_whole, (1, 100))?;
        // A pipelining store has sent nothing before an answer is asked for.
        same(tx.read(&scene.get_whole, (1,)).await?, (100,), "a row updated in the transaction")?;
        written.store(true, Ordering::Release);
        until(|| looked.load(Ordering::Acquire), HOLD_TIMEOUT_NS).await;
        seat.session.abort().await;
        Ok(())
    };
    let look = async |fixture: &Fixture<'_, T>| {
        let mut seat = fixture.client().await?;
        until(|| written.load(Ordering::Acquire), HOLD_TIMEOUT_NS).await;
        let seen = seat
            .commits(AccessPattern::ReadOnly, async |tx| {
                tx.ask(&scene.get_whole, (1,))?;
                tx.ask(&scene.get_whole, (2,))?;
                let (whole,) = tx.answer(&scene.get_whole).await?;
                Ok((whole, tx.answer_if_any(&scene.get_whole).await?))
            })
            .await;
        looked.store(true, Ordering::Release);
        match seen {
            Err(Stop::Conflict(_)) => Ok(()),
            seen => same(seen?, (1, None), "what another client sees of an open transaction"),
        }
    };
    fixture.side_by_side(hold, look).map(|_| ())
}

/// Two clients that read, add and write one row lose no addition: each is made once or conflicts.
pub(super) fn no_update_is_lost<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut seat = fixture.client().await?;
        seat.commits(AccessPattern::Single, async |tx| scene.plain(tx, 1, 0)).await?;
        Ok::<(), CaseFailure>(())
    })?;
    let (ready, read) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let add = async |fixture: &Fixture<'_, T>| {
        let mut seat = fixture.client().await?;
        meet(&ready, HOLD_TIMEOUT_NS).await;
        for _ in 0..ADDITIONS {
            add_one(&mut seat, scene, &read).await?;
        }
        Ok(())
    };
    fixture.side_by_side(add, add)?;
    fixture.run(async {
        let mut seat = fixture.client().await?;
        let total =
            seat.commits(AccessPattern::Single, async |tx| tx.read(&scene.get_whole, (1,)).await);
        same(total.await?, (2 * ADDITIONS,), "the sum of two clients' additions")
    })
}

/// Waits until both clients have come here for the first time.
async fn meet(come: &AtomicUsize, patience_ns: u64) {
    come.fetch_add(1, Ordering::AcqRel);
    until(|| come.load(Ordering::Acquire) >= 2, patience_ns).await;
}

/// Adds one, trying again after each conflict. The first time both clients wait after their read, so
/// that a store which lets both read and both write loses one for certain; where the other cannot
/// read meanwhile, they wait for it in vain.
async fn add_one<S: Session>(
    seat: &mut TestClient<S>,
    scene: &TestSchema,
    read: &AtomicUsize,
) -> Verdict {
    let end = clock::now() + RETRY_TIMEOUT_NS;
    while clock::now() < end {
        let added = seat
            .commits(AccessPattern::Several, async |tx| {
                let (whole,) = tx.read(&scene.get_whole_for_update, (1,)).await?;
                meet(read, BLOCKED_READ_NS).await;
                tx.write(&scene.set_whole, (1, whole + 1))
            })
            .await;
        match added {
            Err(Stop::Conflict(_)) => let_others_run().await,
            added => return Ok(added?),
        }
    }
    holds(false, || {
        format!("an addition conflicted for {} seconds", RETRY_TIMEOUT_NS / clock::SECOND)
    })
}
