//! The windows of each shape that were measured in one directory.

use super::product::Shape;
use crate::measure::ShapeFigures;
use syncline_instrument::Nanos;

/// One measured window.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// Its start, from the start of the directory's probe.
    pub(crate) start_ns: Nanos,
    /// Its figures.
    pub(crate) figures: ShapeFigures,
}

/// The windows of a directory by shape.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShapeWindows {
    shapes: Vec<MeasuredShape>,
    /// The time of windows over which waits for a processor were counted, and the waits.
    counted_ns: Nanos,
    waited_ns: Nanos,
}

/// The windows of one shape.
#[derive(Clone, Debug)]
pub(crate) struct MeasuredShape {
    shape: &'static Shape,
    /// The windows, in the order of time.
    pub(crate) windows: Vec<Window>,
    /// Why a window is missing.
    pub(crate) reason: Option<String>,
}

impl ShapeWindows {
    /// Adds a window.
    pub(crate) fn push(&mut self, shape: &'static Shape, start_ns: Nanos, figures: ShapeFigures) {
        self.entry(shape).windows.push(Window { start_ns, figures });
    }

    /// Says why a window is missing; the first reason stays.
    pub(crate) fn not_measured(&mut self, shape: &'static Shape, reason: &str) {
        let entry = self.entry(shape);
        entry.reason.get_or_insert_with(|| reason.to_owned());
    }

    /// Adds the time in which some task of the machine waited for a processor during a window, if the kernel
    /// reports it: readings before and after, and the time between.
    pub(crate) fn add_processor_wait(
        &mut self,
        before_ns: Option<Nanos>,
        after_ns: Option<Nanos>,
        elapsed_ns: Nanos,
    ) {
        if let (Some(before_ns), Some(after_ns)) = (before_ns, after_ns) {
            self.counted_ns += elapsed_ns;
            self.waited_ns += after_ns.saturating_sub(before_ns);
        }
    }

    /// The share of the windows' time in which some task waited for a processor; `None` if it is not known.
    pub(crate) fn processor_wait(&self) -> Option<f64> {
        (self.counted_ns > 0).then(|| (self.waited_ns as f64 / self.counted_ns as f64).min(1.0))
    }

    /// What was measured of a shape, by itself or for another product that writes alike.
    pub(crate) fn of(&self, shape: &Shape) -> Option<&MeasuredShape> {
        self.shapes.iter().find(|measured| measured.shape.writes_like(shape))
    }

    fn entry(&mut self, shape: &'static Shape) -> &mut MeasuredShape {
        let known = self.shapes.iter().position(|measured| measured.shape.writes_like(shape));
        let index = known.unwrap_or_else(|| {
            self.shapes.push(MeasuredShape { shape, windows: Vec::new(), reason: None });
            self.shapes.len() - 1
        });
        &mut self.shapes[index]
    }
}
