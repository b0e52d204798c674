//! Tests of pages in memory: leaves and inner nodes beside plain models, and the exact cut.

mod blocks;
mod cut;
mod inner;
mod leaf;
