//! Tests of pages in memory: leaves and inner nodes beside plain models, the exact cut, and
//! leaves that are freed.

mod blocks;
mod freed_leaves;
mod inner;
mod leaf;
mod page_snapshot;
