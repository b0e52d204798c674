//! The bytes of one file: a base file overlaid with the pages written since.
//!
//! Invariants:
//! 1. Bytes beyond `len` do not exist: growing the file again shows zeros.
//! 2. A page that is not held here reads from the base up to `base_bytes`, and as zeros beyond.
//! 3. A copy shares its pages with the original until one of them writes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The unit in which the page cache holds and writes back data.
pub(super) const PAGE_BYTES: usize = 4096;

const PAGE: u64 = PAGE_BYTES as u64;

/// The content of a file, copied on write.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    base: Option<Arc<PathBuf>>,
    /// Length of the part of the base that is still visible.
    base_bytes: u64,
    pages: BTreeMap<u64, Arc<[u8; PAGE_BYTES]>>,
    len: u64,
}

impl Content {
    /// The content of a base file.
    pub(super) fn of_base(path: PathBuf, len: u64) -> Content {
        Content { base: Some(Arc::new(path)), base_bytes: len, pages: BTreeMap::new(), len }
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Writes bytes at an offset; grows the file if they reach beyond its end.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let (mut offset, mut bytes) = (offset, bytes);
        self.len = self.len.max(offset + bytes.len() as u64);
        while !bytes.is_empty() {
            let within = (offset % PAGE) as usize;
            let (now, rest) = bytes.split_at(bytes.len().min(PAGE_BYTES - within));
            let page = self.page_mut(offset / PAGE)?;
            page[within..within + now.len()].copy_from_slice(now);
            offset += now.len() as u64;
            bytes = rest;
        }
        Ok(())
    }

    /// Truncates or grows the file.
    pub(super) fn set_len(&mut self, len: u64) -> io::Result<()> {
        if len < self.len {
            self.base_bytes = self.base_bytes.min(len);
            self.pages.split_off(&len.div_ceil(PAGE));
            let within = (len % PAGE) as usize;
            if within > 0 && self.pages.contains_key(&(len / PAGE)) {
                self.page_mut(len / PAGE)?[within..].fill(0);
            }
        }
        self.len = len;
        Ok(())
    }

    /// Writes the file to a path that does not exist.
    pub(super) fn write_to(&self, path: &Path) -> io::Result<()> {
        let file = match &self.base {
            Some(base) if self.base_bytes > 0 => {
                let file = copy_sparse(base, path)?;
                file.set_len(self.base_bytes)?;
                file
            }
            _ => File::create_new(path)?,
        };
        file.set_len(self.len)?;
        let mut run: Vec<u8> = Vec::new();
        let mut start = 0;
        for (number, page) in &self.pages {
            let offset = number * PAGE;
            if start + run.len() as u64 != offset || run.len() >= 1 << 20 {
                file.write_all_at(&run, start)?;
                run.clear();
                start = offset;
            }
            let held = self.len.saturating_sub(offset).min(PAGE) as usize;
            run.extend_from_slice(&page[..held]);
        }
        file.write_all_at(&run, start)
    }

    /// All bytes; for tests and small files.
    #[cfg(test)]
    pub(super) fn bytes(&mut self) -> Vec<u8> {
        let pages = self.len.div_ceil(PAGE);
        let mut bytes: Vec<u8> =
            (0..pages).flat_map(|page| *self.page_mut(page).unwrap()).collect();
        bytes.truncate(self.len as usize);
        bytes
    }

    fn page_mut(&mut self, number: u64) -> io::Result<&mut [u8; PAGE_BYTES]> {
        if !self.pages.contains_key(&number) {
            let page = self.base_page(number)?;
            self.pages.insert(number, Arc::new(page));
        }
        let page = self.pages.get_mut(&number).expect("the page was inserted above");
        Ok(Arc::make_mut(page))
    }

    fn base_page(&self, number: u64) -> io::Result<[u8; PAGE_BYTES]> {
        let mut page = [0; PAGE_BYTES];
        let held = self.base_bytes.saturating_sub(number * PAGE).min(PAGE) as usize;
        if let Some(base) = &self.base
            && held > 0
        {
            File::open(&**base)?.read_exact_at(&mut page[..held], number * PAGE)?;
        }
        Ok(page)
    }
}

/// Copies a file to a path that does not exist. Holes stay holes, and runs of zeros become holes: young files
/// of stores are mostly zeros.
pub(super) fn copy_sparse(from: &Path, to: &Path) -> io::Result<File> {
    let (from, to) = (File::open(from)?, File::create_new(to)?);
    let len = from.metadata()?.len();
    to.set_len(len)?;
    let mut buffer = vec![0; 1 << 16];
    let mut offset = next_data(&from, 0, len);
    while offset < len {
        let held = (len - offset).min(buffer.len() as u64) as usize;
        from.read_exact_at(&mut buffer[..held], offset)?;
        if buffer[..held].iter().any(|byte| *byte != 0) {
            to.write_all_at(&buffer[..held], offset)?;
        }
        offset = next_data(&from, offset + held as u64, len);
    }
    Ok(to)
}

/// The next data after a hole; `offset` itself if the file system does not support holes.
fn next_data(file: &File, offset: u64, len: u64) -> u64 {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(offset)) {
        Ok(data) => data,
        Err(rustix::io::Errno::NXIO) => len,
        Err(_) => offset,
    }
}
