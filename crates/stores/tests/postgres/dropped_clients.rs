//! A dropped client leaves no open transaction and no lock.

use crate::server::{Numbers, Server};
use syncline_contract::conformance::block_on;
use syncline_contract::{AccessPattern, Durability, RequestTracker, Session, Target, Transaction};

#[test]
fn a_client_dropped_while_waiting_for_a_lock_leaves_nothing() {
    let server = Server::start(Durability::Os);
    let numbers = Numbers::new();
    let target = server.target("");
    block_on(&(), target.create(&numbers.plan)).unwrap();
    let worker = target.worker().unwrap();
    block_on(&worker, async {
        let mut holder = target.connect(&numbers.plan, &worker).await.unwrap();
        numbers.fill(&mut holder).await.unwrap();
        let mut waiter = target.connect(&numbers.plan, &worker).await.unwrap();
        holder.begin(AccessPattern::Several);
        let mut asked = RequestTracker::new(false);
        let mut tx = Transaction::new(&mut holder, &mut asked);
        tx.read(&numbers.get_for_update, (1,)).await.unwrap();
        {
            let mut waiting = std::pin::pin!(async {
                waiter.begin(AccessPattern::Several);
                let mut asked = RequestTracker::new(false);
                let mut tx = Transaction::new(&mut waiter, &mut asked);
                tx.write(&numbers.add, (1, 1)).unwrap();
                waiter.commit().await
            });
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(waiting.as_mut().poll(&mut context).is_pending());
        }
        drop(waiter);
        drop(holder);
        let mut next = target.connect(&numbers.plan, &worker).await.unwrap();
        next.begin(AccessPattern::Several);
        let mut asked = RequestTracker::new(false);
        let mut tx = Transaction::new(&mut next, &mut asked);
        let (number,) = tx.read(&numbers.get_for_update, (1,)).await.unwrap();
        // The dropped commit had been sent, so it may have been executed: at most once.
        assert!((0..=1).contains(&number), "{number}");
        next.commit().await.unwrap();
    });
    block_on(&(), target.remove()).unwrap();
    assert_eq!(server.schemas(), [""; 0]);
}
