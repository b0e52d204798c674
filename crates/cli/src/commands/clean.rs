//! `syncline clean URL`: removes what is ours from a server, and says what it was.

use crate::args::CleanArgs;
use crate::exit::{Outcome, Verdict};
use crate::shelf::Shelf;
use crate::terminal;
use syncline_contract::Target;
use syncline_targets::server::shown;

/// Cleans a server.
pub(crate) fn clean<S: Shelf>(args: &CleanArgs, shelf: &S) -> Outcome {
    let target = shelf.open(&args.url)?;
    let removed = syncline_runner::ask(target.clean())?;
    if removed.is_empty() {
        terminal::note(&format!("nothing of ours is in {}", shown(&args.url)));
    }
    for one in removed {
        terminal::print(&(one + "\n"))?;
    }
    Ok(Verdict::Holds)
}
