//! The steps for products, for loads beside them, and for syncs over time.

use super::{DirectoryProbe, StepOutcome, no_files};
use crate::fitness::{FitnessInput, verdicts_for};
use crate::load::RunningLoad;
use crate::measure::{ShapeError, shape_window};
use crate::over_time::sample;
use crate::{Load, Phase, Result, Shape};
use std::path::Path;
use syncline_host::Pressure;
use syncline_instrument::{Nanos, clock};
use syncline_record::{Fitness, SyncInterval, Verdict};

impl DirectoryProbe<'_> {
    /// Starts a load, and gives it some time.
    pub(super) fn begin_load(&mut self, load: &Load, lead_ns: Nanos) -> Result<()> {
        self.load = Some(RunningLoad::start(load, &self.directory)?);
        self.beside = Some(load.to_string());
        self.wait(lead_ns);
        Ok(())
    }

    /// Ends the probe if the load has ended by itself: the last step may not have been measured beside it.
    pub(super) fn check_load(&mut self) {
        if let Some(reason) = self.load.as_mut().and_then(RunningLoad::ended) {
            self.load = None;
            self.incomplete.get_or_insert(reason);
        }
    }

    /// Measures one window of a product's operations.
    pub(super) fn shape(&mut self, shape: &'static Shape, span_ns: Nanos) -> Result<StepOutcome> {
        let Some(files) = &mut self.files else {
            return Ok(no_files());
        };
        let start_ns = clock::wall().saturating_sub(self.started_wall_ns);
        let (begin_ns, before) = (clock::now(), Pressure::read(Path::new("/")));
        let window = shape_window(files, shape, span_ns, self.stop);
        let after = Pressure::read(Path::new("/"));
        self.shapes.add_processor_wait(before.cpu_ns, after.cpu_ns, clock::now() - begin_ns);
        match window {
            Ok(Some(figures)) => self.shapes.push(shape, start_ns, figures),
            Ok(None) => self.shapes.not_measured(shape, "stopped before its time"),
            Err(ShapeError::NotPossible(reason)) => self.shapes.not_measured(shape, &reason),
            Err(ShapeError::Failed(error)) => return Err(error),
        }
        Ok(StepOutcome::Done)
    }

    /// Measures one part of a phase over time.
    pub(super) fn sample(&mut self, phase: Phase, span_ns: Nanos) -> Result<StepOutcome> {
        let Some(files) = &self.files else {
            return Ok(no_files());
        };
        let disk = self.watch.disk().ok();
        let part = sample(files, &self.history.part(phase, span_ns, disk), self.stop)?;
        let load = self.beside.clone().filter(|_| self.load.is_some());
        self.history.add(phase, load, part);
        Ok(StepOutcome::Done)
    }

    /// The intervals of the syncs over time so far.
    pub(crate) fn intervals(&self) -> &[SyncInterval] {
        self.history.intervals()
    }

    /// The verdicts for the plan's products, under the verdict on the directory's syncs.
    pub(super) fn fitness(&self, honesty: Option<&Verdict>) -> Vec<Fitness> {
        let idle = self.watch.summary();
        let input = FitnessInput {
            device: &self.device,
            honesty,
            idle: &idle,
            incomplete: self.incomplete.as_deref(),
            beside: self.beside.as_deref(),
        };
        verdicts_for(&self.plan.products, &self.shapes, &input)
    }
}
