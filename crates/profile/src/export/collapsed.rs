//! Collapsed stacks, the input of flame graph tools and speedscope: one line for each stack with the thread
//! and the frames from the outermost inwards, separated by semicolons, then a space and the weight.

use crate::metric::Metric;
use crate::profile::Profile;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Writes one metric of a profile.
pub fn collapsed(profile: &Profile, metric: Metric, to: &mut impl Write) -> io::Result<()> {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for sample in profile.samples().iter().filter(|it| it.metric == metric) {
        let thread = profile.thread(sample.thread);
        let mut line = without_separators(thread.title.as_deref().unwrap_or(&thread.name));
        for frame in profile.stack(sample.stack).rev() {
            line.push(';');
            line.push_str(&without_separators(&frame.label()));
        }
        // Frames that differ only in their offset within a function share a line.
        *lines.entry(line).or_default() += sample.weight;
    }
    for (line, weight) in lines {
        writeln!(to, "{line} {weight}")?;
    }
    Ok(())
}

/// Replaces the characters that separate frames and lines.
fn without_separators(text: &str) -> String {
    text.replace(';', ":").replace(char::is_control, " ")
}
