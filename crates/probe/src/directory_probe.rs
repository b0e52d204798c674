//! The probe of one directory, step by step, so that the probes of several directories can alternate.
//!
//! 1. A failed step becomes the outcome of its cell or the reason for an incomplete result; it is never an
//!    error of the whole probe.
//! 2. A full disk ends the directory's probe: later steps would fail too.
//! 3. No step begins after the plan's deadline, counted in this directory's own time.

#[path = "directory_probe_products.rs"]
mod products_and_loads;

use crate::device;
use crate::disk_counters::{CounterDelta, DiskCounterReader};
use crate::fio;
use crate::fitness::ShapeWindows;
use crate::load::RunningLoad;
use crate::measure::{
    CellJob, Files, READ_BYTES, Sizes, TRANSFER_BYTES, is_copy_on_write, measure_cell,
    plain_writes, random_reads, sequential_read, sequential_write,
};
use crate::notes::notes;
use crate::over_time::SyncHistory;
use crate::plan::{LINE_BYTES, OVERWRITE_BYTES, impossible};
use crate::sync_line::{best_outstanding, fastest};
use crate::verdict::{VerdictInput, verdicts};
use crate::{
    CellOutcome, DeviceFacts, Direction, Error, FileState, MethodChoice, Placement, Plan,
    ProbeResult, Result, Span, Step, SyncCell, SyncLine, SyncStep,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use syncline_instrument::Nanos;
use syncline_instrument::clock::{self, SECOND};
use syncline_record::{CellFigures, PlainWrite, ReadCell, SequentialCell};
use syncline_vfs::SyncMethod;

/// A running probe of one directory.
#[derive(Debug)]
pub(crate) struct DirectoryProbe<'a> {
    directory: PathBuf,
    plan: &'a Plan,
    stop: &'a AtomicBool,
    started_wall_ns: Nanos,
    spent_ns: Nanos,
    device: DeviceFacts,
    watch: DiskCounterReader,
    files: Option<Files>,
    sizes: Sizes,
    copy_on_write: bool,
    cells: Vec<SyncCell>,
    line: Option<SyncLine>,
    plain_write: Option<PlainWrite>,
    reads: Vec<ReadCell>,
    sequential: Vec<SequentialCell>,
    shapes: ShapeWindows,
    load: Option<RunningLoad>,
    beside: Option<String>,
    history: SyncHistory,
    notes: Vec<String>,
    incomplete: Option<String>,
}

/// The result of a step.
enum StepOutcome {
    Done,
    NotRun(String),
}

impl<'a> DirectoryProbe<'a> {
    /// Inspects the directory, which must be absolute and without links, and creates its files.
    pub(crate) fn begin(
        directory: PathBuf,
        plan: &'a Plan,
        stop: &'a AtomicBool,
    ) -> DirectoryProbe<'a> {
        let begin_ns = clock::now();
        let started_wall_ns = clock::wall();
        let root = Path::new("/");
        let device = device::inspect(root, &directory);
        let watch = DiskCounterReader::new(root, &device.summary.disks);
        let left_overs = crate::scratch::remove_left_overs(&directory);
        let notes = (!left_overs.is_empty()).then(|| {
            format!("{} temporary files of earlier probes were removed.", left_overs.len())
        });
        let mut probe = DirectoryProbe {
            notes: device.sentences.iter().cloned().chain(notes).collect(),
            copy_on_write: is_copy_on_write(device.summary.file_system.as_deref()),
            sizes: Sizes::most(plan.read_file_bytes),
            directory,
            plan,
            stop,
            started_wall_ns,
            spent_ns: 0,
            device,
            watch,
            files: None,
            cells: Vec::new(),
            line: None,
            plain_write: None,
            reads: Vec::new(),
            sequential: Vec::new(),
            shapes: ShapeWindows::default(),
            load: None,
            beside: None,
            history: SyncHistory::new(),
            incomplete: None,
        };
        probe.prepare();
        probe.spent_ns = clock::now() - begin_ns;
        probe
    }

    /// The directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes the files refuse direct I/O.
    #[cfg(test)]
    pub(crate) fn offer_no_direct_io(&mut self) {
        let files = self.files.as_mut().expect("its files were made");
        files.offer_no_direct_io();
    }

    /// True if nothing more can be measured.
    pub(crate) fn is_over(&self) -> bool {
        self.incomplete.is_some()
    }

    /// Runs one step.
    pub(crate) fn step(&mut self, step: &Step) {
        let begin_ns = clock::now();
        if self.plan.deadline_ns.is_some_and(|deadline_ns| self.spent_ns > deadline_ns) {
            let reason = "the plan's time was used up before this step".to_owned();
            self.record_not_run(step, CellOutcome::NotRun(reason));
            return;
        }
        let result = self.run(step);
        if let Some(files) = self.files.as_ref().filter(|_| self.copy_on_write) {
            files.give_back_overwritten();
        }
        self.spent_ns += clock::now() - begin_ns;
        self.check_load();
        match result {
            Ok(StepOutcome::Done) => {}
            Ok(StepOutcome::NotRun(reason)) => {
                self.record_not_run(step, CellOutcome::NotRun(reason));
            }
            Err(Error::Disk(syncline_vfs::Error::NotPossible { reason, .. })) => {
                self.record_not_run(step, CellOutcome::NotPossible(reason));
            }
            Err(error) => {
                let full = matches!(&error, Error::Disk(disk) if disk.is_full());
                let what = if full { "the disk became full" } else { "a step failed" };
                self.record_not_run(step, CellOutcome::NotRun(error.to_string()));
                if full {
                    self.incomplete = Some(format!("{what}: {error}"));
                } else {
                    self.notes.push(format!("{what}: {error}."));
                }
            }
        }
    }

    /// The result with its verdicts. `stopped` is the number of finished steps and of all steps, if the probe
    /// was stopped.
    pub(crate) fn finish(mut self, stopped: Option<(usize, usize)>) -> ProbeResult {
        self.load = None;
        if let (None, Some((done, of))) = (&self.incomplete, stopped) {
            self.incomplete = Some(format!("stopped after {done} of {of} steps"));
        }
        let counting = self.watch.summary().reason.is_none();
        self.notes.extend(notes(&self.cells, &self.reads, counting));
        let evidence = VerdictInput {
            device: &self.device,
            cells: &self.cells,
            plain_write: self.plain_write.as_ref(),
            rpm_by_hand: self.plan.rpm,
        };
        let verdicts = verdicts(&self.directory, &evidence);
        let fitness = self.fitness(verdicts.first());
        ProbeResult {
            verdicts,
            quick: self.plan.label() == "burst",
            label: self.plan.label(),
            flush_counts: self.watch.summary(),
            directory: self.directory,
            started_wall_ns: self.started_wall_ns,
            duration_ns: self.spent_ns,
            device: self.device,
            cells: self.cells,
            line: self.line,
            plain_write: self.plain_write,
            reads: self.reads,
            sequential: self.sequential,
            fitness,
            over_time: self.history.saved(self.watch.disk().err()),
            notes: self.notes,
            incomplete: self.incomplete,
        }
    }

    fn prepare(&mut self) {
        let free_bytes = device::free_bytes(&self.directory);
        let transfer = self.plan.read_file_bytes;
        match Sizes::of(&self.directory, free_bytes, self.copy_on_write, transfer) {
            Ok(sizes) => self.sizes = sizes,
            Err(why) => {
                self.incomplete = Some(why);
                return;
            }
        }
        self.notes.extend(self.size_notes());
        match Files::prepare(&self.directory, self.sizes) {
            Ok(files) => self.files = Some(files),
            Err(error) => {
                let directory = self.directory.display();
                self.incomplete = Some(format!("cannot write in {directory}: {error}"));
            }
        }
    }

    /// Notes on the sizes of the files.
    fn size_notes(&self) -> Vec<String> {
        let Sizes { overwrite, lap, .. } = self.sizes;
        let file_system = self.device.summary.file_system.as_deref();
        let elsewhere = file_system.filter(|_| self.copy_on_write).map(|name| {
            format!(
                "{name} never overwrites in place: its overwrite rows allocate too, and the files \
                 use at most an eighth of the free space."
            )
        });
        let small = (overwrite < OVERWRITE_BYTES).then(|| {
            format!(
                "Little space is free, so the written file has {} MiB instead of {} and the others {}: a \
                 device's cache may hold them, and rows of other probes may differ for that reason.",
                overwrite >> 20,
                OVERWRITE_BYTES >> 20,
                lap >> 20
            )
        });
        elsewhere.into_iter().chain(small).collect()
    }

    /// The reason why a step would measure the page cache; `None` if it would not.
    fn page_cache(&self, step: &Step) -> Option<String> {
        let direct = matches!(
            step,
            Step::PlainWrite { .. } | Step::Sequential { .. } | Step::RandomReads { .. }
        );
        let why = self.files.as_ref()?.block_bytes().err()?;
        direct.then(|| format!("without direct I/O the page cache would be measured ({why})"))
    }

    fn run(&mut self, step: &Step) -> Result<StepOutcome> {
        if let Some(why) = self.page_cache(step) {
            return Ok(StepOutcome::NotRun(why));
        }
        match step {
            Step::Idle { span_ns } => Ok(self.idle(*span_ns)),
            Step::Pause { span_ns } => {
                self.wait(*span_ns);
                Ok(StepOutcome::Done)
            }
            Step::Shape { shape, span_ns } => self.shape(shape, *span_ns),
            Step::BeginLoad { load, lead_ns } => {
                self.begin_load(load, *lead_ns)?;
                Ok(StepOutcome::Done)
            }
            Step::EndLoad => {
                self.load = None;
                Ok(StepOutcome::Done)
            }
            Step::Sample { phase, span_ns } => self.sample(*phase, *span_ns),
            Step::Sync(step) => self.sync(step),
            Step::Line1 { method, span_ns } => self.line_1(*method, *span_ns),
            Step::LineMax { method, outstanding, span_ns } => {
                self.line_max(*method, *outstanding, *span_ns)
            }
            Step::PlainWrite { span_ns } => {
                let span = Span::fixed(*span_ns, *span_ns);
                let Some(files) = &self.files else {
                    return Ok(no_files());
                };
                self.plain_write = plain_writes(files, span, self.stop)?;
                Ok(StepOutcome::Done)
            }
            Step::Sequential { direction, span_ns } => self.transfer(*direction, *span_ns),
            Step::RandomReads { depth, span_ns } => self.random(*depth, *span_ns),
        }
    }

    fn idle(&mut self, span_ns: Nanos) -> StepOutcome {
        let before = self.watch.read();
        let begin_ns = clock::now();
        self.wait(span_ns);
        let mut delta = CounterDelta::default();
        delta.add(before, self.watch.read(), clock::now() - begin_ns);
        self.watch.set_idle(delta);
        StepOutcome::Done
    }

    /// Sleeps for that time, or until the probe is stopped.
    fn wait(&self, span_ns: Nanos) {
        let begin_ns = clock::now();
        while !self.stop.load(Ordering::Relaxed) {
            let rest_ns = span_ns.saturating_sub(clock::now() - begin_ns);
            if rest_ns == 0 {
                break;
            }
            std::thread::sleep(Duration::from_nanos(rest_ns.min(SECOND / 10)));
        }
    }

    fn sync(&mut self, step: &SyncStep) -> Result<StepOutcome> {
        let Some(method) = self.resolve(step.method, step.write_bytes) else {
            return Ok(StepOutcome::NotRun("no honest method could be measured".to_owned()));
        };
        let outcome = self.sync_outcome(method, step)?;
        self.push_cell(method, step, outcome);
        Ok(StepOutcome::Done)
    }

    fn sync_outcome(&mut self, method: SyncMethod, step: &SyncStep) -> Result<CellOutcome> {
        let too_large = || too_large(self.sizes, step);
        if let Some(reason) = self.impossible(method, step.write_bytes).or_else(too_large) {
            return Ok(CellOutcome::NotPossible(reason));
        }
        let job = CellJob {
            method,
            write_bytes: step.write_bytes,
            file_state: step.file_state,
            placement: step.placement,
            outstanding: step.outstanding,
            span: step.span,
        };
        Ok(match self.measure(&job)? {
            Some(measured) => CellOutcome::Measured(Box::new(measured)),
            None => CellOutcome::NotRun("stopped before its time".to_owned()),
        })
    }

    fn line_1(&mut self, choice: MethodChoice, span_ns: Nanos) -> Result<StepOutcome> {
        let Some(method) = self.resolve(choice, LINE_BYTES) else {
            return Ok(StepOutcome::NotRun("no honest method could be measured".to_owned()));
        };
        let job = line_job(method, 1, Span::fixed(span_ns, SECOND));
        if let Some(measured) = self.measure(&job)? {
            self.line = Some(SyncLine {
                directory: self.directory.clone(),
                device: self.device_in_words(),
                method,
                file_state: FileState::Overwrite,
                write_bytes: LINE_BYTES,
                line_1: measured.rate_per_s,
                line_1_windows: measured.windows,
                line_1_latency: measured.latency_ns,
                line_max: None,
                line_max_outstanding: None,
            });
        }
        Ok(StepOutcome::Done)
    }

    fn line_max(
        &mut self,
        choice: MethodChoice,
        outstanding: Option<usize>,
        span_ns: Nanos,
    ) -> Result<StepOutcome> {
        let method = self.resolve(choice, LINE_BYTES);
        let by_cells = method.and_then(|method| best_outstanding(&self.cells, method));
        let outstanding = outstanding.or(by_cells.map(|(outstanding, _)| outstanding));
        let (Some(method), Some(outstanding)) = (method, outstanding) else {
            return Ok(StepOutcome::NotRun(
                "no cell with several outstanding was measured".to_owned(),
            ));
        };
        let measured =
            self.measure(&line_job(method, outstanding, Span::fixed(span_ns, SECOND)))?;
        if let (Some(line), Some(measured)) = (&mut self.line, measured) {
            line.line_max = Some(measured.rate_per_s);
            line.line_max_outstanding = Some(outstanding);
        }
        Ok(StepOutcome::Done)
    }

    fn transfer(&mut self, direction: Direction, span_ns: Nanos) -> Result<StepOutcome> {
        let Some(files) = &mut self.files else {
            return Ok(no_files());
        };
        let measured = match (direction, &files.transferred) {
            (Direction::Write, _) => sequential_write(files, span_ns, self.stop)?,
            (Direction::Read, Some((scratch, bytes))) => {
                sequential_read((scratch, *bytes), span_ns, self.stop)?
            }
            (Direction::Read, None) => return Ok(nothing_written()),
        };
        if let Some(measured) = measured {
            self.push_transfer(direction, Ok(measured.bytes_per_s()));
        }
        Ok(StepOutcome::Done)
    }

    fn random(&mut self, depth: usize, span_ns: Nanos) -> Result<StepOutcome> {
        let Some(files) = &self.files else {
            return Ok(no_files());
        };
        let Some((scratch, file_bytes)) = &files.transferred else {
            return Ok(nothing_written());
        };
        if let Some(measured) = random_reads((scratch, *file_bytes), depth, span_ns, self.stop)? {
            self.reads.push(ReadCell {
                read_bytes: READ_BYTES as u64,
                depth: depth as u64,
                file_bytes: *file_bytes,
                rate_per_s: Some(measured.rate_per_s),
                latency_ns: Some(measured.latency),
                reason: None,
            });
        }
        Ok(StepOutcome::Done)
    }

    fn measure(&mut self, job: &CellJob) -> Result<Option<CellFigures>> {
        match &mut self.files {
            Some(files) => measure_cell(files, job, &self.watch, self.stop),
            None => Ok(None),
        }
    }

    fn resolve(&self, choice: MethodChoice, write_bytes: usize) -> Option<SyncMethod> {
        match choice {
            MethodChoice::Named(method) => Some(method),
            MethodChoice::Fastest => {
                let fastest_of_all = fastest(&self.cells, true)?;
                match self.impossible(fastest_of_all, write_bytes) {
                    None => Some(fastest_of_all),
                    Some(_) => fastest(&self.cells, false),
                }
            }
        }
    }

    fn impossible(&self, method: SyncMethod, write_bytes: usize) -> Option<String> {
        match self.files.as_ref()?.block_bytes() {
            Ok(block_bytes) => impossible(method, write_bytes, block_bytes),
            Err(reason) => method.is_direct().then(|| reason.to_owned()),
        }
    }

    fn push_cell(&mut self, method: SyncMethod, step: &SyncStep, outcome: CellOutcome) {
        self.cells.push(SyncCell {
            method,
            write_bytes: step.write_bytes,
            file_state: step.file_state,
            placement: step.placement,
            outstanding: step.outstanding,
            fio: fio::command(&self.directory, method, step, self.sizes),
            outcome,
        });
    }

    fn push_transfer(&mut self, direction: Direction, rate: std::result::Result<f64, String>) {
        self.sequential.push(SequentialCell {
            direction: direction.name().to_owned(),
            transfer_bytes: TRANSFER_BYTES as u64,
            bytes_per_s: rate.as_ref().ok().copied(),
            reason: rate.err(),
        });
    }

    /// A step without figures still has its row, with the cell that it would have measured.
    fn record_not_run(&mut self, step: &Step, outcome: CellOutcome) {
        let reason = match &outcome {
            CellOutcome::NotRun(reason) | CellOutcome::NotPossible(reason) => reason.clone(),
            CellOutcome::Measured(_) => unreachable!("the cell was not run"),
        };
        match step {
            Step::Sync(sync) => {
                if let Some(method) = self.resolve(sync.method, sync.write_bytes) {
                    self.push_cell(method, sync, outcome);
                }
            }
            Step::Sequential { direction, .. } => self.push_transfer(*direction, Err(reason)),
            Step::RandomReads { depth, .. } => self.reads.push(ReadCell {
                read_bytes: READ_BYTES as u64,
                depth: *depth as u64,
                file_bytes: 0,
                rate_per_s: None,
                latency_ns: None,
                reason: Some(reason),
            }),
            Step::Line1 { .. } => self.notes.push(format!("The sync rate is unknown: {reason}.")),
            Step::LineMax { .. } => {
                self.notes.push(format!("The best parallel sync rate is unknown: {reason}."));
            }
            Step::PlainWrite { .. } => {
                self.notes.push(format!("Writes without a sync were not measured: {reason}."));
            }
            Step::Shape { shape, .. } => self.shapes.not_measured(shape, &reason),
            Step::Sample { phase, .. } => {
                self.notes.push(format!("Syncs {} were not measured: {reason}.", phase.name()));
            }
            Step::BeginLoad { load, .. } => {
                self.notes.push(format!("There was no load beside: {load}: {reason}."));
            }
            Step::Idle { .. } | Step::Pause { .. } | Step::EndLoad => {}
        }
    }

    /// "sda (ST1000DM003), ext4"; a disk that reports no model is named by its kind.
    fn device_in_words(&self) -> Option<String> {
        let summary = &self.device.summary;
        let disks = (!summary.disks.is_empty()).then(|| summary.disks.join(", "))?;
        let kind = || {
            let mut layers = self.device.layers.iter();
            layers.find(|layer| summary.disks.first() == Some(&layer.name)).map(|layer| &layer.kind)
        };
        let mut words = disks;
        if let Some(named) = summary.model.as_ref().or_else(kind) {
            words += &format!(" ({named})");
        }
        if let Some(file_system) = &summary.file_system {
            words += &format!(", {file_system}");
        }
        Some(words)
    }
}

/// The reason why the files are too small for the writers of a step; `None` if they are large enough.
pub(crate) fn too_large(sizes: Sizes, step: &SyncStep) -> Option<String> {
    /// A lap is renewed when fewer writes than this fit in it.
    const WRITES_A_LAP: u64 = 16;
    let write = step.write_bytes as u64;
    let (file, needed) = match step.file_state {
        FileState::Overwrite => (sizes.overwrite, write * step.outstanding as u64),
        FileState::Unwritten | FileState::Append => (sizes.lap, write * WRITES_A_LAP),
    };
    (needed > file).then(|| {
        format!(
            "its writes need a file of {} MiB, and because little space is free it has {} MiB",
            needed.div_ceil(1 << 20),
            file >> 20
        )
    })
}

fn line_job(method: SyncMethod, outstanding: usize, span: Span) -> CellJob {
    CellJob {
        method,
        write_bytes: LINE_BYTES,
        file_state: FileState::Overwrite,
        placement: Placement::Walk,
        outstanding,
        span,
    }
}

fn no_files() -> StepOutcome {
    StepOutcome::NotRun("the probe's files could not be created".to_owned())
}

fn nothing_written() -> StepOutcome {
    StepOutcome::NotRun("there is no written file to read".to_owned())
}
