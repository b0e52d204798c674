//! Why records could not be compared or shown, and options of views that are none.

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure, as one sentence that says what, where and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option is outside its range.
    #[error("{option} is {given}, but {must}")]
    Option {
        /// The option, as the user writes it.
        option: &'static str,
        /// What was given.
        given: String,
        /// What it must be.
        must: &'static str,
    },
    /// What was to choose threads is neither a class of them nor a pattern.
    #[error(
        "\"{text}\" chooses no threads: name a class (connection, client, background, runtime, \
         unknown), all, or a pattern of their names such as \"postgres*\" ({why})"
    )]
    Pattern {
        /// What was typed.
        text: String,
        /// What is wrong with it as a pattern.
        why: String,
    },
    /// Two records that cannot be compared as they are.
    #[error("these runs are not comparable: {differences}; compare them anyway with --unequal")]
    NotAlike {
        /// In what they differ.
        differences: String,
    },
    /// Two records of different kinds.
    #[error("a run cannot be compared with a probe: name two records of one kind")]
    NotComparable,
    /// A record without the figures a comparison needs.
    #[error("{id} cannot be compared: {why}")]
    NothingToCompare {
        /// The record.
        id: String,
        /// What is missing.
        why: String,
    },
    /// A record that the view of a published source cannot show.
    #[error(
        "record {id} does not fit the view {view}: it is {is}, and the view shows {wants}; make such \
         a record with: {command}"
    )]
    DoesNotFit {
        /// The record.
        id: String,
        /// The view's word.
        view: &'static str,
        /// What the record is.
        is: String,
        /// What the view shows.
        wants: &'static str,
        /// The command that makes such a record.
        command: String,
    },
    /// None of the records holds what the view of a published source is about.
    #[error(
        "the view {view} shows {wants}, and none of the records holds any; make such a record with: \
         {command}"
    )]
    NothingToShow {
        /// The view's word.
        view: &'static str,
        /// What the view shows.
        wants: &'static str,
        /// The command that makes such a record.
        command: String,
    },
}
