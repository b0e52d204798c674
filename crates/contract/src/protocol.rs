//! How a user's statements reach a server.

/// How a user's statement is sent to a server. Operations of the plan's own are not concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Prepared once a session; parameters are sent as values.
    #[default]
    Prepared,
    /// Its text and its parameters each time, so that the server reads the text each time.
    Extended,
    /// One text each time, which is the operation's only parameter: whoever sends it has put the values
    /// in. A text that ends in a semicolon is sent together with the next one, as one request.
    Simple,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Protocol; 3] = [Protocol::Prepared, Protocol::Extended, Protocol::Simple];

    /// The word in options and records.
    pub fn word(self) -> &'static str {
        match self {
            Protocol::Prepared => "prepared",
            Protocol::Extended => "extended",
            Protocol::Simple => "simple",
        }
    }
}
