//! The commit window: other transactions already see a commit, but its client has no answer yet.
//!
//! A store that checks for dangerous structures (`T_in` reads what the pivot overwrites, the pivot reads what
//! `T_out` overwrites, `T_out` committed first) must count `T_out` as committed from the moment when others
//! see it. If it does so later, it may let a pivot commit in between, and with it a write skew: `T_in` has
//! seen `T_out` and does not see the pivot. So a cycle of three in which `T_in` was requested after `T_out`
//! was acknowledged has another cause.

use crate::anomaly::{Anomaly, Kind};
use crate::graph::Why;
use crate::graph_search::Cycle;
use crate::history::History;

/// Products with this behaviour, and its description as a sentence without the final period.
const KNOWN: [(&str, &str); 1] = [(
    "PostgreSQL",
    "PostgreSQL's serializable permits a write skew if a second transaction sees a commit before the \
     committing backend has recorded it for the check, and a third commits in between; seen on 15.18 on a \
     busy machine, and reproduced with a debugger (docs/verify.md)",
)];

/// The known behaviour of a product, if every cycle of this anomaly goes through the commit window.
pub fn known(product: &str, anomaly: &Anomaly) -> Option<&'static str> {
    let of_product = KNOWN.iter().find(|(of, _)| *of == product);
    let fits = anomaly.kind == Kind::G2Item && anomaly.in_window == anomaly.count;
    of_product.filter(|_| fits).map(|(_, known)| *known)
}

/// True if the cycle consists of `T_in`, pivot and `T_out`, and `T_in` has seen `T_out` and was requested
/// before `T_out` was acknowledged.
pub(crate) fn is_in_window(history: &History, cycle: &Cycle) -> bool {
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

/// True if the first was requested before the second was acknowledged.
fn is_before_answer(history: &History, one: usize, other: usize) -> bool {
    let invoked = history.transactions[one].invoked;
    let answered = history.transactions[other].completed;
    answered.is_none_or(|answered| invoked < answered)
}
