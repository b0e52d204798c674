//! Every parameter of libpq, its environment variable, and what it means here.

/// The effect of a parameter in this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It does the same as in libpq; a description.
    Used(&'static str),
    /// These values match what is done anyway; any other is refused, for that reason.
    Only(&'static [&'static str], &'static str),
    /// It is refused, for that reason.
    Refused(&'static str),
    /// It is ignored, for that reason; a warning reports it.
    Ignored(&'static str),
}

/// A parameter of libpq.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in connection strings, URIs and services.
    pub name: &'static str,
    /// The environment variable that gives its default.
    pub variable: Option<&'static str>,
    /// Its effect in this program.
    pub effect: Effect,
}

/// A variable of libpq's environment that is not a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Its effect in this program.
    pub effect: Effect,
}

const NO_GSSAPI: &str = "GSSAPI is not built in";
const NO_CLIENT_CERTIFICATE: &str = "client certificates are not built in";
const NO_REVOCATION: &str = "revocation lists are not built in";
const KEEPALIVE: &str = "connections have their own keepalive settings";
const NAMED: &str =
    "sessions are named after syncline and its process, so that other clients recognize them";

const fn used(name: &'static str, variable: &'static str, how: &'static str) -> Parameter {
    Parameter { name, variable: Some(variable), effect: Effect::Used(how) }
}

const fn only(
    name: &'static str,
    variable: &'static str,
    values: &'static [&'static str],
    why: &'static str,
) -> Parameter {
    Parameter { name, variable: Some(variable), effect: Effect::Only(values, why) }
}

const fn refused(name: &'static str, variable: &'static str, why: &'static str) -> Parameter {
    Parameter { name, variable: Some(variable), effect: Effect::Refused(why) }
}

const fn ignored(
    name: &'static str,
    variable: Option<&'static str>,
    why: &'static str,
) -> Parameter {
    Parameter { name, variable, effect: Effect::Ignored(why) }
}

/// Every parameter of libpq 15 to 17.
pub const PARAMETERS: &[Parameter] = &[
    used(
        "host",
        "PGHOST",
        "a name, an address, or the directory of a Unix socket; several are refused",
    ),
    used(
        "hostaddr",
        "PGHOSTADDR",
        "the address to connect to; certificates are verified against host",
    ),
    used("port", "PGPORT", "the port, also of a Unix socket"),
    used("dbname", "PGDATABASE", "the database"),
    used("user", "PGUSER", "the user"),
    used("password", "PGPASSWORD", "the password; never shown, and taken out of the process list"),
    used(
        "passfile",
        "PGPASSFILE",
        "the file of passwords, default ~/.pgpass; one that other users may read is ignored",
    ),
    used("service", "PGSERVICE", "parameters from the service file"),
    used("options", "PGOPTIONS", "sent in the start-up packet of every session"),
    used("connect_timeout", "PGCONNECT_TIMEOUT", "seconds, at least 2; 0 waits for an hour"),
    used(
        "channel_binding",
        "PGCHANNELBINDING",
        "require refuses a log-in that is not bound to the TLS channel",
    ),
    used(
        "sslmode",
        "PGSSLMODE",
        "tls=; allow is prefer, and require with sslrootcert is verify-ca",
    ),
    used("sslrootcert", "PGSSLROOTCERT", "root=; system means the system's roots"),
    only(
        "client_encoding",
        "PGCLIENTENCODING",
        &["UTF8", "UTF-8", "UNICODE", "auto"],
        "statements and answers are UTF-8",
    ),
    only("gssencmode", "PGGSSENCMODE", &["disable", "prefer"], NO_GSSAPI),
    only(
        "sslnegotiation",
        "PGSSLNEGOTIATION",
        &["postgres"],
        "TLS is requested in PostgreSQL's way",
    ),
    only("sslcompression", "PGSSLCOMPRESSION", &["0"], "TLS does not compress here"),
    only("sslcertmode", "PGSSLCERTMODE", &["disable", "allow"], NO_CLIENT_CERTIFICATE),
    only("sslsni", "PGSSLSNI", &["1"], "the host's name is always sent"),
    only("requiressl", "PGREQUIRESSL", &["0"], "use sslmode=require"),
    only(
        "ssl_min_protocol_version",
        "PGSSLMINPROTOCOLVERSION",
        &["TLSv1", "TLSv1.1", "TLSv1.2"],
        "TLS 1.2 and 1.3 are supported",
    ),
    only(
        "ssl_max_protocol_version",
        "PGSSLMAXPROTOCOLVERSION",
        &["TLSv1.3"],
        "TLS 1.2 and 1.3 are supported",
    ),
    only(
        "target_session_attrs",
        "PGTARGETSESSIONATTRS",
        &["any"],
        "a run has one server, whatever its role",
    ),
    only("load_balance_hosts", "PGLOADBALANCEHOSTS", &["disable"], "a run has one server"),
    refused(
        "require_auth",
        "PGREQUIREAUTH",
        "restricting the server's log-in methods is not supported",
    ),
    refused("requirepeer", "PGREQUIREPEER", "the owner of a server's socket is not checked"),
    refused("sslcert", "PGSSLCERT", NO_CLIENT_CERTIFICATE),
    refused("sslkey", "PGSSLKEY", NO_CLIENT_CERTIFICATE),
    Parameter {
        name: "sslpassword",
        variable: None,
        effect: Effect::Refused(NO_CLIENT_CERTIFICATE),
    },
    refused("sslcrl", "PGSSLCRL", NO_REVOCATION),
    refused("sslcrldir", "PGSSLCRLDIR", NO_REVOCATION),
    Parameter {
        name: "replication",
        variable: None,
        effect: Effect::Only(
            &["false", "off", "no", "0"],
            "a replication connection runs no scripts",
        ),
    },
    ignored("application_name", Some("PGAPPNAME"), NAMED),
    ignored("fallback_application_name", None, NAMED),
    ignored("keepalives", None, KEEPALIVE),
    ignored("keepalives_idle", None, KEEPALIVE),
    ignored("keepalives_interval", None, KEEPALIVE),
    ignored("keepalives_count", None, KEEPALIVE),
    ignored("tcp_user_timeout", None, KEEPALIVE),
    ignored("krbsrvname", Some("PGKRBSRVNAME"), NO_GSSAPI),
    ignored("gsslib", Some("PGGSSLIB"), NO_GSSAPI),
    ignored("gssdelegation", Some("PGGSSDELEGATION"), NO_GSSAPI),
];

/// The variables that are not parameters.
pub const ENVIRONMENT: &[Variable] = &[
    Variable {
        name: "PGSERVICEFILE",
        effect: Effect::Used("the service file, default ~/.pg_service.conf"),
    },
    Variable {
        name: "PGSYSCONFDIR",
        effect: Effect::Used("the directory of pg_service.conf for all users"),
    },
    Variable { name: "PGDATESTYLE", effect: Effect::Used("sent in the start-up packet") },
    Variable { name: "PGTZ", effect: Effect::Used("sent in the start-up packet") },
    Variable { name: "PGGEQO", effect: Effect::Used("sent in the start-up packet") },
    Variable { name: "PGLOCALEDIR", effect: Effect::Ignored("messages are not translated") },
];

/// The parameter of that name.
pub(super) fn parameter(name: &str) -> Option<&'static Parameter> {
    PARAMETERS.iter().find(|parameter| parameter.name == name)
}

#[cfg(test)]
mod tests {
    use super::{ENVIRONMENT, PARAMETERS};
    use std::collections::BTreeSet;

    #[test]
    fn each_parameter_and_each_variable_is_listed_once() {
        let names: BTreeSet<_> = PARAMETERS.iter().map(|one| one.name).collect();
        assert_eq!(names.len(), PARAMETERS.len());
        let variables = PARAMETERS.iter().filter_map(|one| one.variable);
        let variables: Vec<_> = variables.chain(ENVIRONMENT.iter().map(|one| one.name)).collect();
        let distinct: BTreeSet<_> = variables.iter().collect();
        assert_eq!(distinct.len(), variables.len());
    }
}
