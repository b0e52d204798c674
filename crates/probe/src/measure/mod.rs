//! Measures cells: files in the right state, workers on them, histograms and windows.
//!
//! | file | what it holds |
//! |---|---|
//! | `file_sizes`, `files` | the sizes and states of the temporary files |
//! | `sync_cell` | sync cells and plain writes |
//! | `reads_and_transfers` | random reads, sequential transfers |
//! | `shape_window` | the operations of a product |
//! | `worker_pool` | workers and the thread that watches them |
//! | `windows`, `latency` | rates of windows, percentiles and modes |

mod file_sizes;
mod files;
mod latency;
mod reads_and_transfers;
mod shape_window;
mod sync_cell;
mod windows;
mod worker_pool;

pub(crate) use file_sizes::{Sizes, is_copy_on_write};
pub(crate) use files::Files;
pub(crate) use latency::{histogram, latency};
pub(crate) use reads_and_transfers::{
    READ_BYTES, TRANSFER_BYTES, random_reads, sequential_read, sequential_write,
};
pub(crate) use shape_window::{ShapeError, ShapeFigures, pooled, shape_window};
pub(crate) use sync_cell::{CellJob, filled, measure_cell, plain_writes};
pub(crate) use worker_pool::{Operation, Totals};
