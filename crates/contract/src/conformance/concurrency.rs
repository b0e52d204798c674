//! Cases for two concurrent clients: what one sees of the other, and which one yields.

use super::block_on::pass;
use super::fixture::{Fixture, TestClient};
use super::outcome::{CaseFailure, Verdict, holds, same};
use super::test_schema::TestSchema;
use crate::outcome::Stop;
use crate::session::{AccessPattern, Session};
use crate::target::Target;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use syncline_instrument::clock;

/// The longest time for which one client keeps its transaction open for the other.
const HOLD_TIMEOUT_NS: u64 = 2 * clock::SECOND;

/// How long a client waits for the other to read a row that it has locked; the other usually cannot.
const BLOCKED_READ_NS: u64 = clock::SECOND / 10;

/// Number of additions per client.
const ADDITIONS: i64 = 50;

/// How long one addition may conflict. A time instead of a number of tries, because a client that spins next
/// to a waiting one makes as many tries as the processor permits.
const RETRY_TIMEOUT_NS: u64 = 60 * clock::SECOND;

/// Lets others run until a condition holds or the time is over.
async fn until(holds: impl Fn() -> bool, timeout_ns: u64) {
    let end = clock::now() + timeout_ns;
    while !holds() && clock::now() < end {
        let_others_run().await;
    }
}

/// Lets the other client continue, whether it is on this thread or another.
async fn let_others_run() {
    std::thread::yield_now();
    pass().await;
}

/// No client sees another's uncommitted rows; waiting or conflicting is allowed.
pub(super) fn uncommitted_is_hidden<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut client = fixture.client().await?;
        client.commits(AccessPattern::Single, async |tx| scene.plain(tx, 1, 1)).await?;
        Ok::<(), CaseFailure>(())
    })?;
    let (written, has_read) = (AtomicBool::new(false), AtomicBool::new(false));
    let hold = async |fixture: &Fixture<'_, T>| {
        let mut client = fixture.client().await?;
        let mut tx = client.begin(AccessPattern::Several);
        scene.plain(&mut tx, 2, 2)?;
        tx.write(&scene.set_whole, (1, 100))?;
        // A pipelining store sends nothing before an answer is required.
        same(tx.read(&scene.get_whole, (1,)).await?, (100,), "a row updated in the transaction")?;
        written.store(true, Ordering::Release);
        until(|| has_read.load(Ordering::Acquire), HOLD_TIMEOUT_NS).await;
        client.session.abort().await;
        Ok(())
    };
    let read_rows = async |fixture: &Fixture<'_, T>| {
        let mut client = fixture.client().await?;
        until(|| written.load(Ordering::Acquire), HOLD_TIMEOUT_NS).await;
        let result = client
            .commits(AccessPattern::ReadOnly, async |tx| {
                tx.ask(&scene.get_whole, (1,))?;
                tx.ask(&scene.get_whole, (2,))?;
                let (whole,) = tx.answer(&scene.get_whole).await?;
                Ok((whole, tx.answer_if_any(&scene.get_whole).await?))
            })
            .await;
        has_read.store(true, Ordering::Release);
        match result {
            Err(Stop::Conflict(_)) => Ok(()),
            result => same(result?, (1, None), "another client's view of an open transaction"),
        }
    };
    fixture.side_by_side(hold, read_rows).map(|_| ())
}

/// Two clients that read, add to and write one row lose no addition: each takes effect once or conflicts.
pub(super) fn no_update_is_lost<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut client = fixture.client().await?;
        client.commits(AccessPattern::Single, async |tx| scene.plain(tx, 1, 0)).await?;
        Ok::<(), CaseFailure>(())
    })?;
    let (ready, read) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let add = async |fixture: &Fixture<'_, T>| {
        let mut client = fixture.client().await?;
        wait_for_both(&ready, HOLD_TIMEOUT_NS).await;
        for _ in 0..ADDITIONS {
            add_one(&mut client, scene, &read).await?;
        }
        Ok(())
    };
    fixture.side_by_side(add, add)?;
    fixture.run(async {
        let mut client = fixture.client().await?;
        let total =
            client.commits(AccessPattern::Single, async |tx| tx.read(&scene.get_whole, (1,)).await);
        same(total.await?, (2 * ADDITIONS,), "the sum of two clients' additions")
    })
}

/// Waits until both clients have arrived here once.
async fn wait_for_both(arrived: &AtomicUsize, timeout_ns: u64) {
    arrived.fetch_add(1, Ordering::AcqRel);
    until(|| arrived.load(Ordering::Acquire) >= 2, timeout_ns).await;
}

/// Adds one, retrying after each conflict. The first time, both clients wait after their read, so that a
/// store that lets both read and both write is certain to lose an addition. If the store makes the other
/// client wait for the read, the wait times out.
async fn add_one<S: Session>(
    client: &mut TestClient<S>,
    scene: &TestSchema,
    read: &AtomicUsize,
) -> Verdict {
    let end = clock::now() + RETRY_TIMEOUT_NS;
    while clock::now() < end {
        let added = client
            .commits(AccessPattern::Several, async |tx| {
                let (whole,) = tx.read(&scene.get_whole_for_update, (1,)).await?;
                wait_for_both(read, BLOCKED_READ_NS).await;
                tx.write(&scene.set_whole, (1, whole + 1))
            })
            .await;
        match added {
            Err(Stop::Conflict(_)) => let_others_run().await,
            added => return Ok(added?),
        }
    }
    holds(false, || {
        format!("an addition kept conflicting for {} seconds", RETRY_TIMEOUT_NS / clock::SECOND)
    })
}
