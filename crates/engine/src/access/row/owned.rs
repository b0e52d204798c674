//! A row that owns its bytes.

use super::raw::Raw;
use super::read::RowView;
use crate::access::key::KeyView;
use crate::access::schema::{Layout, Schema};

/// The bytes of a row and of its key, copied from a [`RowView`], which needs no more checks therefore.
#[derive(Clone, Debug)]
pub(crate) struct OwnedBytes {
    /// The key, its decoded form, and the row.
    bytes: Box<[u8]>,
    key_end: usize,
    plain_end: usize,
    version: u16,
    layout: Layout,
    wide: bool,
}

impl OwnedBytes {
    /// Copies a row.
    pub(crate) fn of(view: &RowView<'_>) -> OwnedBytes {
        let parts = [view.key.bytes, view.key.plain, view.raw.bytes];
        OwnedBytes {
            bytes: parts.concat().into(),
            key_end: view.key.bytes.len(),
            plain_end: view.key.bytes.len() + view.key.plain.len(),
            version: view.raw.version,
            layout: view.raw.layout,
            wide: view.raw.wide,
        }
    }

    /// The row. The schema must be that of the row that was copied.
    #[inline]
    pub(crate) fn view<'a>(&'a self, schema: &'a Schema) -> RowView<'a> {
        let (key, rest) = self.bytes.split_at(self.key_end);
        let (plain, row) = rest.split_at(self.plain_end - self.key_end);
        RowView {
            schema,
            key: KeyView { shape: schema.key_shape(), bytes: key, plain },
            raw: Raw { bytes: row, version: self.version, layout: self.layout, wide: self.wide },
        }
    }
}
