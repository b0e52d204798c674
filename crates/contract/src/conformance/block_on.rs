//! A small executor for tests: one thread, one future, and the worker told of every pass.

use crate::target::Worker;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Runs a future to its end on this thread, each poll between [`Worker::pass_started`] and
/// [`Worker::pass_ended`], so that stores whose commits wait for the end of a pass answer.
pub fn block_on<F: Future>(worker: &impl Worker, future: F) -> F::Output {
    let mut future = pin!(future);
    let alarm = Arc::new(ThreadWaker {
        owner: thread::current().id(),
        wait: worker.waker(),
        rung: AtomicBool::new(false),
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
                // A future that stays ready for ever may wait for a socket's word.
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
    rung: AtomicBool,
}

impl ThreadWaker {
    fn wait(&self, worker: &impl Worker) {
        while !self.rung.swap(false, Ordering::Acquire) {
            worker.wait(None);
        }
    }
}

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rung.store(true, Ordering::Release);
        // The owner itself looks at the flag before it waits.
        if thread::current().id() != self.owner {
            self.wait.wake_by_ref();
        }
    }
}

/// Lets the executor finish a pass before the future goes on.
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

/// Runs two futures side by side to their ends; both share one waker, so each is polled when either
/// may go on.
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
    fn a_future_that_waits_for_the_end_of_the_pass_is_woken_by_it() {
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
    fn two_futures_end_whichever_waits_longer() {
        let slow = async {
            pass().await;
            pass().await;
            1
        };
        assert_eq!(block_on(&(), both(slow, async { 2 })), (1, 2));
    }
}
