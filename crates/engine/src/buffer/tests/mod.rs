//! Tests of pages in memory: leaves and inner nodes beside plain models, and the exact cut.

mod inner;
mod leaf;
