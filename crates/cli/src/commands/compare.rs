//! `syncline compare`: is the second record worse than the first?

use super::show;
use crate::args::CompareArgs;
use syncline_console::{Outcome, Verdict, terminal};
use syncline_report::{compare as report, html, table};

/// Compares two records; a regression is exit code 1, and figures too short to judge are exit code 2.
pub(crate) fn compare(args: &CompareArgs) -> Outcome {
    let before = syncline_record::read(&syncline_record::named(&args.before)?)?;
    let after = syncline_record::read(&syncline_record::named(&args.after)?)?;
    let comparison = report::compare(&before, &after, args.unequal);
    if let Some(path) = &args.html {
        show::write_page(path, &html::comparison([&before, &after], &comparison))?;
        terminal::note(&format!("wrote {}", path.display()));
    }
    let comparison = comparison?;
    terminal::print_view(|| table::compare(&comparison))?;
    Ok(if comparison.regression {
        Verdict::Broken
    } else if let Some(why) = &comparison.too_short {
        terminal::error(why);
        Verdict::Partial
    } else {
        Verdict::Holds
    })
}
