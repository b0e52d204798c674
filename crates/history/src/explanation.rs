//! Explains a cycle in words.

use crate::graph::{Graph, Why};
use crate::graph_search::Cycle;
use crate::history::{History, Operation};

/// One sentence for each transaction of a cycle, and one for each step.
pub(crate) fn explain(history: &History, graph: &Graph, cycle: &Cycle) -> Vec<String> {
    // Moments are skipped: the edges into and out of a moment form one step of real time.
    let steps: Vec<_> = cycle.iter().filter(|(node, _)| *node < graph.transactions).collect();
    let mut sentences: Vec<_> = steps.iter().map(|(node, _)| transaction(history, *node)).collect();
    for (position, (node, why)) in steps.iter().enumerate() {
        let next = steps[(position + 1) % steps.len()].0;
        sentences.push(match why {
            Why::Overwritten(key) => {
                format!("T{node} came before T{next}, which appended to key {key} after it")
            }
            Why::Read(key) => {
                format!("T{node} came before T{next}, which read its append to key {key}")
            }
            Why::ReadBefore(key) => {
                format!("T{node} came before T{next}, whose append to key {key} it did not see")
            }
            Why::Session => format!("T{node} came before T{next} in the same session"),
            Why::RealTime => format!("T{node} had ended before T{next} was requested"),
        });
    }
    sentences.push("so each came before itself, which no serial order allows".to_owned());
    sentences
}

fn transaction(history: &History, number: usize) -> String {
    let transaction = &history.transactions[number];
    let did: Vec<_> = transaction
        .operations
        .iter()
        .map(|one| match one {
            Operation::Append { key, value } => format!("appended {value} to key {key}"),
            Operation::Read { key, values } => match values {
                Some(values) => format!("read key {key}: {}", shortened(values)),
                None => format!("requested key {key}"),
            },
        })
        .collect();
    format!("T{number} (client {}): {}", transaction.process, did.join(", "))
}

/// Shortens long lists to their ends.
fn shortened(values: &[i64]) -> String {
    if values.len() <= 6 {
        return format!("{values:?}");
    }
    let last = &values[values.len() - 3..];
    format!("[{}, ... {last:?} ({} values)]", values[0], values.len())
}
