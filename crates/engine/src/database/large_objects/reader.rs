//! A large object that is being read.

use super::handle::{CONTENT, io_error};
use crate::access::schema::Value;
use crate::error::{Error, Result};
use crate::table::{OwnedRow, Table, Transaction};
use std::fmt;
use std::io::{self, BufRead, ErrorKind, Read, Seek, SeekFrom};
use syncline_vfs::Disk;

/// Reads a large object as [`Read`], [`BufRead`] and [`Seek`], with one part in memory; from
/// [`LargeObjects::read`](super::LargeObjects::read). It reads what its transaction sees: in a serializable
/// one the parts count as read.
pub struct LargeObjectReader<'t, 's, D: Disk> {
    transaction: &'t Transaction<'s, D>,
    parts: Table,
    id: i64,
    bytes: u64,
    part_bytes: u64,
    position: u64,
    /// The number and the row of the part that was read last.
    part: Option<(u64, OwnedRow)>,
}

impl<'t, 's, D: Disk> LargeObjectReader<'t, 's, D> {
    pub(super) fn new(
        transaction: &'t Transaction<'s, D>,
        parts: &Table,
        id: i64,
        (bytes, part_bytes): (u64, u64),
    ) -> LargeObjectReader<'t, 's, D> {
        let parts = parts.clone();
        LargeObjectReader { transaction, parts, id, bytes, part_bytes, position: 0, part: None }
    }

    /// The length of the object.
    pub fn len_bytes(&self) -> u64 {
        self.bytes
    }

    /// The part that holds the position.
    fn part(&mut self) -> Result<&[u8]> {
        let number = self.position / self.part_bytes;
        if self.part.as_ref().is_none_or(|(loaded, _)| *loaded != number) {
            // The memory of the part before is free before the next one is read.
            self.part = None;
            let key = [Value::Int(self.id), Value::Int(number as i64)];
            let row = self.transaction.get(&self.parts, &key)?;
            self.part = row.map(|row| (number, row));
        }
        let content = match &self.part {
            Some((_, row)) => row.get::<&[u8]>(CONTENT)?,
            None => &[],
        };
        let expected = self.part_bytes.min(self.bytes - number * self.part_bytes);
        if content.len() as u64 != expected {
            return Err(Error::LargeObject {
                name: self.parts.name().to_owned(),
                id: self.id,
                what: "one of its parts was changed by another program",
            });
        }
        Ok(content)
    }
}

impl<D: Disk> BufRead for LargeObjectReader<'_, '_, D> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.position >= self.bytes {
            return Ok(&[]);
        }
        let start = (self.position % self.part_bytes) as usize;
        let part = self.part().map_err(io_error)?;
        Ok(&part[start..])
    }

    fn consume(&mut self, bytes: usize) {
        self.position += bytes as u64;
    }
}

impl<D: Disk> Read for LargeObjectReader<'_, '_, D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.fill_buf()?;
        let bytes = rest.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&rest[..bytes]);
        self.consume(bytes);
        Ok(bytes)
    }
}

impl<D: Disk> Seek for LargeObjectReader<'_, '_, D> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.bytes.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        let outside = "a position before the beginning of the large object";
        self.position = position.ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, outside))?;
        Ok(self.position)
    }
}

impl<D: Disk> fmt::Debug for LargeObjectReader<'_, '_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("LargeObjectReader");
        debug.field("id", &self.id).field("bytes", &self.bytes);
        debug.field("position", &self.position).finish_non_exhaustive()
    }
}
