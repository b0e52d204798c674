//! Access: rows found and changed by key. Trees of bytes below, typed rows above.

#![allow(dead_code, reason = "what stands on it comes next")]

mod word;
