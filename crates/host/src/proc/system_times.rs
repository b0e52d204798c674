//! How all processors together spent their time, from `/proc/stat`. The unit is a tick of usually 10 ms, so
//! spans under a second are coarse. In a container these are the times of the whole machine.

use crate::files::read_text;
use std::path::Path;
use syncline_instrument::{Nanos, clock};

/// Time of all processors together since the machine started, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemTimes {
    /// Running: user, nice, system and interrupt time; guest time is part of user time.
    pub busy_ns: Nanos,
    /// Idle, including waiting for I/O.
    pub idle_ns: Nanos,
    /// Ready to run here while the hypervisor ran another machine.
    pub steal_ns: Nanos,
}

impl SystemTimes {
    /// Reads the times below `root`, which is `/` except in tests; none if they cannot be read.
    pub fn read(root: &Path) -> Option<SystemTimes> {
        let text = read_text(&root.join("proc/stat"))?;
        SystemTimes::parse(&text, rustix::param::clock_ticks_per_second())
    }

    fn parse(text: &str, ticks_per_s: u64) -> Option<SystemTimes> {
        let line = text.lines().find(|line| line.starts_with("cpu "))?;
        let ticks: Vec<u64> = line
            .split_whitespace()
            .skip(1)
            .map(|field| field.parse().ok())
            .collect::<Option<_>>()?;
        let tick_ns = clock::SECOND.checked_div(ticks_per_s)?;
        let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = ticks[..] else {
            return None;
        };
        Some(SystemTimes {
            busy_ns: (user + nice + system + irq + softirq) * tick_ns,
            idle_ns: (idle + iowait) * tick_ns,
            steal_ns: steal * tick_ns,
        })
    }

    /// Share of all time since `before` that was busy, 0 to 1; none if no time has passed.
    pub fn busy_share(&self, before: &SystemTimes) -> Option<f64> {
        self.share(before, |times| times.busy_ns)
    }

    /// Share of all time since `before` that was stolen, 0 to 1; none if no time has passed.
    pub fn steal_share(&self, before: &SystemTimes) -> Option<f64> {
        self.share(before, |times| times.steal_ns)
    }

    fn share(&self, before: &SystemTimes, part: impl Fn(&SystemTimes) -> Nanos) -> Option<f64> {
        let all = |times: &SystemTimes| times.busy_ns + times.idle_ns + times.steal_ns;
        let total = all(self).saturating_sub(all(before));
        // Idle time has been observed to go back by a tick; the clamp keeps a share within its bounds.
        let part = part(self).saturating_sub(part(before)).min(total);
        (total > 0).then(|| part as f64 / total as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::SystemTimes;

    const STAT: &str = "cpu  10 1 5 70 4 2 3 5 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5\n";

    #[test]
    fn shares_are_of_all_time() {
        let now = SystemTimes::parse(STAT, 100).unwrap();
        assert_eq!((now.busy_ns, now.idle_ns), (210_000_000, 740_000_000));
        let before = SystemTimes::default();
        assert_eq!(now.steal_share(&before), Some(0.05));
        assert_eq!(now.busy_share(&before), Some(0.21));
        assert_eq!(now.busy_share(&now), None);
    }

    #[test]
    fn invalid_text_is_rejected() {
        assert_eq!(SystemTimes::parse("cpu  1 2 3\n", 100), None);
        assert_eq!(SystemTimes::parse("cpu  a b c d e f g h\n", 100), None);
        assert_eq!(SystemTimes::parse("", 100), None);
    }
}
