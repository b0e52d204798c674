//! The mixes of YCSB's workloads a to f and of K2's profile: the weights of the operations, and the other
//! options that each of them sets.

use super::operation_kind::KINDS;
use super::option_values::{Profile, StandardWorkload};

/// The weights of the kinds by option, in the order of the kinds' numbers.
const WEIGHTS: [&str; KINDS] = ["read", "update", "insert", "scan", "read_modify_write", "delete"];

/// The defaults of a letter, or of a profile's own mix, and of the profile.
pub(super) fn implied(
    workload: StandardWorkload,
    profile: Profile,
) -> Vec<(&'static str, &'static str)> {
    let is_k2 = profile == Profile::K2;
    let (weights, distribution) = match workload {
        StandardWorkload::A => (["0.5", "0.5", "0", "0", "0", "0"], "scrambled"),
        StandardWorkload::B => (["0.95", "0.05", "0", "0", "0", "0"], "scrambled"),
        StandardWorkload::C => (["1", "0", "0", "0", "0", "0"], "scrambled"),
        StandardWorkload::D => (["0.95", "0", "0.05", "0", "0", "0"], "latest"),
        StandardWorkload::E => (["0", "0", "0.05", "0.95", "0", "0"], "scrambled"),
        StandardWorkload::F => (["0.5", "0", "0", "0", "0.5", "0"], "scrambled"),
        StandardWorkload::Core if is_k2 => (["70", "10", "0", "20", "0", "0"], "scrambled"),
        StandardWorkload::Core => (["0.95", "0.05", "0", "0", "0", "0"], "uniform"),
    };
    let mut implied: Vec<_> = WEIGHTS.into_iter().zip(weights).collect();
    implied.push(("distribution", distribution));
    if is_k2 {
        implied.extend([("records", "5000"), ("field_bytes", "10"), ("scan_rows_max", "10")]);
    } else if workload == StandardWorkload::E {
        implied.push(("scan_rows_max", "100"));
    }
    implied
}
