//! Typed transactions against a plain model, one or many at a time.

mod calls;
mod concurrent_sessions;
mod fixture;
mod iterators;
mod model;
mod own_writes;
mod serializability;
