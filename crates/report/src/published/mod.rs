//! The published figures of the classic loads, as data.
//!
//! Each source is one file in `data/published`, written by hand from the source: the figures as they were
//! printed, and a [`Source`] with the publication, date, machine, what the figures count and their known
//! errors. The files are part of the program and are parsed once. Tests check the figures by the sources' own
//! arithmetic, which finds typing errors as well as errors of the source; the latter must be among its known
//! errors.
//!
//! Nothing is corrected silently: corrected figures are computed next to the printed ones.

mod bigdata;
mod derby;
mod from_dual;
mod k2;
mod mail2002;
mod source;

pub(crate) use bigdata::bigdata;
pub(crate) use derby::{DerbyLoad, DerbyModule, derby};
pub(crate) use from_dual::from_dual;
pub(crate) use k2::{K2Column, K2Load, K2Mix, k2};
pub(crate) use mail2002::{MailDisk, mail2002};
pub(crate) use source::Source;
