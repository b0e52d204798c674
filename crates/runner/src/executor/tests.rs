//! Wakes from everywhere, sleepers, cuts.

use super::{Executor, Phase, Signal, Timers, block_on, yield_now};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use syncline_contract::Worker;
use syncline_metering::clock;

/// A ticket that another thread, or anyone else, completes.
#[derive(Default)]
struct Ticket {
    state: Mutex<(bool, Option<Waker>)>,
}

impl Ticket {
    fn complete(&self) {
        let waker = {
            let mut state = self.state.lock().unwrap();
            state.0 = true;
            state.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    async fn wait(&self) {
        poll_fn(|context| {
            let mut state = self.state.lock().unwrap();
            if state.0 {
                return Poll::Ready(());
            }
            state.1 = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

#[test]
fn who_sleeps_in_a_transaction_sleeps_on_while_the_run_ends() {
    use syncline_contract::Timer;
    use syncline_metering::clock;
    let timers = Timers::default();
    let signal = Signal::default();
    let began = clock::now();
    let mut woken = Vec::new();
    let client = async {
        let mut asked = false;
        let due = began + 50_000_000;
        poll_fn(|context| {
            if clock::now() >= due {
                return Poll::Ready(());
            }
            if !asked {
                asked = true;
                timers.wake_at(due, context.waker().clone());
                // From here on the run is ending, which wakes others only.
                signal.advance(Phase::Ending);
            }
            Poll::Pending
        })
        .await;
        timers.sleep_until(u64::MAX).await;
        woken.push(clock::now());
    };
    Executor::new([client], &timers).drive(&(), &signal);
    assert_eq!(woken.len(), 1);
    assert!(woken[0] >= began + 50_000_000, "it slept to its end");
}

#[test]
fn ready_clients_take_turns() {
    let order = RefCell::new(Vec::new());
    let timers = Timers::default();
    let clients = (0..3).map(|client| {
        let order = &order;
        async move {
            for turn in 0..3 {
                order.borrow_mut().push((turn, client));
                yield_now().await;
            }
        }
    });
    Executor::new(clients, &timers).drive(&(), &Signal::default());
    let all: Vec<_> = (0..3)
        .flat_map(|turn| (0..3).map(move |client| (turn, client)))
        .collect();
    assert_eq!(*order.borrow(), all);
}

/// Completes at the end of a pass what was asked for in it: a wake on the owner's thread outside of
/// any poll.
#[derive(Default)]
struct AtPassEnd {
    tickets: RefCell<Vec<Rc<Ticket>>>,
    passes: Cell<(usize, usize)>,
}

impl Worker for AtPassEnd {
    fn pass_started(&self) {
        let (started, ended) = self.passes.get();
        assert_eq!(started, ended, "passes do not nest");
        self.passes.set((started + 1, ended));
    }

    fn pass_ended(&self) {
        let (started, ended) = self.passes.get();
        self.passes.set((started, ended + 1));
        for ticket in self.tickets.borrow_mut().drain(..) {
            ticket.complete();
        }
    }
}

#[test]
fn a_wake_at_the_end_of_a_pass_is_seen() {
    let part = AtPassEnd::default();
    let timers = Timers::default();
    let done = Cell::new(0);
    let clients = (0..8).map(|_| async {
        for _ in 0..100 {
            let ticket = Rc::new(Ticket::default());
            part.tickets.borrow_mut().push(ticket.clone());
            ticket.wait().await;
            done.set(done.get() + 1);
        }
    });
    Executor::new(clients, &timers).drive(&part, &Signal::default());
    assert_eq!(done.get(), 800);
    let (started, ended) = part.passes.get();
    assert_eq!(
        (started, ended),
        (101, 101),
        "a pass serves all eight clients"
    );
}

fn completer(seed: u64) -> (Sender<Arc<Ticket>>, std::thread::JoinHandle<()>) {
    let (sender, receiver) = channel::<Arc<Ticket>>();
    let thread = std::thread::spawn(move || {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut held: Vec<Arc<Ticket>> = Vec::new();
        while let Ok(ticket) = receiver.recv() {
            held.push(ticket);
            held.extend(receiver.try_iter());
            // Sometimes at once, sometimes after the client has parked, in any order.
            if random.u8(..) < 32 {
                std::thread::yield_now();
            }
            random.shuffle(&mut held);
            for ticket in held.drain(..) {
                ticket.complete();
            }
        }
    });
    (sender, thread)
}

#[test]
fn no_wake_from_another_thread_is_lost() {
    for seed in 0..4 {
        let (first, first_thread) = completer(seed);
        let (second, second_thread) = completer(seed + 100);
        let timers = Timers::default();
        let done = Cell::new(0_u32);
        let clients = (0..50_usize).map(|client| {
            let (done, to) = (&done, if client % 2 == 0 { &first } else { &second });
            async move {
                for _ in 0..400 {
                    let ticket = Arc::new(Ticket::default());
                    to.send(ticket.clone()).unwrap();
                    ticket.wait().await;
                    done.set(done.get() + 1);
                }
            }
        });
        Executor::new(clients, &timers).drive(&(), &Signal::default());
        assert_eq!(done.get(), 20_000);
        drop((first, second));
        first_thread.join().unwrap();
        second_thread.join().unwrap();
    }
}

#[test]
fn sleepers_wake_in_the_order_of_their_times_and_never_early() {
    let timers = Timers::default();
    let woken = RefCell::new(Vec::new());
    let start = clock::now();
    let clients = [3_u64, 1, 2].map(|number| {
        let (timers, woken) = (&timers, &woken);
        async move {
            let due = start + number * 300_000;
            timers.sleep_until(due).await;
            assert!(clock::now() >= due);
            woken.borrow_mut().push(number);
        }
    });
    Executor::new(clients, &timers).drive(&(), &Signal::default());
    assert_eq!(*woken.borrow(), [1, 2, 3]);
}

#[test]
fn ending_wakes_sleepers_at_once_and_a_cut_drops_what_is_under_way() {
    let timers = Timers::default();
    let signal = Signal::default();
    let dropped = Rc::new(());
    let owner = std::thread::current();
    let clients = (0..4).map(|_| {
        let (timers, held) = (&timers, dropped.clone());
        async move {
            timers.sleep_until(u64::MAX).await;
            Ticket::default().wait().await;
            drop(held);
        }
    });
    let mut executor = Executor::new(clients, &timers);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            signal.advance(Phase::Ending);
            owner.unpark();
            signal.advance(Phase::Cut);
            owner.unpark();
        });
        executor.drive(&(), &signal);
    });
    assert_eq!(Rc::strong_count(&dropped), 5);
    drop(executor);
    assert_eq!(Rc::strong_count(&dropped), 1);
    signal.advance(Phase::Running);
    assert_eq!(signal.phase(), Phase::Cut, "phases never go back");
}

#[test]
fn block_on_answers() {
    assert_eq!(
        block_on(
            async {
                yield_now().await;
                7
            },
            &()
        ),
        7
    );
}
