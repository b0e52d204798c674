//! Test threads that run until the main part of the test is over.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sets a flag when dropped, also when the main part fails: otherwise it would wait for the threads forever.
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
