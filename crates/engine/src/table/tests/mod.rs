//! Typed transactions against a plain model, alone and many at a time.

mod calls;
mod fixture;
mod judged;
mod many;
mod model;
mod own_writes;
