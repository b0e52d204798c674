//! Wakes from all sources, sleepers, and aborts.

use super::run_loop::block_on_with;
use super::{Executor, Phase, Signal, Timers, yield_now};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;
use syncline_contract::Worker;
use syncline_instrument::clock;

/// A ticket that another thread, or the same one, completes.
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
fn a_client_that_sleeps_in_a_transaction_sleeps_on_while_the_run_ends() {
    use syncline_contract::Timer;
    use syncline_instrument::clock;
    let timers = Timers::default();
    let signal = Signal::default();
    let began = clock::now();
    let mut woken = Vec::new();
    let client = async {
        let mut registered = false;
        let due = began + 50_000_000;
        poll_fn(|context| {
            if clock::now() >= due {
                return Poll::Ready(());
            }
            if !registered {
                registered = true;
                timers.wake_at(due, context.waker().clone());
                // From here on the run is ending, which wakes only sleepers outside transactions.
                signal.advance(Phase::Ending);
            }
            Poll::Pending
        })
        .await;
        timers.sleep_until(u64::MAX).await;
        woken.push(clock::now());
    };
    Executor::new([client], &timers, &()).drive(&signal);
    assert_eq!(woken.len(), 1);
    assert!(woken[0] >= began + 50_000_000, "it woke before its time");
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
    Executor::new(clients, &timers, &()).drive(&Signal::default());
    let all: Vec<_> = (0..3).flat_map(|turn| (0..3).map(move |client| (turn, client))).collect();
    assert_eq!(*order.borrow(), all);
}

/// Completes the tickets of a pass at its end: a wake on the owner's thread outside any poll.
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
fn a_wake_at_the_end_of_a_pass_is_not_lost() {
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
    Executor::new(clients, &timers, &part).drive(&Signal::default());
    assert_eq!(done.get(), 800);
    let (started, ended) = part.passes.get();
    assert_eq!((started, ended), (101, 101), "a pass serves all eight clients");
}

fn completer(seed: u64) -> (Sender<Arc<Ticket>>, std::thread::JoinHandle<()>) {
    let (sender, receiver) = channel::<Arc<Ticket>>();
    let thread = std::thread::spawn(move || {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut held: Vec<Arc<Ticket>> = Vec::new();
        while let Ok(ticket) = receiver.recv() {
            held.push(ticket);
            held.extend(receiver.try_iter());
            // In random order: sometimes at once, sometimes after the client has parked.
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
        Executor::new(clients, &timers, &()).drive(&Signal::default());
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
    Executor::new(clients, &timers, &()).drive(&Signal::default());
    assert_eq!(*woken.borrow(), [1, 2, 3]);
}

#[test]
fn ending_wakes_sleepers_at_once_and_an_abort_drops_what_is_under_way() {
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
    let mut executor = Executor::new(clients, &timers, &());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            signal.advance(Phase::Ending);
            owner.unpark();
            signal.advance(Phase::Abort);
            owner.unpark();
        });
        executor.drive(&signal);
    });
    assert_eq!(Rc::strong_count(&dropped), 5);
    drop(executor);
    assert_eq!(Rc::strong_count(&dropped), 1);
    signal.advance(Phase::Running);
    assert_eq!(signal.phase(), Phase::Abort, "a phase went back");
}

#[test]
fn block_on_returns_the_output() {
    assert_eq!(
        block_on_with(
            async {
                yield_now().await;
                7
            },
            &()
        ),
        7
    );
}

/// A part that completes tickets only in its wait, like a poller of sockets.
#[derive(Default)]
struct Poller {
    tickets: RefCell<Vec<Rc<Ticket>>>,
    waits: Cell<usize>,
    polls: Cell<usize>,
}

impl Poller {
    async fn next(&self) {
        let ticket = Rc::new(Ticket::default());
        self.tickets.borrow_mut().push(ticket.clone());
        ticket.wait().await;
    }
}

impl Worker for Poller {
    fn wait(&self, longest: Option<Duration>) {
        let kind = match longest {
            Some(Duration::ZERO) => &self.polls,
            _ => &self.waits,
        };
        kind.set(kind.get() + 1);
        for ticket in self.tickets.borrow_mut().drain(..) {
            ticket.complete();
        }
    }
}

#[test]
fn a_wake_on_the_same_thread_outside_polls_and_passes_is_not_lost() {
    let part = Poller::default();
    let timers = Timers::default();
    let done = Cell::new(0);
    let clients = (0..8).map(|_| async {
        for _ in 0..100 {
            part.next().await;
            done.set(done.get() + 1);
        }
    });
    Executor::new(clients, &timers, &part).drive(&Signal::default());
    assert_eq!(done.get(), 800);
    let waits = part.waits.get();
    assert!((100..200).contains(&waits), "a wait serves all eight clients: {waits}");
    assert_eq!(part.polls.get(), 0, "a worker that waits need not poll as well");
}

#[test]
fn clients_that_stay_ready_do_not_starve_clients_that_wait_for_a_socket() {
    let part = Poller::default();
    let timers = Timers::default();
    let (part_ref, over) = (&part, &Cell::new(false));
    let clients = (0..2).map(|client| async move {
        if client == 0 {
            while !over.get() {
                yield_now().await;
            }
        } else {
            for _ in 0..10 {
                part_ref.next().await;
            }
            over.set(true);
        }
    });
    Executor::new(clients, &timers, &part).drive(&Signal::default());
    assert_eq!(part.waits.get(), 0, "the thread waited although a client was ready");
    assert!(part.polls.get() >= 10);
}

#[test]
fn sockets_are_polled_while_the_thread_spins_for_a_sleeper() {
    let part = Poller::default();
    let timers = Timers::default();
    let (part_ref, timers_ref, over, events) = (&part, &timers, &Cell::new(false), &Cell::new(0));
    let clients = (0..2).map(|client| async move {
        if client == 0 {
            // Spinning is short, and sometimes another thread has the processor at that moment.
            for _ in 0..50 {
                timers_ref.sleep_until(clock::now() + 1_000_000).await;
            }
            over.set(true);
        } else {
            while !over.get() {
                part_ref.next().await;
                events.set(events.get() + 1);
            }
        }
    });
    Executor::new(clients, &timers, &part).drive(&Signal::default());
    assert!(part.polls.get() > 1, "{}", part.polls.get());
    assert!(events.get() > part.waits.get());
}

/// A part with its own kind of wait, which only its waker ends.
struct OwnWait {
    bell: Arc<Bell>,
}

struct Bell {
    woken: Mutex<bool>,
    changed: std::sync::Condvar,
}

impl std::task::Wake for Bell {
    fn wake(self: Arc<Self>) {
        *self.woken.lock().unwrap() = true;
        self.changed.notify_all();
    }
}

impl Worker for OwnWait {
    fn wait(&self, longest: Option<Duration>) {
        if longest.is_none() {
            let woken = self.bell.woken.lock().unwrap();
            let mut woken = self.bell.changed.wait_while(woken, |woken| !*woken).unwrap();
            *woken = false;
        }
    }

    fn waker(&self) -> Waker {
        Waker::from(self.bell.clone())
    }
}

#[test]
fn another_thread_ends_the_wait_by_the_parts_own_waker() {
    let part = OwnWait {
        bell: Arc::new(Bell { woken: Mutex::new(false), changed: std::sync::Condvar::new() }),
    };
    let (to, thread) = completer(3);
    let timers = Timers::default();
    let done = Cell::new(0);
    let clients = (0..20).map(|_| {
        let (done, to) = (&done, &to);
        async move {
            for _ in 0..200 {
                let ticket = Arc::new(Ticket::default());
                to.send(ticket.clone()).unwrap();
                ticket.wait().await;
                done.set(done.get() + 1);
            }
        }
    });
    Executor::new(clients, &timers, &part).drive(&Signal::default());
    assert_eq!(done.get(), 4_000);
    drop(to);
    thread.join().unwrap();
}
