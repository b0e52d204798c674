//! How user statements reach a server.

crate::words! {
    /// How a user statement is sent to a server. Does not affect other operations of a plan.
    #[derive(Default)]
    pub enum Protocol {
        /// Prepared once per session; parameters are sent as values.
        #[default]
        Prepared = "prepared",
        /// Text and parameters are sent each time, so the server parses the text each time.
        Extended = "extended",
        /// One text each time, which is the operation's only parameter: the caller has inserted the values. A
        /// text that ends in a semicolon is sent together with the next one, as one request.
        Simple = "simple",
    }
}
