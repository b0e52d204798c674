//! For workloads that insert rows and verify them: the numbering of new rows, sets of expected rows, and
//! marks for changed rows.

mod new_rows;
mod row_bitmap;
mod row_set;

pub(crate) use new_rows::NewRows;
pub(crate) use row_bitmap::{RowBitmap, SharedRowBitmap};
pub(crate) use row_set::{Expected, RowSet};
