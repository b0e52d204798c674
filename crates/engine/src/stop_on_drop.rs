//! Threads of a test that go on until its main part is over.

use std::sync::atomic::{AtomicBool, Ordering};

/// Says so when it is dropped: also if the main part fails, which else would wait for them for ever.
pub(crate) struct StopOnDrop<'a>(&'a AtomicBool);

impl StopOnDrop<'_> {
    pub(crate) fn new(is_over: &AtomicBool) -> StopOnDrop<'_> {
        StopOnDrop(is_over)
    }
}

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::StopOnDrop;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn threads_of_a_test_that_fails_end() {
        let is_over = AtomicBool::new(false);
        let failed = catch_unwind(AssertUnwindSafe(|| {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Acquire) {
                        std::hint::spin_loop();
                    }
                });
                let _over = StopOnDrop::new(&is_over);
                std::panic::resume_unwind(Box::new("the test fails"));
            })
        }));
        assert!(failed.is_err());
    }
}
