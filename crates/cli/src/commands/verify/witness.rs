//! `syncline verify witness`.

use crate::args::WitnessArgs;
use crate::interrupt;
use syncline_console::{Outcome, Verdict, terminal};
use syncline_verify::disk::Witness;
use syncline_vfs::RealDisk;

/// Listens until it is stopped.
pub(super) fn witness(args: &WitnessArgs) -> Outcome {
    let stop = interrupt::stop_flag();
    let witness = Witness::listen(&args.listen, &RealDisk, &args.keep, args.silence)?;
    let address = witness.address()?;
    let keep = args.keep.display();
    terminal::print(&format!(
        "listening at {address}, recording promises in {keep}; Ctrl-C ends it\n"
    ))?;
    witness.serve(stop, &terminal::note)?;
    Ok(Verdict::Holds)
}
