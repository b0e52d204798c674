//! Writes a profile as its stacks file.

use super::line::{FORMAT, Head, Line, VERSION};
use crate::profile::Profile;
use std::io::{self, Write};

impl Profile {
    /// Writes the stacks file; the caller buffers and syncs.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut lines = Lines { to, written: 0 };
        lines.put(&Line::Head(Head {
            format: FORMAT.to_owned(),
            version: VERSION,
            window_ns: self.window_ns,
        }))?;
        for frame in &self.frames {
            lines.put(&Line::Frame(frame.clone()))?;
        }
        for stack in &self.stacks {
            lines.put(&Line::Stack(stack.clone()))?;
        }
        for thread in &self.threads {
            lines.put(&Line::Thread(thread.clone()))?;
        }
        for it in &self.samples {
            let (thread, stack) = (it.thread.0, it.stack.0);
            lines.put(&Line::Sample(it.metric, thread, stack, it.weight, it.count))?;
        }
        for account in &self.accounts {
            lines.put(&Line::Account(account.clone()))?;
        }
        for histogram in &self.histograms {
            lines.put(&Line::Histogram(histogram.clone()))?;
        }
        let written = lines.written;
        lines.put(&Line::End(written))
    }
}

struct Lines<'a, W> {
    to: &'a mut W,
    written: u64,
}

impl<W: Write> Lines<'_, W> {
    fn put(&mut self, line: &Line) -> io::Result<()> {
        serde_json::to_writer(&mut *self.to, line)?;
        self.to.write_all(b"\n")?;
        self.written += 1;
        Ok(())
    }
}
