//! How long tasks waited for a processor or for I/O, from `/proc/pressure`.

use crate::files::read_text;
use std::path::Path;
use syncline_instrument::Nanos;

/// The time since the machine started during which some task was waiting, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Waiting for a processor; none if the kernel does not report it.
    pub cpu_ns: Option<Nanos>,
    /// Waiting for I/O; none if the kernel does not report it.
    pub io_ns: Option<Nanos>,
}

impl Pressure {
    /// Reads the totals below `root`, which is `/` except in tests.
    pub fn read(root: &Path) -> Pressure {
        let of = |file: &str| {
            let text = read_text(&root.join("proc/pressure").join(file))?;
            some_total_ns(&text)
        };
        Pressure { cpu_ns: of("cpu"), io_ns: of("io") }
    }
}

fn some_total_ns(text: &str) -> Option<Nanos> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    let total = line.split_whitespace().find_map(|field| field.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::{Pressure, some_total_ns};

    #[test]
    fn the_total_of_the_some_line_is_read() {
        let text = "some avg10=0.00 avg60=0.10 total=1500\nfull avg10=0.00 total=7\n";
        assert_eq!(some_total_ns(text), Some(1_500_000));
        assert_eq!(some_total_ns("full total=7"), None);
    }

    #[test]
    fn a_kernel_without_pressure_is_unknown() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(Pressure::read(root.path()), Pressure::default());
    }
}
