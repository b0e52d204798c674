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
