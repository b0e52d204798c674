//! How rows are found: the option `by` of several workloads.

/// How rows are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By their primary key.
    Key,
    /// Through a unique secondary index.
    Index,
}

impl By {
    /// Every way.
    pub const ALL: [By; 2] = [By::Key, By::Index];

    /// The word of the option.
    pub fn word(self) -> &'static str {
        match self {
            By::Key => "key",
            By::Index => "index",
        }
    }
}
