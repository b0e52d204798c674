//! A place in memory to which tests evict pages at any moment, also changed ones: what eviction does to
//! transactions can then be tested without checkpoints.

use super::eviction::Eviction;
use super::frame::Body;
use super::leaf::Leaf;
use super::page_load::{PageQueue, PageSource, PagesOnDisk};
use super::page_map::{Entry, PageMap};
use super::pages::Buffer;
use super::translation::PageState;
use crate::error::Result;
use crate::ids::{Csn, PageId};
use crate::planted_bug::{PlantedBug, planted};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The images of evicted pages, and the number of calls that read them.
#[derive(Clone, Default)]
struct MemorySource(Arc<Mutex<BTreeMap<PageId, Box<[u8]>>>>, Arc<AtomicU64>);

impl PageSource for MemorySource {
    fn read(&self, page: PageId, _entry: Entry) -> Result<Box<[u8]>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Ok(self.0.lock().unwrap()[&page].clone())
    }

    fn read_run(&self, pages: &[(PageId, Entry)], each: &mut dyn FnMut(PageId, Result<Box<[u8]>>)) {
        self.1.fetch_add(1, Ordering::Relaxed);
        for &(page, _) in pages {
            let image = self.0.lock().unwrap()[&page].clone();
            each(page, Ok(image));
        }
    }

    fn read_batch(
        &self,
        pages: &[(PageId, Entry)],
        each: &mut dyn FnMut(PageId, Result<Box<[u8]>>),
    ) {
        self.read_run(pages, each);
    }

    fn queue(&self) -> Box<dyn PageQueue> {
        Box::new(MemoryQueue { source: self.clone(), begun: Vec::new() })
    }
}

/// Pages to be passed on as they are then.
struct MemoryQueue {
    source: MemorySource,
    begun: Vec<PageId>,
}

impl PageQueue for MemoryQueue {
    fn begin(&mut self, page: PageId, _entry: Entry) {
        self.begun.push(page);
    }

    fn submit(&mut self) {}

    fn has_room(&self) -> bool {
        true
    }

    fn len(&self) -> usize {
        self.begun.len()
    }

    fn wait(&mut self, _at_least: usize, each: &mut dyn FnMut(PageId, Result<Box<[u8]>>)) {
        for page in self.begun.drain(..) {
            each(page, self.source.read(page, Entry::default()));
        }
    }
}

/// Evicts pages to memory.
pub(crate) struct MemoryEvictor(MemorySource);

impl Buffer {
    /// From now on pages may be evicted by the returned evictor. No snapshot may be taken.
    pub(crate) fn evict_to_memory(&mut self) -> MemoryEvictor {
        assert!(self.evicts(), "the buffer's options allow it");
        let images = MemorySource::default();
        let source = Box::new(images.clone());
        let map = Arc::new(PageMap::new());
        self.on_disk = Some(PagesOnDisk::new(map, source, Csn::ZERO));
        MemoryEvictor(images)
    }
}

impl MemoryEvictor {
    /// Calls that have read one page or several together.
    pub(crate) fn reads(&self) -> u64 {
        self.0.1.load(Ordering::Relaxed)
    }

    /// Evicts a leaf or a part of a long value, if nothing prevents it but that it has changed.
    pub(crate) fn evict(&self, buffer: &Buffer, page: PageId) -> bool {
        let guard = super::pin();
        let PageState::Resident(frame) = buffer.translation.state(page, &guard) else {
            return false;
        };
        if frame.is_detached() {
            return false;
        }
        let keep = |image: &[u8]| self.0.0.lock().unwrap().insert(page, image.into());
        match &frame.body {
            Body::Inner(_) => return false,
            Body::Leaf(latch) => {
                let Some(mut leaf) = latch.try_write() else {
                    return false;
                };
                if leaf.is_gone() {
                    return false;
                }
                if Leaf::has_locked_row(leaf.image()) && !planted(PlantedBug::EvictLocked) {
                    return false;
                }
                keep(leaf.image());
                Eviction::leave(&buffer.eviction, page, &leaf);
                assert!(buffer.translation.evict(page, frame, true, &guard), "the latch is held");
                drop(leaf.leave());
            }
            Body::Value(bytes) => {
                keep(bytes);
                return buffer.translation.evict(page, frame, false, &guard);
            }
        }
        true
    }
}
