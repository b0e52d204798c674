//! A profiled run's part of the page: the cost by module, a flame graph, the durations of waits.

use super::{flame, waits};
use crate::cost::{
    CostChoice, Sheet, SheetRow, accounts_in_words, cell_text, charging_in_words, sentences, title,
};
use maud::{Markup, html};
use syncline_profile::View;
use syncline_record::{Cost, RunRecord, Stacks};

/// The part; empty for a run that was not profiled.
pub(super) fn part(run: &RunRecord, stacks: Option<&Stacks>) -> Markup {
    let Some(cost) = &run.end.cost else {
        return html! {};
    };
    let behalf = CostChoice { view: View::OnBehalfOf, ..CostChoice::default() };
    html! {
        h2.part { "Where the time goes: " (run.title()) " " code { (run.identity.id) } }
        @for warning in &cost.warnings { p.warning { (warning) } }
        (table(cost, &CostChoice::default()))
        ul.sentences { @for sentence in sentences(cost, &CostChoice::default()) { li { (sentence) } } }
        details { summary { "Charged " (charging_in_words(View::OnBehalfOf)) }
            (table(cost, &behalf)) }
        details { summary { "Measurement methods" }
            ul.sentences { @for sentence in accounts_in_words(cost) { li { (sentence) } } } }
        @if let Some(stacks) = stacks { (flame::figure(stacks)) }
        (waits::figure(cost))
    }
}

fn table(cost: &Cost, choice: &CostChoice) -> Markup {
    let sheet = Sheet::of(cost, choice);
    html! {
        p.about { "A transaction of " (sheet.threads) ", charged " (charging_in_words(choice.view))
            "; times in microseconds; map " (cost.map.as_deref().unwrap_or("none")) "." }
        div.scroll tabindex="0" { table.cost {
            thead { tr { th.text { "module" }
                @for heading in &sheet.headings { th { (title(*heading)) } } } }
            tbody {
                @for row in &sheet.modules { (line(row, true)) }
                (line(&sheet.sum, false))
            }
            tbody.rest {
                @for row in sheet.others.iter().chain(&sheet.whole) { (line(row, false)) }
            }
        } }
    }
}

/// A row; a module's row has the module's colour in the flame graph.
fn line(row: &SheetRow, coloured: bool) -> Markup {
    html! {
        tr.sum[row.name == "sum"] {
            td.text {
                @if coloured { span class={ "swatch " (flame::colour(row.module)) } {} }
                (row.name)
            }
            @for cell in &row.cells { td { (cell_text(cell)) } }
        }
    }
}
