//! What workloads that insert rows and verify them share: the numbering of new rows, sets of rows that
//! should be there, and counts of what is wrong.

mod new_rows;
mod row_set;
mod wrong;

pub(crate) use new_rows::NewRows;
pub(crate) use row_set::{Expected, RowSet};
pub(crate) use wrong::Wrong;
