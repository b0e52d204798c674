//! A verification's part of the page: the finding in sentences, with its subject, time and machine.

use maud::{Markup, html};
use syncline_record::VerificationRecord;

/// The verification's part of the page.
pub(super) fn part(record: &VerificationRecord) -> Markup {
    let body = &record.body;
    let fails = body.outcome == "broken";
    html! {
        section {
            h2.part { "Verification: " (record.title()) " " code { (record.identity.id) } }
            p.verdict.fails[fails] { b { (body.outcome) } }
            @for sentence in &body.sentences {
                // A sentence of several lines is a table.
                @if sentence.contains('\n') { pre { (sentence) } } @else { p { (sentence) } }
            }
            div.scroll tabindex="0" { table.facts {
                thead { tr { th.text { "fact" } th.text { "value" } } }
                tbody {
                    tr { td.text { "subject" } td.text { (body.subject) } }
                    tr { td.text { "started" } td.text { (record.identity.started) } }
                    tr { td.text { "version" } td.text { (record.identity.syncline) } }
                    tr { td.text { "machine" } td.text { (body.machine.in_words()) } }
                }
            } }
        }
    }
}
