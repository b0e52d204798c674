//! `syncline clean URL`: removes everything that syncline left in a server, and lists it.

use super::live_option::with_live_option;
use crate::args::CleanArgs;
use crate::interrupt;
use crate::registry::TargetRegistry;
use syncline_console::{Outcome, Verdict, terminal};
use syncline_contract::Target;
use syncline_stores::server::redacted_url;

/// Cleans a server.
pub(crate) fn clean<S: TargetRegistry>(args: &CleanArgs, registry: &S) -> Outcome {
    // Ctrl-C must work at once while a server does not answer.
    interrupt::stop_flag();
    // Only syncline's own objects are removed, so other sessions do not matter.
    let target = registry.open(&with_live_option(&args.url, true))?;
    let removed = syncline_runner::ask(target.clean())?;
    if removed.is_empty() {
        terminal::note(&format!("{} holds nothing that syncline made", redacted_url(&args.url)));
    }
    for one in removed {
        terminal::print(&(one + "\n"))?;
    }
    Ok(Verdict::Holds)
}
