//! What a session of the user's own finds in a store, one that sets nothing and knows no schema of ours.

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserView {
    /// Those tables of the names that were asked for that this program does not manage, each with its schema:
    /// `public.pgbench_accounts`.
    pub tables: Vec<String>,
    /// False if a commit returns before its log is on the disk; none if that is not known.
    pub waits_for_log: Option<bool>,
}
