//! What workloads that insert rows and verify them share: the numbering of new rows, sets of rows
//! that should be there, and which rows were changed.

mod new_rows;
mod row_bitmap;
mod row_set;

pub(crate) use new_rows::NewRows;
pub(crate) use row_bitmap::{RowBitmap, SharedRowBitmap};
pub(crate) use row_set::{Expected, RowSet};
