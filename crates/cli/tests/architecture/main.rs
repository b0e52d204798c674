//! Tests of the architecture, of the language and of the documents.
//!
//! Each message names the file, the rule and the remedy. A wrong rule is changed here, with its reason in
//! `docs/decisions/`; it is not worked around.

mod documents;
mod files;
mod language;
mod layers;
mod sources;
