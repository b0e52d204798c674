//! The record and its views, through the crate's public names only.

mod comparing;
mod conversion;
mod findings;
mod fixture;
mod golden;
mod record_file;
mod schema;
mod sharing;
mod views;
