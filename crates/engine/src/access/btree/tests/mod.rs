//! Trees beside sorted maps: one thread with forced misses, several threads at once, exact cuts under
//! way, planted damage, and planted bugs.

mod blocks;
mod cut;
mod damage;
mod merge;
mod model;
mod scout;
mod support;
mod threads;
