//! What the sources of the classic loads published, as data.
//!
//! Each source is one file in `data/published`, written by hand from the source: the figures as they
//! were printed, and a [`Source`] that says where they stand, when and on what they were measured,
//! what they count and what is known to be wrong in them. The files are part of the program and are
//! parsed once. Tests hold their figures to the arithmetic that the sources state: a slip of the hand
//! is found, and so is a figure that the source itself got wrong, which must then be among its known
//! errors.
//!
//! Nothing here is corrected silently: corrected figures are computed beside the printed ones.

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
