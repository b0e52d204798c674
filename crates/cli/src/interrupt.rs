//! Ctrl-C and SIGTERM: the first signal ends a run cleanly with its results so far, the second ends the
//! program at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use syncline_console::terminal;

static STOP: AtomicBool = AtomicBool::new(false);
static INSTALLED: OnceLock<()> = OnceLock::new();

/// The flag that every long operation polls; the first signal sets it.
pub(crate) fn stop_flag() -> &'static AtomicBool {
    INSTALLED.get_or_init(|| {
        syncline_stores::wire::interrupt_by(&STOP);
        let installed = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::SeqCst) {
                syncline_probe::remove_all();
                std::process::abort();
            }
            terminal::note("stopping; a second Ctrl-C ends the program at once");
        });
        if let Err(error) = installed {
            terminal::warn(&format!("Ctrl-C will end the program at once: {error}"));
        }
    });
    &STOP
}

/// True after the first signal.
pub(crate) fn stopped() -> bool {
    STOP.load(Ordering::SeqCst)
}
