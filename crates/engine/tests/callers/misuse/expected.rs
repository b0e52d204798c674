//! The expected result of a call with these needs in a state.

use super::fixture::State;

/// A transaction must be open.
pub(super) const OPEN: u32 = 1;
/// No transaction may be open.
pub(super) const BEGINS: u32 = 1 << 1;
/// The table must belong to this database and be current.
pub(super) const TABLE: u32 = 1 << 2;
/// The table must belong to this database, but may be stale.
pub(super) const ORIGIN: u32 = 1 << 3;
/// The table is looked up by its name.
pub(super) const NAME: u32 = 1 << 4;
/// The transaction must be one that writes.
pub(super) const WRITES: u32 = 1 << 5;
/// Values of a key.
pub(super) const KEY: u32 = 1 << 6;
/// Values of a row.
pub(super) const ROW: u32 = 1 << 7;
/// A position of a column.
pub(super) const COLUMN: u32 = 1 << 8;
/// The commit gate must be open, or the call closes it.
pub(super) const GATE: u32 = 1 << 9;
/// The transaction commits its writes.
pub(super) const COMMITS: u32 = 1 << 10;
pub(super) const MARK: u32 = 1 << 11;
pub(super) const TICKET: u32 = 1 << 12;
/// The log must work.
pub(super) const LOG: u32 = 1 << 13;
/// The call may wait for something of the database or latch it, so that no row may be shown meanwhile.
pub(super) const WAITS: u32 = 1 << 14;
/// A closure of the caller is called.
pub(super) const CLOSURE: u32 = 1 << 15;

/// The expected result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Ok,
    /// The error of that variant.
    Error(&'static str),
    /// Success or an error: for a failed database, or a table that no longer exists under its name.
    Either,
    /// The caller's own panic propagates.
    CallersPanic,
}

/// The result that the documentation promises.
pub(super) fn expected(state: State, needs: u32) -> Expected {
    let any = |some: u32| needs & some != 0;
    let all = |some: u32| needs & some == some;
    // The order is that of the checks.
    let error = match state {
        State::InShownRow if any(TABLE | BEGINS | GATE | COMMITS | WAITS) => Some("InShownRow"),
        State::NoTransaction | State::AfterAbort => any(OPEN).then_some("NotBegun"),
        _ if any(BEGINS) => Some("AlreadyBegun"),
        State::ReadOnly => any(WRITES).then_some("ReadOnly"),
        State::AfterConflict => (any(COMMITS) || all(OPEN | TABLE)).then_some("Conflict"),
        State::ExclusiveHere | State::NestedRun => any(GATE | COMMITS).then_some("ExclusiveHere"),
        State::ExclusiveElsewhere => any(GATE | COMMITS).then_some("ExclusiveTooLong"),
        State::OtherDatabase if any(TABLE | ORIGIN) => Some("OtherDatabase"),
        State::OtherDatabase if any(TICKET) => Some("OtherTicket"),
        State::OtherDatabase | State::OtherMark => any(MARK).then_some("OtherMark"),
        State::DroppedTable | State::ChangedTable if any(NAME) => return Expected::Either,
        State::DroppedTable | State::ChangedTable => any(TABLE | COMMITS).then_some("TableChanged"),
        State::ClosedDatabase => any(COMMITS).then_some("Poisoned"),
        State::FailedDatabase if any(GATE | LOG | COMMITS) => return Expected::Either,
        State::WrongColumn => any(COLUMN).then_some("NoColumn"),
        State::WrongKind => any(KEY | ROW).then_some("WrongKind"),
        State::WrongCount => any(KEY | ROW).then_some("WrongCount"),
        State::PanickingClosure if any(CLOSURE) => return Expected::CallersPanic,
        State::Sound
        | State::AfterError
        | State::FailedDatabase
        | State::InShownRow
        | State::PanickingClosure => None,
    };
    error.map_or(Expected::Ok, Expected::Error)
}
