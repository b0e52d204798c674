//! `syncline model`: the access time of a spinning disk, calculated from its data sheet.

use crate::args::ModelArgs;
use syncline_console::{Outcome, Verdict, terminal};
use syncline_report::DiskModel;

/// Prints AAT = AST + ARL + TT, and the rate at one access per commit.
pub(crate) fn model(args: &ModelArgs) -> Outcome {
    let time = DiskModel::parse(&args.sheet)?.access_time();
    let text = format!(
        "average access time = average seek time + average rotational latency + transfer time\n\
         AAT = AST + ARL + TT\n\n\
         AST   {:>7.2} ms   seek\n\
         ARL   {:>7.2} ms   half a turn\n\
         TT    {:>7.2} ms   one block\n\
         AAT   {:>7.2} ms   {:.1}/s, one access per commit\n\n\
         The same block can be synced at most {:.1} times a second: once per turn.\n\
         The data sheet does not include a cache, and a store may need more than one access per commit.\n",
        time.seek_ms,
        time.rotation_ms,
        time.transfer_ms,
        time.access_ms,
        time.rate_per_s,
        time.turns_per_s,
    );
    terminal::print(&text)?;
    Ok(Verdict::Holds)
}
