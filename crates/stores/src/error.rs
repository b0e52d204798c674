//! What can be wrong with a target's URL, each in one sentence.

use std::path::PathBuf;
use syncline_contract::OptionError;
use syncline_launcher::NoCurrentDirectory;

/// Why no target could be made of a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No target has that name.
    #[error("there is no target \"{name}\"; there are: {known}")]
    UnknownTarget {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A target of that name is not in this program.
    #[error(
        "target {name} is not in this program: build it with --features {feature} (docs/targets.md says \
         what that needs)"
    )]
    NotBuilt {
        /// What was asked for.
        name: &'static str,
        /// The feature that builds it in.
        feature: &'static str,
    },
    /// The text is not of the form of a URL of that target.
    #[error("\"{url}\" is not a target: {why}; write {form}")]
    Malformed {
        /// What was given.
        url: String,
        /// What is wrong with it.
        why: &'static str,
        /// The right form.
        form: &'static str,
    },
    /// Its options are not what the target takes.
    #[error(transparent)]
    Options(#[from] OptionError),
    /// Options that cannot hold together, or a word that the store cannot honour.
    #[error("target {target} cannot honour {what}")]
    NotHonoured {
        /// The target.
        target: &'static str,
        /// Which, and why, in words.
        what: String,
    },
    /// The directory in which the store would stand is not there.
    #[error("directory {directory} does not exist; make it first or name another")]
    DirectoryAbsent {
        /// The directory.
        directory: PathBuf,
    },
    /// The current directory cannot be found out.
    #[error(transparent)]
    NoCurrentDirectory(#[from] NoCurrentDirectory),
    /// A password was to come from an environment variable that is not there.
    #[error(
        "the environment has no {name}, from which the URL takes a password by ${{{name}}}; set it"
    )]
    NoVariable {
        /// The variable.
        name: String,
    },
    /// The file of a password cannot be read.
    #[error("the password's file {path} cannot be read: {why}")]
    PasswordFile {
        /// The file.
        path: PathBuf,
        /// The operating system's words.
        why: String,
    },
    /// A connection string, a URI or a service of libpq's that cannot be used.
    #[error("the connection string cannot be used: {why}")]
    Conninfo {
        /// What is wrong, without any of its values.
        why: String,
    },
    /// A schema's name that may not be ours.
    #[error(
        "schema {name} cannot be used: a schema of ours is named syncline_ and lower case letters, \
         digits and underscores, up to 63 in all"
    )]
    SchemaName {
        /// What was asked for.
        name: String,
    },
    /// A private server could not be started.
    #[error(transparent)]
    Launch(#[from] syncline_launcher::Error),
}
