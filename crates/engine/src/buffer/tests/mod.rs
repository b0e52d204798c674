//! Tests of pages in memory: leaves and inner nodes compared with plain models, the exact snapshot, and
//! leaves that are freed.

mod blocks;
mod eviction;
mod freed_leaves;
mod inner;
mod leaf;
mod page_snapshot;
