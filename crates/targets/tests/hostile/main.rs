//! Hostile and broken servers of each protocol: whatever they send, a client ends in one sentence, within its
//! deadline and in bounded memory.

#![allow(clippy::unwrap_used, reason = "in a test an unwrap is a finding")]

mod etcd;
mod mysql;
mod postgres;
mod redis;
mod server;
