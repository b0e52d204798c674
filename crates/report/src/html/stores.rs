//! The colour and mark of each store, the same in every chart of the page.

use super::chart::{STYLES, mark};
use crate::survey::Survey;
use maud::{Markup, PreEscaped, html};
use syncline_record::RunRecord;

/// The stores of a survey in the order of its groups.
#[derive(Debug)]
pub(super) struct Stores {
    names: Vec<String>,
}

impl Stores {
    /// The stores that ran.
    pub(super) fn of(survey: &Survey<'_>) -> Stores {
        let mut names = Vec::new();
        for run in &survey.runs {
            if !names.contains(&name(run)) {
                names.push(name(run));
            }
        }
        Stores { names }
    }

    /// The style of a run's store. With more stores than styles, styles repeat; the table has all values.
    pub(super) fn style(&self, run: &RunRecord) -> usize {
        self.names.iter().position(|known| *known == name(run)).unwrap_or(0) % STYLES
    }

    /// The legend: marks and names, and the dash of the sync rates if they are drawn.
    pub(super) fn legend(&self, with_lines: bool) -> Markup {
        html! {
            ul.legend {
                @for (style, name) in self.names.iter().enumerate() {
                    li { (PreEscaped(mark(style))) (name) }
                }
                @if with_lines {
                    li { span.dash {} "the disk's sync rate" }
                }
            }
        }
    }
}

/// "sqlite, threads, data".
pub(super) fn name(run: &RunRecord) -> String {
    let target = &run.head.target;
    let durability = target.durability.as_deref().unwrap_or("unknown");
    format!("{}, {}, {durability}", target.name, run.client_model())
}
