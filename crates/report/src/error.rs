//! Why records could not be compared or shown, and invalid options of views.

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure, as one sentence: what happened, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option is outside its range.
    #[error("{option} is {given}, but {must}")]
    Option {
        /// The option, as the user writes it.
        option: &'static str,
        /// The given value.
        given: String,
        /// The requirement on it.
        must: &'static str,
    },
    /// The choice of threads is neither a class nor a pattern.
    #[error(
        "\"{text}\" selects no threads: give a class (connection, client, background, runtime, \
         unknown), all, or a pattern of their names such as \"postgres*\" ({why})"
    )]
    Pattern {
        /// The given text.
        text: String,
        /// Why it is not a pattern.
        why: String,
    },
    /// The two records differ in more than speed.
    #[error("these runs are not comparable: {differences}; compare them anyway with --unequal")]
    NotAlike {
        /// The differences.
        differences: String,
    },
    /// The two records are of different kinds.
    #[error("a run cannot be compared with a probe: name two records of one kind")]
    NotComparable,
    /// A record lacks the figures that a comparison needs.
    #[error("{id} cannot be compared: {why}")]
    NothingToCompare {
        /// The record.
        id: String,
        /// What is missing.
        why: String,
    },
    /// A record holds no histogram of its times.
    #[error(
        "record {id} holds no histogram of its times: nothing was committed, or an older version wrote it; run it \
         again with: syncline run --like {id}"
    )]
    NoHistogram {
        /// The record.
        id: String,
    },
    /// A histogram of a record cannot be decoded.
    #[error("record {id} is damaged: a histogram of its times cannot be decoded: {why}")]
    DamagedHistogram {
        /// The record.
        id: String,
        /// Why not.
        why: String,
    },
    /// The view of a published source cannot show the record.
    #[error(
        "record {id} does not fit the view {view}: it is {is}, and the view shows {wants}; make such \
         a record with: {command}"
    )]
    DoesNotFit {
        /// The record.
        id: String,
        /// The view's name.
        view: &'static str,
        /// What the record is.
        is: String,
        /// What the view shows.
        wants: &'static str,
        /// The command that makes such a record.
        command: String,
    },
    /// None of the records has figures for the view of a published source.
    #[error(
        "the view {view} shows {wants}, but the given records have none; make such a record with: \
         {command}"
    )]
    NothingToShow {
        /// The view's name.
        view: &'static str,
        /// What the view shows.
        wants: &'static str,
        /// The command that makes such a record.
        command: String,
    },
}
