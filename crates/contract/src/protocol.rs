//! How user statements reach a server.

/// How a user statement is sent to a server. Does not affect other operations of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Prepared once per session; parameters are sent as values.
    #[default]
    Prepared,
    /// Text and parameters are sent each time, so the server parses the text each time.
    Extended,
    /// One text each time, which is the operation's only parameter: the caller has inserted the values. A
    /// text that ends in a semicolon is sent together with the next one, as one request.
    Simple,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Protocol; 3] = [Protocol::Prepared, Protocol::Extended, Protocol::Simple];

    /// The name in options and records.
    pub fn word(self) -> &'static str {
        match self {
            Protocol::Prepared => "prepared",
            Protocol::Extended => "extended",
            Protocol::Simple => "simple",
        }
    }
}
