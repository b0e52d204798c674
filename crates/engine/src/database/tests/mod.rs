//! A database as its parts work together.

mod define;
mod full;
mod ghosts;
mod limits;
mod making;
mod whole;
