//! Maintenance of the log's files, on any thread: preparing the next one, releasing those that recovery does
//! not need any more, and archiving their segments.
//!
//! The log's threads or the database's maintenance thread call it in advance; a commit that finds no room
//! does the same work itself, and gets its error.

use crate::error::{Error, Result};
use crate::events;
use crate::ids::Csn;
use crate::log::archive;
use crate::log::driver::Shared;
use crate::log::segment::{self, SegmentFile};
use crate::log::segments::{Capped, FreeFile, Preparation};
use crate::panics;
use crate::sync::IS_MODEL;
use crate::sync::thread::yield_now;
use std::sync::Arc;
use std::time::Duration;
use syncline_vfs::Disk;

/// How long a commit sleeps at the log's cap while another thread archives a segment.
const ARCHIVE_WAIT: Duration = Duration::from_millis(1);

impl<D: Disk> Shared<D> {
    /// Prepares a file if one is needed. A full disk is reported to the commit that lacks the space, when it
    /// tries for itself.
    pub(super) fn prepare_file(&self) {
        if self.prepare_segment(false).is_ok_and(|prepared| prepared) {
            self.writer_signal.raise();
        }
    }

    /// Prepares a segment file on this thread if one is needed. True if one was prepared.
    pub(super) fn prepare_segment(&self, more: bool) -> Result<bool> {
        let how = {
            let mut frame_writer = self.frame_writer();
            // Checked under the frame writer's lock: a thread that closes the log checks there whether a file
            // is being prepared.
            self.check()?;
            match frame_writer.segments().begin_preparing(more) {
                Ok(Some(how)) => how,
                Ok(None) => return Ok(false),
                Err(Capped) if !more => return Ok(false),
                Err(Capped) if frame_writer.segments().unarchived() > 0 => {
                    drop(frame_writer);
                    return self.wait_for_archive();
                }
                Err(Capped) => {
                    let bytes = frame_writer.segments().live_bytes();
                    let bytes_max = self.options.log_bytes_max.unwrap_or(u64::MAX);
                    return Err(Error::LogLong { bytes, bytes_max });
                }
            }
        };
        let fail = |because: &str| {
            self.frame_writer().segments().end_preparing(how, Err(self.left_behind(how)));
            self.fail(because);
        };
        let prepared =
            panics::failing("the preparation of a log file", fail, || self.prepared(how));
        let (file, result) = match prepared {
            Ok(file) => (Ok(file), Ok(true)),
            Err(error) => (Err(self.left_behind(how)), Err(error)),
        };
        let mut frame_writer = self.frame_writer();
        frame_writer.segments().end_preparing(how, file);
        frame_writer.set_space(&self.ring);
        drop(frame_writer);
        result
    }

    /// Frees the files of segments whose commits are all at or below `csn`.
    pub(super) fn release(&self, csn: Csn) {
        let mut frame_writer = self.frame_writer();
        let freed = frame_writer.segments().release(csn);
        self.count_live(&mut frame_writer);
        drop(frame_writer);
        if freed {
            self.files_signal.raise();
            self.archive_signal.raise();
        }
    }

    /// Archives the oldest released segment on this thread. False if there is none, if another thread does,
    /// or if it cannot be archived yet.
    pub(super) fn archive_segment(&self) -> Result<bool> {
        let Some(archive) = &self.options.archive else {
            return Ok(false);
        };
        let segments = {
            let mut frame_writer = self.frame_writer();
            self.check()?;
            frame_writer.segments().begin_archiving()
        };
        let Some(segments) = segments else {
            return Ok(false);
        };
        let end = |is_archived| self.frame_writer().segments().end_archiving(is_archived);
        let fail = |because: &str| {
            end(false);
            self.fail(because);
        };
        let is_wanted = || self.durable_lsn.failure().is_none();
        let archived = panics::failing("the archiving of a log segment", fail, || {
            archive::copy(&self.disk, &self.directory, segments, archive, &is_wanted)
        });
        end(matches!(archived, Ok(true)));
        match &archived {
            Ok(true) => *self.archive_failure.lock() = None,
            Ok(false) => {}
            Err(error) => {
                let because: Arc<str> = Arc::from(error.to_string());
                if self.archive_failure.lock().replace(Arc::clone(&because)).is_none() {
                    events::not_archived(&because);
                }
            }
        }
        if matches!(archived, Ok(true)) {
            self.files_signal.raise();
        }
        archived
    }

    /// Why the last attempt to archive a segment failed; none if it did not.
    pub(super) fn archive_failure(&self) -> Option<Arc<str>> {
        self.archive_failure.lock().clone()
    }

    /// True if a segment waits to be archived.
    pub(super) fn is_unarchived(&self) -> bool {
        self.frame_writer().segments().unarchived() > 0
    }

    /// Archives a segment, or waits a little while another thread does. True if a file is free.
    #[cold]
    fn wait_for_archive(&self) -> Result<bool> {
        if self.archive_segment()? {
            return Ok(true);
        }
        if IS_MODEL {
            yield_now();
        } else {
            std::thread::sleep(ARCHIVE_WAIT);
        }
        Ok(false)
    }

    fn prepared(&self, how: Preparation) -> Result<SegmentFile<D::File>> {
        let (index, bytes, may_mark) = match how {
            Preparation::Make { index, bytes, bytes_min } => {
                let bytes = match self.make(index, bytes) {
                    Err(Error::Full { .. }) if bytes_min < bytes => {
                        self.make(index, bytes_min)?;
                        bytes_min
                    }
                    made => made.map(|()| bytes)?,
                };
                (index, bytes, true)
            }
            Preparation::Reuse { file, bytes, may_mark } => {
                (file.index, self.lengthened(file, bytes)?, may_mark)
            }
        };
        let file = segment::open(&self.disk, &self.directory, (index, bytes), self.mode)?;
        if may_mark {
            // What came before took a while: the mark names the frames that are stable by now.
            let mark = self.frame_writer().mark(bytes);
            segment::mark(&self.disk, &self.directory, (index, &mark), self.mode.direct)?;
        }
        Ok(file)
    }

    /// The file of a failed preparation, and the bytes that it has left there.
    fn left_behind(&self, how: Preparation) -> (u32, u64) {
        let (index, before, after) = match how {
            Preparation::Make { index, bytes, .. } => (index, 0, bytes),
            Preparation::Reuse { file, bytes, .. } => (file.index, file.bytes, bytes),
        };
        let length = segment::length(&self.disk, &self.directory, index).unwrap_or(after);
        (index, length.saturating_sub(before))
    }

    fn make(&self, index: u32, bytes: u64) -> Result<()> {
        segment::make(&self.disk, &self.directory, (index, bytes), self.mode.direct)
    }

    /// Lengthens a free file if it is too small; on a full disk it stays as it is. Returns its size.
    fn lengthened(&self, file: FreeFile, bytes: u64) -> Result<u64> {
        if file.bytes >= bytes {
            return Ok(file.bytes);
        }
        let sizes = (file.index, file.bytes, bytes);
        match segment::lengthen(&self.disk, &self.directory, sizes, self.mode.direct) {
            Err(Error::Full { .. }) => Ok(file.bytes),
            lengthened => lengthened.map(|()| bytes),
        }
    }
}
