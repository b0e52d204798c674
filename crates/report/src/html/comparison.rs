//! The page of a comparison: the ratio of each figure on one logarithmic axis, and the same table as in the
//! terminal.
//!
//! 1. Each row is a strip as wide as its column, with positions in percent of the width, so that text keeps
//!    its size on a narrow screen and in print.
//! 2. Each verdict has its own mark and a word next to it; no meaning depends on colour.
//! 3. If the records are not comparable, the page has the reason instead of strips.

use super::page;
use crate::Error;
use crate::compare::{Comparison, Row, Verdict};
use crate::table::{COMPARED, compared_cells, compared_rows};
use maud::{Markup, html};
use syncline_record::Record;
use syncline_record::units;

/// The page of two records and their comparison, or the reason why they are not comparable.
pub fn comparison(records: [&Record; 2], result: &Result<Comparison, Error>) -> String {
    let ids = records.map(|record| record.identity().id.clone());
    let title = format!("Syncline: {} compared with {}", ids[1], ids[0]);
    let titles = match result {
        Ok(compared) => compared.titles.clone(),
        Err(_) => records.map(record_title),
    };
    let body = html! {
        table.facts { tbody {
            @for (side, name) in ["A", "B"].iter().zip(&titles) {
                tr { td.text { b { (side) } } td.text { (name) } }
            }
        } }
        @match result {
            Ok(compared) => (comparison_part(compared)),
            Err(why) => p.verdict.fails { b { "No comparison" } ": " (why) },
        }
    };
    page::document(
        &title,
        &records.map(Record::clone),
        &body,
        "A is the baseline, B the record that is judged.",
    )
}

fn record_title(record: &Record) -> String {
    let id = &record.identity().id;
    match record {
        Record::Run(run) => format!("{} ({id})", run.title()),
        Record::Probe(probe) => format!("{} ({id})", probe.body.directory),
        Record::Observation(observation) => {
            format!("{}, observed ({id})", observation.body.target.name)
        }
        Record::Verification(verification) => format!("{} ({id})", verification.title()),
    }
}

fn comparison_part(compared: &Comparison) -> Markup {
    let sentences = compared.sentences();
    let conclusion = compared.conclusion();
    html! {
        p.verdict.fails[compared.regression] { b { (conclusion) } }
        @for sentence in sentences.iter().filter(|sentence| *sentence != conclusion) { p { (sentence) } }
        (forest(compared))
        h2 { "Every figure" }
        div.scroll tabindex="0" { table {
            thead { tr { @for (index, column) in COMPARED.iter().enumerate() {
                th.text[is_text(index)] { (column) }
            } } }
            tbody { @for row in compared_rows(compared) { tr {
                @for (index, cell) in compared_cells(row).iter().enumerate() {
                    td.text[is_text(index)] { (cell) }
                }
            } } }
        } }
    }
}

/// True for the first and the last column, which hold words.
fn is_text(column: usize) -> bool {
    column == 0 || column + 1 == COMPARED.len()
}

/// Maps ratios to positions on the axis, in parts of its width.
struct Scale {
    least: f64,
    most: f64,
}

/// Ratios that may be ticks.
const TICKS: [f64; 15] =
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 2.0, 5.0, 10.0, 100.0];
/// The least distance between ticks, in parts of the width.
const TICKS_APART: f64 = 0.12;

impl Scale {
    /// A scale that includes all ratios, with 1 in the middle.
    fn of(rows: &[&Row]) -> Scale {
        let ends = rows.iter().flat_map(|row| {
            let ratio = row.ratio();
            let ends = ratio.map(|ratio| [ratio.median, ratio.range.least, ratio.range.most]);
            let band = row.least_effect.map(|least| 1.0 + least);
            ends.into_iter().flatten().chain(band)
        });
        let widest = ends
            .filter(|end| end.is_finite() && *end > 0.0)
            .map(|end| end.ln().abs())
            .fold(0.1_f64, f64::max);
        // A margin, so that no mark is cut at the edge.
        let widest = (widest * 1.15).exp();
        Scale { least: 1.0 / widest, most: widest }
    }

    /// The position in percent of the width, limited to it.
    fn at(&self, ratio: f64) -> String {
        format!("{:.2}%", self.part(ratio) * 100.0)
    }

    fn part(&self, ratio: f64) -> f64 {
        let ratio = ratio.max(f64::MIN_POSITIVE);
        ((ratio / self.least).ln() / (self.most / self.least).ln()).clamp(0.0, 1.0)
    }

    /// The ticks: 1, and as many others as fit.
    fn ticks(&self) -> Vec<f64> {
        let mut ticks = vec![1.0];
        for tick in TICKS {
            let far = |other: &f64| (self.part(*other) - self.part(tick)).abs() >= TICKS_APART;
            let inside = (TICKS_APART / 3.0..=1.0 - TICKS_APART / 3.0).contains(&self.part(tick));
            if inside && ticks.iter().all(far) {
                ticks.push(tick);
            }
        }
        ticks
    }
}

/// The chart of ratios; empty if no figure has one.
fn forest(compared: &Comparison) -> Markup {
    let rows: Vec<&Row> = compared_rows(compared).filter(|row| row.ratio().is_some()).collect();
    if rows.is_empty() {
        return html! {};
    }
    let scale = Scale::of(&rows);
    html! {
        h2 { "B compared with A" }
        figure {
            ul.legend {
                @for (verdict, words) in legend(&rows) {
                    li { svg.mark viewBox="-8 -8 16 16" aria-hidden="true" { (mark(verdict)) } (words) }
                }
                li { span.effect {} "too small a difference to judge" }
            }
            div.forest {
                @for row in &rows { (strip(row, &scale)) }
                div.row { svg.strip.axis aria-hidden="true" {
                    @for tick in scale.ticks() {
                        text x=(scale.at(tick)) y="14" text-anchor="middle" { (tick) " x" }
                    }
                } }
            }
            figcaption { "Ratio B/A on a logarithmic axis. A line is the interval of the ratio or, where it was not "
                "judged by repetitions, reaches from the least B over the most A to the most B over the least A; a "
                "mark without a line has one value on each side. Rates are better to the right of 1, times and "
                "costs to the left." }
        }
    }
}

/// The verdicts of the rows, each once, with all words used for it.
fn legend(rows: &[&Row]) -> Vec<(Verdict, String)> {
    let mut found: Vec<(Verdict, Vec<&str>)> = Vec::new();
    for row in rows {
        let words = match row.verdict_words() {
            "" => "not judged",
            words => words,
        };
        match found.iter_mut().find(|(verdict, _)| *verdict == row.verdict) {
            Some((_, all)) if all.contains(&words) => {}
            Some((_, all)) => all.push(words),
            None => found.push((row.verdict, vec![words])),
        }
    }
    let joined = |(verdict, words): (Verdict, Vec<&str>)| (verdict, words.join(" or "));
    found.into_iter().map(joined).collect()
}

fn strip(row: &Row, scale: &Scale) -> Markup {
    let [name, a, a_range, b, b_range, ratio, _, verdict] = compared_cells(row);
    let Some(spread) = row.ratio() else {
        return html! {};
    };
    let side = |value: &str, range: &str| match range {
        "" => value.to_owned(),
        range => format!("{value} ({range})"),
    };
    let between = (spread.range.least < spread.range.most).then(|| {
        let (least, most) = (spread.range.least, spread.range.most);
        format!(", {} to {}", units::times(least), units::times(most))
    });
    let between = between.unwrap_or_default();
    let words = match &*verdict {
        "" => "not judged",
        words => words,
    };
    let values = format!(
        "{name}: B/A {ratio}{between}; A {}, B {}; {words}",
        side(&a, &a_range),
        side(&b, &b_range)
    );
    html! { div.row {
        div.name { (name) }
        svg.strip role="img" aria-label=(values) {
            title { (values) }
            // Catches the pointer where nothing is drawn.
            rect.value x="0" y="0" width="100%" height="100%" {}
            @if let Some(least) = row.least_effect {
                @let (from, to) = (scale.part(1.0 - least), scale.part(1.0 + least));
                rect.effect x={ (format!("{:.2}", from * 100.0)) "%" } y="0"
                    width={ (format!("{:.2}", (to - from) * 100.0)) "%" } height="100%" {}
            }
            @for tick in scale.ticks() {
                line.tick.one[(tick - 1.0).abs() < 1e-9] x1=(scale.at(tick)) x2=(scale.at(tick)) y1="0" y2="100%" {}
            }
            @if spread.range.least < spread.range.most {
                line.between x1=(scale.at(spread.range.least)) x2=(scale.at(spread.range.most)) y1="50%" y2="50%" {}
            }
            svg.point x=(scale.at(spread.median)) y="50%" { (mark(row.verdict)) }
        }
        div.result { b { (ratio) } " " (verdict) }
    } }
}

/// The mark of a verdict, around the point 0, 0.
fn mark(verdict: Verdict) -> Markup {
    match verdict {
        Verdict::Faster => html! { path.better d="M0 -7 L6 5 L-6 5 Z" {} },
        Verdict::Slower => html! { path.worse d="M0 7 L6 -5 L-6 -5 Z" {} },
        Verdict::NoDifferenceShown => html! { circle.equal r="5" {} },
        Verdict::TooShort => html! { path.open d="M-5 -5 L5 5 M5 -5 L-5 5" {} },
        Verdict::NotJudged => html! { rect.unjudged x="-4" y="-4" width="8" height="8" {} },
    }
}

#[cfg(test)]
mod tests {
    use super::Scale;

    #[test]
    fn one_is_in_the_middle_and_ticks_are_apart() {
        for most in [1.05_f64, 1.3, 4.0, 90.0] {
            let scale = Scale { least: 1.0 / most, most };
            assert!((scale.part(1.0) - 0.5).abs() < 1e-9);
            let mut ticks = scale.ticks();
            ticks.sort_by(f64::total_cmp);
            assert!(ticks.contains(&1.0), "{ticks:?}");
            for pair in ticks.windows(2) {
                assert!(scale.part(pair[1]) - scale.part(pair[0]) >= super::TICKS_APART);
            }
        }
        assert_eq!(Scale { least: 0.5, most: 2.0 }.at(0.0), "0.00%");
    }
}
