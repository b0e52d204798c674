//! What workloads that insert rows and verify them share: the numbering of new rows, sets of rows
//! that should be there, and which rows were changed.

mod marks;
mod new_rows;
mod row_set;

pub(crate) use marks::{Marked, Marks};
pub(crate) use new_rows::NewRows;
pub(crate) use row_set::{Expected, RowSet};
