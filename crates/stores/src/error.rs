//! Errors of a target's URL, each in one sentence.

use std::path::PathBuf;
use syncline_contract::OptionError;
use syncline_launcher::NoCurrentDirectory;

/// Why a URL could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No target has that name.
    #[error("there is no target \"{name}\"; there are: {known}")]
    UnknownTarget {
        /// The requested name.
        name: String,
        /// The available names.
        known: String,
    },
    /// A target of that name is not part of this build.
    #[error(
        "target {name} is not in this program: build it with --features {feature} (docs/targets.md describes \
         what that requires)"
    )]
    NotBuilt {
        /// The requested name.
        name: &'static str,
        /// The feature that enables it.
        feature: &'static str,
    },
    /// The text does not have the form of a URL of that target.
    #[error("\"{url}\" is not a target: {why}; use {form}")]
    Malformed {
        /// The given text.
        url: String,
        /// The error.
        why: &'static str,
        /// The right form.
        form: &'static str,
    },
    /// Its options are not those of the target.
    #[error(transparent)]
    Options(#[from] OptionError),
    /// Options that exclude each other, or a setting that the store cannot honour.
    #[error("target {target} cannot honour {what}")]
    NotHonoured {
        /// The target.
        target: &'static str,
        /// The setting, and why.
        what: String,
    },
    /// The parent directory of the store does not exist.
    #[error("directory {directory} does not exist; create it first or name another")]
    DirectoryAbsent {
        /// The directory.
        directory: PathBuf,
    },
    /// The current directory cannot be determined.
    #[error(transparent)]
    NoCurrentDirectory(#[from] NoCurrentDirectory),
    /// The environment variable for a password does not exist.
    #[error(
        "the URL takes a password by ${{{name}}}, but the environment variable {name} is not set"
    )]
    NoVariable {
        /// The variable.
        name: String,
    },
    /// The password file cannot be read.
    #[error("the password file {path} cannot be read: {why}")]
    PasswordFile {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        why: String,
    },
    /// A connection string, a URI or a service of libpq that cannot be used.
    #[error("the connection string cannot be used: {why}")]
    Conninfo {
        /// The error, without any values.
        why: String,
    },
    /// A schema name that does not have our form.
    #[error(
        "schema {name} cannot be used: a name consists of syncline_ and lower case letters, \
         digits and underscores, 63 characters at most"
    )]
    SchemaName {
        /// The requested name.
        name: String,
    },
    /// A private server could not be started.
    #[error(transparent)]
    Launch(#[from] syncline_launcher::Error),
}
