//! The durations of single waits off the processor: a bar for each power of two.

use maud::{Markup, html};
use syncline_record::Cost;
use syncline_record::units;

const HEIGHT: f64 = 170.0;
const BAR: f64 = 34.0;
/// Space for half a label left of the first bar.
const LEFT: f64 = 24.0;
/// Space above the bars for counts, and below them for times.
const ABOVE: f64 = 20.0;
const BELOW: f64 = 24.0;

/// The chart; empty if waits were not timed one by one.
pub(super) fn figure(cost: &Cost) -> Markup {
    let lengths = cost
        .metric("off_cpu")
        .and_then(|metric| metric.lengths.as_ref())
        .filter(|lengths| lengths.iter().any(|count| *count > 0));
    let Some(lengths) = lengths else {
        return html! {};
    };
    let first = lengths.iter().position(|count| *count > 0).unwrap_or(0);
    let bars = &lengths[first..];
    let most = bars.iter().copied().max().unwrap_or(1).max(1);
    let all: u64 = bars.iter().sum();
    let width = LEFT * 2.0 + BAR * bars.len() as f64;
    let number = |figure: f64| format!("{figure:.1}");
    html! {
        h3 { "How long threads were off the processor" }
        figure { div.scroll tabindex="0" {
            svg.waits viewBox={ "0 0 " (number(width)) " " (number(ABOVE + HEIGHT + BELOW)) }
                style={ "width:" (number(width)) "px" } role="img"
                aria-label="Number of waits by their length, in powers of two" {
                @for (index, count) in bars.iter().enumerate() {
                    @let from = 2_f64.powi((first + index) as i32);
                    @let height = *count as f64 / most as f64 * HEIGHT;
                    @let x = LEFT + BAR * index as f64;
                    g {
                        title { (units::span(from)) " to " (units::span(from * 2.0)) ": " (count)
                            " waits, " (units::percent(*count as f64 / all as f64)) }
                        rect.wait x=(number(x + 2.0)) y=(number(ABOVE + HEIGHT - height))
                            width=(number(BAR - 4.0)) height=(number(height)) {}
                        @if *count > 0 {
                            text.small text-anchor="middle" x=(number(x + BAR / 2.0))
                                y=(number(ABOVE + HEIGHT - height - 5.0)) {
                                (units::count(*count as f64)) }
                        }
                        @if index % 2 == 0 {
                            text.small text-anchor="middle" x=(number(x + 2.0))
                                y=(number(ABOVE + HEIGHT + 16.0)) { (edge(from)) }
                        }
                    }
                }
            }
        }
        figcaption { "Waits of all threads of the store by their length; each bar begins at the time below "
            "it and ends at twice that. Waiting for a request is included." } }
    }
}

/// A power of two in two digits: "1 us", "66 us", "4.2 ms".
fn edge(ns: f64) -> String {
    let text = units::span(ns);
    match text.split_once(' ') {
        Some((figure, unit)) => {
            let figure: f64 = figure.parse().unwrap_or(0.0);
            if figure >= 10.0 {
                format!("{figure:.0} {unit}")
            } else {
                format!("{figure:.1} {unit}")
            }
        }
        None => text,
    }
}
