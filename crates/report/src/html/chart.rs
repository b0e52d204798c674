//! Draws a chart as SVG text: frame, ticks, grid, series with lines, marks, bars and ranges.
//!
//! Colours are placeholders (`#A1000n` for series n, `#B10000` for the grid, `#B20000` for reference lines)
//! that the page's style sheet replaces, so that one drawing works in light and dark mode.

use super::axis::Axis;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::*;
use std::ops::Range;

/// The number of distinct colours and marks.
pub(super) const STYLES: usize = 6;

/// A chart to draw.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    /// A description for screen readers.
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
    /// Width and height in units of the drawing.
    pub(super) size: (u32, u32),
    /// The width for the labels of the y axis.
    pub(super) left: u32,
    /// Texts at the right edge, each at a value of the y axis.
    pub(super) notes: Vec<(f64, String)>,
}

/// One series.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// The number of its colour and mark.
    pub(super) style: usize,
    pub(super) shape: Shape,
    /// In values, not positions.
    pub(super) points: Vec<(f64, f64)>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A line with a mark at each point.
    MarkedLine,
    /// A line alone.
    Line,
    /// A dashed line of reference.
    DashedLine,
    /// Marks alone.
    Marks,
    /// A thick line alone, for a range.
    ThickLine,
    /// A thin line alone, for a range across a bar.
    Range,
    /// A broad line from the first point to the last, whose title has its value.
    Bar,
}

type Error = Box<dyn std::error::Error>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The font size that the drawing library is given; it writes 12.1 pixels for it.
const FONT_SIZE: i32 = 15;

/// The pixels of the mean character of a note, at most: 0.6 of the font size, as in wide typefaces.
const CHARACTER_WIDTH: f64 = 7.3;

/// Pixels on each side of the notes at the right edge.
const NOTE_MARGIN: u32 = 6;

/// The drawing as an SVG element.
pub(super) fn draw(chart: &Chart) -> String {
    let mut text = String::new();
    let values = {
        let area = SVGBackend::with_string(&mut text, chart.size).into_drawing_area();
        draw_on(chart, &area).expect("drawing into memory cannot fail")
    };
    let text = match text.rfind("</svg>") {
        Some(end) => format!("{}{values}{}", &text[..end], &text[end..]),
        None => text,
    };
    // The drawing scales with the page and has a label for screen readers.
    let (width, height) = chart.size;
    let opening = format!("<svg width=\"{width}\" height=\"{height}\" ");
    let title = escape(&chart.title);
    text.replacen(
        &opening,
        &format!("<svg class=\"chart\" role=\"img\" aria-label=\"{title}\" "),
        1,
    )
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// Draws, and returns a transparent circle over each marked point whose `title` has its value.
fn draw_on(chart: &Chart, area: &Area<'_>) -> Result<String, Error> {
    let longest_note = chart.notes.iter().map(|(_, text)| text.chars().count()).max();
    let notes_width = (longest_note.unwrap_or(0) as f64 * CHARACTER_WIDTH).ceil() as u32;
    let mut context = ChartBuilder::on(area)
        .margin_top(10)
        .margin_right(if chart.notes.is_empty() { 22 } else { notes_width + 2 * NOTE_MARGIN })
        .x_label_area_size(46)
        .y_label_area_size(chart.left)
        .build_cartesian_2d(Scale::of(&chart.x), Scale::of(&chart.y))?;
    let text_of = |axis: &Axis| {
        let ticks: Vec<(f64, String)> =
            axis.ticks.iter().map(|tick| (axis.position(tick.at), tick.text.clone())).collect();
        move |position: &f64| {
            ticks
                .iter()
                .find(|(at, _)| (at - position).abs() < 1e-9)
                .map_or_else(String::new, |(_, text)| text.clone())
        }
    };
    context
        .configure_mesh()
        .axis_style(GRID.stroke_width(1))
        .set_all_tick_mark_size(4)
        .bold_line_style(GRID.stroke_width(1))
        .light_line_style(TRANSPARENT)
        .label_style(("sans-serif", FONT_SIZE))
        .axis_desc_style(("sans-serif", FONT_SIZE))
        .x_desc(&chart.x.title)
        .y_desc(&chart.y.title)
        .x_label_formatter(&text_of(&chart.x))
        .y_label_formatter(&text_of(&chart.y))
        .x_labels(chart.x.ticks.len().max(1))
        .y_labels(chart.y.ticks.len().max(1))
        .draw()?;
    for series in &chart.series {
        let color = color(series.style);
        let points: Vec<(f64, f64)> = series
            .points
            .iter()
            .map(|(x, y)| (chart.x.position(*x), chart.y.position(*y)))
            .collect();
        match series.shape {
            Shape::DashedLine => {
                let line = REFERENCE.stroke_width(2);
                context.draw_series(DashedLineSeries::new(points, 7, 5, line))?;
            }
            Shape::Line | Shape::MarkedLine => {
                let line = color.stroke_width(2);
                context.draw_series(LineSeries::new(points.clone(), line))?;
            }
            Shape::ThickLine => {
                context.draw_series(LineSeries::new(points.clone(), color.stroke_width(5)))?;
            }
            Shape::Range => {
                context.draw_series(LineSeries::new(points.clone(), REFERENCE.stroke_width(2)))?;
            }
            Shape::Bar => {
                context.draw_series(LineSeries::new(points.clone(), color.stroke_width(14)))?;
            }
            Shape::Marks => {}
        }
        if matches!(series.shape, Shape::MarkedLine | Shape::Marks) {
            let points =
                series.points.iter().map(|(x, y)| (chart.x.position(*x), chart.y.position(*y)));
            draw_marks(&mut context, series.style, points)?;
        }
    }
    let first_with_value = |series: &'_ Series| match series.shape {
        Shape::MarkedLine | Shape::Marks => 0,
        Shape::Bar => series.points.len().saturating_sub(1),
        Shape::Line | Shape::DashedLine | Shape::ThickLine | Shape::Range => series.points.len(),
    };
    let mut values = String::new();
    for (x, y) in chart.series.iter().flat_map(|series| &series.points[first_with_value(series)..])
    {
        let (left, top) = context.backend_coord(&(chart.x.position(*x), chart.y.position(*y)));
        let value = format!("{}, {}", chart.x.text(*x), chart.y.text(*y));
        values += &format!(
            "<circle class=\"value\" cx=\"{left}\" cy=\"{top}\" r=\"9\"><title>{}</title></circle>\n",
            escape(&value)
        );
    }
    let at_edge: Vec<(i32, &str)> = chart
        .notes
        .iter()
        .map(|(y, text)| {
            let (_, pixel) = context.backend_coord(&(0.0, chart.y.position(*y)));
            (pixel, text.as_str())
        })
        .collect();
    let edge = (chart.size.0 - NOTE_MARGIN - notes_width) as i32;
    for (pixel, text) in separate(at_edge) {
        area.draw(&Text::new(text.to_owned(), (edge, pixel - 8), ("sans-serif", FONT_SIZE)))?;
    }
    area.present()?;
    Ok(values)
}

/// Notes from top to bottom, moved down where two would overlap.
fn separate(mut notes: Vec<(i32, &str)>) -> Vec<(i32, &str)> {
    const HEIGHT: i32 = 17;
    notes.sort_by_key(|(pixel, _)| *pixel);
    for index in 1..notes.len() {
        notes[index].0 = notes[index].0.max(notes[index - 1].0 + HEIGHT);
    }
    notes
}

fn draw_marks(
    context: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<Scale, Scale>>,
    style: usize,
    points: impl Iterator<Item = (f64, f64)>,
) -> Result<(), Error> {
    let color = color(style);
    match style % STYLES {
        0 => context.draw_series(points.map(|at| Circle::new(at, 5, color.filled())))?,
        1 => {
            return finish(
                context
                    .draw_series(points.map(|at| EmptyElement::at(at) + square(4, color.filled()))),
            );
        }
        2 => {
            return finish(
                context.draw_series(points.map(|at| TriangleMarker::new(at, 7, color.filled()))),
            );
        }
        3 => {
            return finish(
                context.draw_series(points.map(|at| Cross::new(at, 5, color.stroke_width(2)))),
            );
        }
        4 => context.draw_series(points.map(|at| Circle::new(at, 5, color.stroke_width(2))))?,
        _ => {
            return finish(context.draw_series(
                points.map(|at| EmptyElement::at(at) + square(4, color.stroke_width(2))),
            ));
        }
    };
    Ok(())
}

fn finish<T, E: std::error::Error + 'static>(drawn: Result<T, E>) -> Result<(), Error> {
    drawn.map(drop).map_err(Error::from)
}

fn square(half: i32, style: ShapeStyle) -> Rectangle<(i32, i32)> {
    Rectangle::new([(-half, -half), (half, half)], style)
}

const GRID: RGBColor = RGBColor(0xB1, 0, 0);
const REFERENCE: RGBColor = RGBColor(0xB2, 0, 0);

fn color(style: usize) -> RGBColor {
    RGBColor(0xA1, 0, (style % STYLES) as u8)
}

/// An axis by positions, with grid lines only at its ticks.
#[derive(Clone)]
struct Scale {
    range: Range<f64>,
    ticks: Vec<f64>,
}

impl Scale {
    fn of(axis: &Axis) -> Scale {
        Scale {
            range: axis.position(axis.least)..axis.position(axis.most),
            ticks: axis.ticks.iter().map(|tick| axis.position(tick.at)).collect(),
        }
    }
}

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let part = (value - self.range.start) / (self.range.end - self.range.start);
        let pixel = f64::from(limit.0) + part * f64::from(limit.1 - limit.0);
        pixel.round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// The mark of a style, for legends, as an SVG element.
pub(super) fn mark(style: usize) -> String {
    let inner = match style % STYLES {
        0 => "<circle cx=\"8\" cy=\"8\" r=\"5\"/>",
        1 => "<rect x=\"4\" y=\"4\" width=\"8\" height=\"8\"/>",
        2 => "<path d=\"M8 2 L13 12 L3 12 Z\"/>",
        3 => "<path d=\"M3 3 L13 13 M13 3 L3 13\" class=\"open\"/>",
        4 => "<circle cx=\"8\" cy=\"8\" r=\"5\" class=\"open\"/>",
        _ => "<rect x=\"4\" y=\"4\" width=\"8\" height=\"8\" class=\"open\"/>",
    };
    let style = style % STYLES;
    format!("<svg class=\"mark s{style}\" viewBox=\"0 0 16 16\" aria-hidden=\"true\">{inner}</svg>")
}
