//! Which parts of a pipeline are kept when a command in its middle fails, and its cost in round trips.

use crate::account_fixture::{ADD, AccountFixture, BALANCE, LOCKED, OPEN, ask, plan, send};
use crate::relay::Relay;
use crate::server::Server;
use syncline_contract::{AccessPattern, Cause, FailureKind, Session, Stop, Value};
use syncline_stores::AnySession;

#[test]
fn commands_after_a_deadlock_in_a_pipeline_are_rolled_back() {
    for pipeline in [true, false] {
        let fixture = AccountFixture::with(Server::shared(), "", plan(pipeline)).filled();
        let (mut one, mut other) = (fixture.session(), fixture.session());
        // Each holds a row that the other waits for; the one with fewer changes is the victim, which is
        // `one`.
        fixture.run(async {
            one.begin(AccessPattern::Several);
            ask(&mut one, LOCKED, 1).await.unwrap();
            other.begin(AccessPattern::Several);
            for id in [2, 3, 4, 5] {
                send(&mut other, ADD, &[id, 10]).unwrap();
            }
            ask(&mut other, LOCKED, 2).await.unwrap();
            send(&mut other, ADD, &[1, 10]).unwrap();
            let waits = other.commit();
            let loses = async {
                send(&mut one, ADD, &[2, 100]).unwrap();
                // These run after the deadlock, outside of the transaction that it rolled back.
                send(&mut one, ADD, &[6, 100]).unwrap();
                send(&mut one, ADD, &[7, 100]).unwrap();
                let stopped = one.commit().await;
                one.abort().await;
                stopped
            };
            let (won, lost) = both(waits, loses).await;
            won.unwrap();
            assert!(matches!(lost, Err(Stop::Conflict(Cause::Deadlock))), "{lost:?}");
            // The session continues.
            one.begin(AccessPattern::Several);
            send(&mut one, ADD, &[8, 1]).unwrap();
            one.commit().await.unwrap();
        });
        let balances: Vec<_> = [1, 2, 6, 7, 8].map(|id| fixture.balance(id)).to_vec();
        assert_eq!(balances, [10, 10, 0, 0, 1], "pipelined: {pipeline}");
    }
}

#[test]
fn a_lock_timeout_rolls_back_the_whole_transaction() {
    let fixture = AccountFixture::on(Server::shared(), "lock_wait_s=1").filled();
    let (mut holder, mut waiter) = (fixture.session(), fixture.session());
    fixture.run(async {
        holder.begin(AccessPattern::Several);
        ask(&mut holder, LOCKED, 1).await.unwrap();
        waiter.begin(AccessPattern::Several);
        send(&mut waiter, ADD, &[2, 5]).unwrap();
        send(&mut waiter, ADD, &[1, 5]).unwrap();
        let stopped = waiter.commit().await;
        assert!(matches!(stopped, Err(Stop::Conflict(Cause::Locked))), "{stopped:?}");
        waiter.abort().await;
        // A single write is sent with its COMMIT, and leaves nothing either.
        waiter.begin(AccessPattern::Several);
        send(&mut waiter, ADD, &[1, 5]).unwrap();
        let stopped = waiter.commit().await;
        assert!(matches!(stopped, Err(Stop::Conflict(Cause::Locked))), "{stopped:?}");
        waiter.abort().await;
        holder.commit().await.unwrap();
    });
    assert_eq!((fixture.balance(1), fixture.balance(2)), (0, 0));
}

#[test]
fn under_snapshot_isolation_the_second_writer_is_refused() {
    let fixture = AccountFixture::on(Server::shared(), "isolation=snapshot").filled();
    let (mut first, mut second) = (fixture.session(), fixture.session());
    fixture.run(async {
        second.begin(AccessPattern::Several);
        ask(&mut second, BALANCE, 1).await.unwrap();
        first.begin(AccessPattern::Single);
        send(&mut first, ADD, &[1, 7]).unwrap();
        first.commit().await.unwrap();
        send(&mut second, ADD, &[1, 100]).unwrap();
        let stopped = second.commit().await;
        assert!(matches!(stopped, Err(Stop::Conflict(Cause::Serialization))), "{stopped:?}");
        second.abort().await;
    });
    assert_eq!(fixture.balance(1), 7);
}

#[test]
fn a_refused_write_rolls_back_those_before_it_and_names_its_operation() {
    let fixture = AccountFixture::on(Server::shared(), "").filled();
    let mut session = fixture.session();
    fixture.run(async {
        session.begin(AccessPattern::Several);
        send(&mut session, ADD, &[1, 5]).unwrap();
        send(&mut session, OPEN, &[2, 0]).unwrap();
        send(&mut session, ADD, &[3, 5]).unwrap();
        let Err(Stop::Failed(failure)) = session.commit().await else {
            panic!("a second account 2 is refused");
        };
        assert_eq!(failure.kind, FailureKind::Statement);
        assert_eq!(failure.operation, Some(OPEN));
        assert!(failure.what.contains("open account"), "{failure}");
        session.abort().await;
    });
    assert_eq!((fixture.balance(1), fixture.balance(3)), (0, 0));
}

#[test]
fn the_steady_state_allocates_nothing() {
    let fixture = AccountFixture::on(Server::shared(), "").filled();
    let mut session = fixture.session();
    let work = async |session: &mut AnySession| {
        for round in 0..50 {
            transactions(session, round % 9 + 1).await.unwrap();
        }
    };
    fixture.run(work(&mut session));
    // The executor allocates its waker, once.
    let nothing = allocation_counter::measure(|| fixture.run(async {}));
    let fifty = allocation_counter::measure(|| fixture.run(work(&mut session)));
    assert_eq!(fifty.count_total, nothing.count_total, "two hundred transactions allocate");
}

/// One transaction of each access pattern.
async fn transactions(session: &mut AnySession, id: i64) -> Result<(), Stop> {
    let (key, change) = ([Value::Int(id)], [Value::Int(id), Value::Int(1)]);
    session.begin(AccessPattern::Single);
    session.send(BALANCE, &key)?;
    assert_eq!(session.receive().await?.len(), 1);
    session.commit().await?;
    session.begin(AccessPattern::Single);
    session.send(ADD, &change)?;
    session.commit().await?;
    for pattern in [AccessPattern::ReadOnly, AccessPattern::Several] {
        session.begin(pattern);
        session.send(LOCKED, &key)?;
        session.send(LOCKED, &key)?;
        session.receive().await?;
        session.receive().await?;
        if pattern == AccessPattern::Several {
            session.send(ADD, &change)?;
            session.send(ADD, &change)?;
        }
        session.commit().await?;
    }
    Ok(())
}

#[test]
fn a_pipeline_takes_two_round_trips_and_a_single_write_one() {
    let server = Server::shared();
    let relay = Relay::to(server.port);
    for (pipeline, five) in [(true, 2), (false, 6)] {
        let url = format!("mysql://root@127.0.0.1:{}?tls=disable&live=yes", relay.port);
        let fixture = AccountFixture::at(&url, plan(pipeline)).filled();
        let mut session = fixture.session();
        let mut turns = |pattern, writes: i64| {
            fixture.run(async {
                // The first transaction sets `autocommit`.
                for measured in [false, true] {
                    let before = relay.turns();
                    session.begin(pattern);
                    for id in 1..=writes {
                        send(&mut session, ADD, &[id, 1]).unwrap();
                    }
                    session.commit().await.unwrap();
                    if measured {
                        return relay.turns() - before;
                    }
                }
                unreachable!("the second is measured")
            })
        };
        assert_eq!(turns(AccessPattern::Several, 5), five, "five writes, then COMMIT");
        let one = if pipeline { 1 } else { 2 };
        assert_eq!(turns(AccessPattern::Several, 1), one, "one write with its COMMIT");
        assert_eq!(turns(AccessPattern::Single, 1), 1, "a write that commits itself");
    }
}

/// Runs two futures concurrently to their ends.
async fn both<A: Future, B: Future>(one: A, other: B) -> (A::Output, B::Output) {
    use std::task::Poll;
    let (mut one, mut other) = (std::pin::pin!(one), std::pin::pin!(other));
    let (mut of_one, mut of_other) = (None, None);
    std::future::poll_fn(move |context| {
        if of_one.is_none()
            && let Poll::Ready(output) = one.as_mut().poll(context)
        {
            of_one = Some(output);
        }
        if of_other.is_none()
            && let Poll::Ready(output) = other.as_mut().poll(context)
        {
            of_other = Some(output);
        }
        match (of_one.take(), of_other.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            (a, b) => {
                (of_one, of_other) = (a, b);
                Poll::Pending
            }
        }
    })
    .await
}
