//! What a user's own session sees in a store: one without Syncline's settings and schema.

/// The view of a user's own session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserView {
    /// The requested tables that exist outside Syncline's management, each with its schema:
    /// `public.pgbench_accounts`.
    pub tables: Vec<String>,
    /// False if a commit returns before its log is on the disk; none if unknown.
    pub waits_for_log: Option<bool>,
}
