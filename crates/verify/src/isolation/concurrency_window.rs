//! The window of a commit: others see it already, and whoever asked for it has no answer yet.
//!
//! A store that looks for dangerous structures (`T_in` reads what the pivot overwrites, the pivot reads what
//! `T_out` overwrites, `T_out` committed first) must take `T_out` for committed from the moment on at which
//! others see it. One that learns of it later lets a pivot commit in between, and with it a write skew:
//! `T_in` has seen `T_out` and does not see the pivot. So of a cycle of three in which `T_in` was asked for
//! after `T_out` was acknowledged, this is not the cause.

use super::anomaly::{Anomaly, Kind};
use super::cycles::Cycle;
use super::graph::Why;
use super::history::History;

/// Products that are known to do so, and what is known, as a sentence without its full stop.
const KNOWN: [(&str, &str); 1] = [(
    "PostgreSQL",
    "PostgreSQL's serializable lets a write skew through where a commit is seen by a second transaction \
     before its backend has noted it for the check, and a third commits in between; seen on 15.18 on a \
     busy machine, and made at will with a debugger (docs/verify.md)",
)];

/// What is known of a product whose every cycle of this anomaly goes through the window of a commit.
pub(crate) fn known(product: &str, anomaly: &Anomaly) -> Option<&'static str> {
    let of_product = KNOWN.iter().find(|(of, _)| *of == product);
    let fits = anomaly.kind == Kind::G2Item && anomaly.in_window == anomaly.count;
    of_product.filter(|_| fits).map(|(_, known)| *known)
}

/// True of `T_in`, pivot and `T_out` in a cycle, if `T_in` has seen `T_out` and was asked for before that was
/// acknowledged.
pub(super) fn is_in_window(history: &History, cycle: &Cycle) -> bool {
    let [a, b, c] = cycle[..] else {
        return false;
    };
    [[a, b, c], [b, c, a], [c, a, b]].into_iter().any(|[(t_in, one), (_, two), (t_out, three)]| {
        overlooks(one) && overlooks(two) && sees(three) && is_before_answer(history, t_in, t_out)
    })
}

fn overlooks(why: Why) -> bool {
    matches!(why, Why::ReadBefore(_))
}

fn sees(why: Why) -> bool {
    matches!(why, Why::Read(_) | Why::Overwritten(_))
}

/// True if the one was asked for before the other was acknowledged.
fn is_before_answer(history: &History, one: usize, other: usize) -> bool {
    let invoked = history.transactions[one].invoked;
    let answered = history.transactions[other].completed;
    answered.is_none_or(|answered| invoked < answered)
}
