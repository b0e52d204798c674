//! Benchmarks of the store through its public interface: the cost of a transaction for a client that does not
//! wait for it, the waits of a point read, the memory of a row, and the speed of redo.
//!
//! `cargo bench -p syncline-engine --bench store` runs it in the current directory with a million rows; `--
//! --rows 100000 --rounds 5` sets rows and repetitions, `-- --only NAME` selects parts. Under `cargo test` it
//! runs once with tiny input, in the build's folder for temporary files. It ends with a checksum of the work,
//! so that nothing is optimized away.
//!
//! | file | what it holds |
//! |---|---|
//! | `transactions.rs` | the cost of transactions |
//! | `reads.rs`, `pointer_chase.rs` | the waits of a point read, and the minimum for as many dependent loads |
//! | `scans.rs` | scans of a hundred rows, and opening |
//! | `memory.rs` | the memory of a row |
//! | `recovery.rs` | the speed of redo |
//! | `peers.rs` | the same rows in LMDB and redb |

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

mod memory;
mod peers;
mod pointer_chase;
mod reads;
mod recovery;
mod scans;
mod transactions;

use std::path::{Path, PathBuf};

/// The amount of work.
#[derive(Clone, Copy)]
struct Scale {
    rows: u64,
    rounds: u32,
    operations: u64,
}

type Part = fn(&Path, Scale) -> u64;

const PARTS: [(&str, Part); 5] = [
    ("transactions", transactions::run),
    ("reads", reads::run),
    ("scans", scans::run),
    ("memory", memory::run),
    ("recovery", recovery::run),
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, child, order, rows, folder] = &arguments[..]
        && child == memory::CHILD
    {
        let rows = rows.parse().expect("a number of rows");
        return memory::run_child(order, rows, Path::new(folder));
    }
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let number = |name: &str, default: u64| {
        value(name).map_or(default, |text| text.parse().expect("a number follows the flag"))
    };
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let scale = if is_bench {
        Scale {
            rows: number("--rows", 1_000_000),
            rounds: number("--rounds", 3) as u32,
            operations: 500_000,
        }
    } else {
        Scale { rows: 2_000, rounds: 1, operations: 500 }
    };
    let only = value("--only");
    let folder = Folder::make(is_bench);
    let mut hash = 0_u64;
    for (name, part) in PARTS {
        if only.as_deref().is_none_or(|only| only == name) {
            println!("{name}, {} rows", scale.rows);
            hash = hash.rotate_left(7) ^ part(&folder.0.join(name), scale);
        }
    }
    println!("hash {hash:016x}");
}

/// Prints a row: the median of the rounds, and their range.
fn show(name: &str, unit: &str, values: &mut [f64]) {
    values.sort_by(f64::total_cmp);
    let (least, median) = (values[0], values[values.len() / 2]);
    let last = values[values.len() - 1];
    println!("  {name:<52} {median:>10.2} {unit}  [{least:.2} to {last:.2}]");
}

/// A folder that is removed when this is dropped.
struct Folder(PathBuf);

impl Folder {
    /// In the current directory for a benchmark, since the disk matters there; otherwise with the build.
    fn make(is_bench: bool) -> Folder {
        let within =
            if is_bench { PathBuf::from(".") } else { PathBuf::from(env!("CARGO_TARGET_TMPDIR")) };
        let path = within.join(format!("syncline-store-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            println!("{} could not be removed: {error}", self.0.display());
        }
    }
}
