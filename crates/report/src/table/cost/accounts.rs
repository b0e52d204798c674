//! What the collectors of a metered run can take here, and what would open the rest.

use super::super::prose;
use crate::cost::words;
use syncline_profile::{Account, How};

/// A paragraph a collector and way of taking; those that work first.
pub fn accounts(accounts: &[Account]) -> String {
    let mut works: Vec<(String, Vec<&str>)> = Vec::new();
    let mut refused: Vec<(String, Vec<&str>)> = Vec::new();
    for account in accounts {
        let collector = &account.collector;
        let (list, heading) = match &account.how {
            How::Exact => (&mut works, format!("{collector} (exact): ")),
            How::Sampled(distance) => (&mut works, format!("{collector} ({distance}): ")),
            How::NotAttributable(why) => (&mut refused, format!("{collector}: {why}: ")),
        };
        let metric = words(account.metric.name());
        match list.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, metrics)) => metrics.push(metric),
            None => list.push((heading, vec![metric])),
        }
    }
    let mut text = String::new();
    for (title, list, none) in [
        ("by module, works here", works, "nothing"),
        (
            "not by module here",
            refused,
            "everything else there is works",
        ),
    ] {
        text += &format!("{title}\n");
        if list.is_empty() {
            text += &format!("  {none}\n");
        }
        for (heading, metrics) in list {
            text += &prose::wrapped("  ", &(heading + &metrics.join(", ")));
        }
    }
    text
}
