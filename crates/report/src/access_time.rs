//! The calculated access time of a spinning disk, from its data sheet.
//!
//! AAT = AST + ARL + TT: average access time is average seek time, plus rotational latency (half a turn),
//! plus the transfer time of one block. One commit waits for one access, so 1 / AAT is the calculated rate.
//! Units: in a block size, `k` and `KiB` are 1024 bytes and `kB` 1000 (a database page of 16k is 16,384
//! bytes); `MB/s` is 1,000,000 bytes per second, as disk makers define it.

use crate::{Error, Result};

/// The figures of a disk's data sheet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiskModel {
    /// Average seek time in milliseconds.
    pub seek_ms: f64,
    /// Revolutions per minute.
    pub rpm: f64,
    /// Media rate in bytes per second.
    pub transfer_bytes_per_s: f64,
    /// Size of one access in bytes.
    pub block_bytes: f64,
}

/// The result of the calculation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccessTime {
    /// Average seek time in milliseconds.
    pub seek_ms: f64,
    /// Average rotational latency, half a turn, in milliseconds.
    pub rotation_ms: f64,
    /// Transfer time of one block in milliseconds.
    pub transfer_ms: f64,
    /// Their sum in milliseconds.
    pub access_ms: f64,
    /// Accesses per second.
    pub rate_per_s: f64,
    /// Revolutions per second: the upper bound of syncs of one and the same block.
    pub turns_per_s: f64,
}

impl DiskModel {
    /// Parses `seek=8.8ms,rpm=7200,transfer=96.4MB/s,block=16k`; all four parts are required, in any order.
    pub fn parse(text: &str) -> Result<DiskModel> {
        let mut fields = [None; 4];
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(|| malformed(part))?;
            let index = FIELDS
                .iter()
                .position(|field| *field == name.trim())
                .ok_or_else(|| malformed(part))?;
            if fields[index].is_some() {
                return Err(malformed(part));
            }
            let parsed = parse_field(index, value.trim()).ok_or_else(|| malformed(part))?;
            fields[index] = Some(parsed);
        }
        match fields {
            [Some(seek_ms), Some(rpm), Some(transfer_bytes_per_s), Some(block_bytes)] => {
                Ok(DiskModel { seek_ms, rpm, transfer_bytes_per_s, block_bytes })
            }
            _ => Err(malformed(text)),
        }
    }

    /// AAT = AST + ARL + TT.
    pub fn access_time(&self) -> AccessTime {
        let rotation_ms = 60_000.0 / self.rpm / 2.0;
        let transfer_ms = self.block_bytes / self.transfer_bytes_per_s * 1_000.0;
        let access_ms = self.seek_ms + rotation_ms + transfer_ms;
        AccessTime {
            seek_ms: self.seek_ms,
            rotation_ms,
            transfer_ms,
            access_ms,
            rate_per_s: 1_000.0 / access_ms,
            turns_per_s: self.rpm / 60.0,
        }
    }
}

const FIELDS: [&str; 4] = ["seek", "rpm", "transfer", "block"];

fn parse_field(index: usize, value: &str) -> Option<f64> {
    let units: &[(&str, f64)] = match FIELDS[index] {
        "seek" => &[("us", 0.001), ("ms", 1.0), ("s", 1_000.0)],
        "rpm" => &[("rpm", 1.0), ("", 1.0)],
        "transfer" => {
            &[("kB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9), ("MiB/s", 1_048_576.0), ("B/s", 1.0)]
        }
        _ => &[
            ("kB", 1e3),
            ("KiB", 1_024.0),
            ("MiB", 1_048_576.0),
            ("k", 1_024.0),
            ("K", 1_024.0),
            ("M", 1_048_576.0),
            ("B", 1.0),
            ("", 1.0),
        ],
    };
    let product = units.iter().find_map(|(unit, factor)| {
        let number: f64 = value.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * factor)
    })?;
    // A seek may be zero (the head stays); the other values are divisors or must be positive.
    let smallest_is_zero = FIELDS[index] == "seek";
    let in_range = product > 0.0 || (smallest_is_zero && product == 0.0);
    (product.is_finite() && in_range).then_some(product)
}

fn malformed(given: &str) -> Error {
    Error::Option {
        option: "model",
        given: format!("\"{given}\""),
        must: "it must name seek, rpm, transfer and block once each, \
               like seek=8.8ms,rpm=7200,transfer=96.4MB/s,block=16k",
    }
}

#[cfg(test)]
mod tests {
    use super::DiskModel;

    #[test]
    fn the_article_s_disk_takes_13_14_ms() {
        let model = DiskModel::parse("seek=8.8ms,rpm=7200,transfer=96.4MB/s,block=16k").unwrap();
        let time = model.access_time();
        assert_eq!(format!("{:.2}", time.rotation_ms), "4.17");
        assert_eq!(format!("{:.2}", time.transfer_ms), "0.17");
        assert_eq!(format!("{:.2}", time.access_ms), "13.14");
        assert_eq!(format!("{:.1}", time.rate_per_s), "76.1");
        assert_eq!(format!("{:.0}", time.turns_per_s), "120");
    }

    #[test]
    fn order_and_units_are_free() {
        let one =
            DiskModel::parse("block=4096, rpm=15000rpm, seek=3500us, transfer=0.2GB/s").unwrap();
        let other = DiskModel::parse("seek=0.0035s,rpm=15000,transfer=200MB/s,block=4KiB").unwrap();
        assert!((one.access_time().access_ms - other.access_time().access_ms).abs() < 1e-9);
    }

    #[test]
    fn values_without_a_finite_result_are_refused() {
        for text in [
            "",
            "seek=8.8ms",
            "seek=8.8ms,rpm=0,transfer=96.4MB/s,block=16k",
            "seek=8.8ms,rpm=7200,transfer=0MB/s,block=16k",
            "seek=-1ms,rpm=7200,transfer=96MB/s,block=16k",
            "seek=NaNms,rpm=7200,transfer=96MB/s,block=16k",
            "seek=infms,rpm=7200,transfer=96MB/s,block=16k",
            "seek=1ms,seek=1ms,rpm=7200,transfer=96MB/s,block=16k",
            "seek=1ms,rpm=7200,transfer=96MB/s,colour=16k",
        ] {
            let error = DiskModel::parse(text).unwrap_err().to_string();
            assert!(error.contains("seek=8.8ms,rpm=7200"), "{text}: {error}");
        }
    }
}
