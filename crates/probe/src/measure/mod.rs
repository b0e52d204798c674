//! How a cell is measured: files in the right state, workers on them, histograms and windows.

mod crew;
mod files;
mod latency;
mod sizes;
mod sync_cell;
mod transfer;
mod windows;

pub(crate) use crew::{Tally, Work};
pub(crate) use files::Files;
pub(crate) use latency::latency;
pub(crate) use sizes::{Sizes, is_copy_on_write};
pub(crate) use sync_cell::{CellJob, measure_cell, plain_writes};
pub(crate) use transfer::{
    READ_BYTES, TRANSFER_BYTES, random_reads, sequential_read, sequential_write,
};
