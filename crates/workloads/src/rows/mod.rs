//! What workloads that insert rows and verify them share: the numbering of new rows, and sets of rows
//! that should be there.

mod new_rows;
mod row_set;

pub(crate) use new_rows::NewRows;
pub(crate) use row_set::{Expected, RowSet};
