//! A small executor for tests: one thread, one future, and a worker that is notified of every pass.

use crate::target::Worker;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Runs a future to completion on this thread. Each poll happens between [`Worker::pass_started`] and
/// [`Worker::pass_ended`], so stores that delay commits until the end of a pass make progress.
pub fn block_on<F: Future>(worker: &impl Worker, future: F) -> F::Output {
    let mut future = pin!(future);
    let alarm = Arc::new(ThreadWaker {
        owner: thread::current().id(),
        wait: worker.waker(),
        is_woken: AtomicBool::new(false),
    });
    let waker = Waker::from(Arc::clone(&alarm));
    let mut context = Context::from_waker(&waker);
    loop {
        worker.pass_started();
        let polled = future.as_mut().poll(&mut context);
        worker.pass_ended();
        match polled {
            Poll::Ready(output) => return output,
            Poll::Pending => {
                // The future may be waiting for a socket, even if it is always ready: let the worker poll
                // once.
                worker.wait(Some(Duration::ZERO));
                alarm.wait(worker);
            }
        }
    }
}

/// Remembers a wake-up that comes before the thread waits for it.
#[derive(Debug)]
struct ThreadWaker {
    owner: ThreadId,
    /// Ends the owner's wait.
    wait: Waker,
    is_woken: AtomicBool,
}

impl ThreadWaker {
    fn wait(&self, worker: &impl Worker) {
        while !self.is_woken.swap(false, Ordering::Acquire) {
            worker.wait(None);
        }
    }
}

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        // The owner checks the flag before it waits.
        if thread::current().id() != self.owner {
            self.wait.wake_by_ref();
        }
    }
}

/// Ends the current pass before the future continues.
pub(super) async fn pass() {
    let mut waited = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Runs two futures concurrently to completion. They share one waker, so each is polled when either may
/// continue.
pub(super) async fn both<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut of_a, mut of_b) = (None, None);
    std::future::poll_fn(move |context| {
        if of_a.is_none()
            && let Poll::Ready(output) = a.as_mut().poll(context)
        {
            of_a = Some(output);
        }
        if of_b.is_none()
            && let Poll::Ready(output) = b.as_mut().poll(context)
        {
            of_b = Some(output);
        }
        match (of_a.take(), of_b.take()) {
            (Some(of_a), Some(of_b)) => Poll::Ready((of_a, of_b)),
            (a, b) => {
                (of_a, of_b) = (a, b);
                Poll::Pending
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::{block_on, both, pass};
    use crate::target::Worker;
    use std::cell::{Cell, RefCell};
    use std::sync::mpsc;
    use std::task::{Poll, Waker};

    #[derive(Default)]
    struct Counting {
        started: Cell<usize>,
        ended: Cell<usize>,
        waiting: RefCell<Option<Waker>>,
    }

    impl Worker for Counting {
        fn pass_started(&self) {
            self.started.set(self.started.get() + 1);
        }

        fn pass_ended(&self) {
            self.ended.set(self.ended.get() + 1);
            if let Some(waker) = self.waiting.take() {
                waker.wake();
            }
        }
    }

    #[test]
    fn the_end_of_a_pass_wakes_a_future_that_waits_for_it() {
        let worker = Counting::default();
        let output = block_on(
            &worker,
            std::future::poll_fn(|context| {
                if worker.ended.get() > 0 {
                    return Poll::Ready("done");
                }
                worker.waiting.replace(Some(context.waker().clone()));
                Poll::Pending
            }),
        );
        assert_eq!((output, worker.started.get(), worker.ended.get()), ("done", 2, 2));
    }

    #[test]
    fn a_wake_from_another_thread_is_not_lost() {
        let (sender, receiver) = mpsc::channel::<Waker>();
        let waker_thread = std::thread::spawn(move || receiver.recv().unwrap().wake());
        let mut sent = false;
        block_on(
            &(),
            std::future::poll_fn(|context| {
                if std::mem::replace(&mut sent, true) {
                    return Poll::Ready(());
                }
                sender.send(context.waker().clone()).unwrap();
                Poll::Pending
            }),
        );
        waker_thread.join().unwrap();
    }

    #[test]
    fn two_futures_complete_in_either_order() {
        let slow = async {
            pass().await;
            pass().await;
            1
        };
        assert_eq!(block_on(&(), both(slow, async { 2 })), (1, 2));
    }
}
