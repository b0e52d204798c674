//! The one list of cost modules: a name, a heading and one sentence each.
//!
//! The list follows the layers of the 2006 Derby resource table (DERBY-1961), so that then and now can be
//! compared, and adds the rows that the table lacked: waiting for a request, the load generator itself if the
//! store runs in its process, and other.

/// A part of a store to which time, system calls and waits are charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Module {
    /// Reading requests from and writing answers to sockets.
    NetworkServer,
    /// The library that a program calls: JDBC driver, C API, the engine's `Database`.
    ClientApi,
    /// From statement text to plan.
    ParseAndPlan,
    /// Running a plan: expressions, joins, stored procedures.
    Execution,
    /// Finding and changing rows: trees, keys, cursors.
    Access,
    /// Transactional locks: taking, waiting, releasing.
    LockManager,
    /// Pages in memory: frames, latches, eviction.
    BufferManager,
    /// The log: staging, writing, syncing.
    Logging,
    /// Data files: reading, writing, checkpoints.
    DataStore,
    /// Begin, validate, commit, abort, versions.
    TransactionControl,
    /// A server thread with nothing to do until its client's next request.
    WaitingForRequest,
    /// The load generator's own code in the process of an embedded store: drawing, timing, counting.
    Laboratory,
    /// Time that belongs to no module above; always shown, never hidden.
    Other,
}

impl Module {
    /// Every module, in the order of the table.
    pub const ALL: [Module; 13] = [
        Module::NetworkServer,
        Module::ClientApi,
        Module::ParseAndPlan,
        Module::Execution,
        Module::Access,
        Module::LockManager,
        Module::BufferManager,
        Module::Logging,
        Module::DataStore,
        Module::TransactionControl,
        Module::WaitingForRequest,
        Module::Laboratory,
        Module::Other,
    ];

    /// The stable name in records and map files.
    pub fn name(self) -> &'static str {
        match self {
            Module::NetworkServer => "network_server",
            Module::ClientApi => "client_api",
            Module::ParseAndPlan => "parse_and_plan",
            Module::Execution => "execution",
            Module::Access => "access",
            Module::LockManager => "lock_manager",
            Module::BufferManager => "buffer_manager",
            Module::Logging => "logging",
            Module::DataStore => "data_store",
            Module::TransactionControl => "transaction_control",
            Module::WaitingForRequest => "waiting_for_request",
            Module::Laboratory => "laboratory",
            Module::Other => "other",
        }
    }

    /// The heading in tables.
    pub fn heading(self) -> &'static str {
        match self {
            Module::NetworkServer => "network server",
            Module::ClientApi => "client API",
            Module::ParseAndPlan => "parse and plan",
            Module::Execution => "execution",
            Module::Access => "access",
            Module::LockManager => "lock manager",
            Module::BufferManager => "buffer manager",
            Module::Logging => "logging",
            Module::DataStore => "data store",
            Module::TransactionControl => "transaction control",
            Module::WaitingForRequest => "waiting for request",
            Module::Laboratory => "load generator",
            Module::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Module;
    use std::collections::BTreeSet;

    #[test]
    fn every_module_has_a_name_of_its_own_that_matches_its_heading() {
        let names: BTreeSet<_> = Module::ALL.iter().map(|module| module.name()).collect();
        assert_eq!(names.len(), Module::ALL.len());
        for module in Module::ALL {
            // The name is stored in records and stays; the heading is the current term.
            let heading = match module {
                Module::Laboratory => "laboratory".to_owned(),
                _ => module.heading().to_lowercase().replace(' ', "_"),
            };
            assert_eq!(module.name(), heading);
        }
    }
}
