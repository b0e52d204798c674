//! `syncline clean URL`: removes what is ours from a server, and says what it was.

use super::live_option::with_live_option;
use crate::args::CleanArgs;
use crate::interrupt;
use crate::registry::TargetRegistry;
use syncline_console::{Outcome, Verdict, terminal};
use syncline_contract::Target;
use syncline_stores::server::shown;

/// Cleans a server.
pub(crate) fn clean<S: TargetRegistry>(args: &CleanArgs, shelf: &S) -> Outcome {
    // A server that says nothing is left at the first Ctrl-C.
    interrupt::stop_flag();
    // Whoever else works there is not touched.
    let target = shelf.open(&with_live_option(&args.url, true))?;
    let removed = syncline_runner::ask(target.clean())?;
    if removed.is_empty() {
        terminal::note(&format!("nothing of syncline's is in {}", shown(&args.url)));
    }
    for one in removed {
        terminal::print(&(one + "\n"))?;
    }
    Ok(Verdict::Holds)
}
