//! A verification's part of the page: the finding in sentences, with what it is of, where and when.

use maud::{Markup, html};
use syncline_record::VerificationRecord;

/// The verification's part of the page.
pub(super) fn part(verified: &VerificationRecord) -> Markup {
    let body = &verified.body;
    let fails = body.outcome == "broken";
    html! {
        section {
            h2.part { "Verification: " (verified.title()) " " code { (verified.identity.id) } }
            p.verdict.fails[fails] { b { (body.outcome) } }
            @for sentence in &body.sentences {
                // What has lines of its own is a table.
                @if sentence.contains('\n') { pre { (sentence) } } @else { p { (sentence) } }
            }
            div.scroll tabindex="0" { table.facts {
                thead { tr { th.text { "fact" } th.text { "value" } } }
                tbody {
                    tr { td.text { "subject" } td.text { (body.subject) } }
                    tr { td.text { "started" } td.text { (verified.identity.started) } }
                    tr { td.text { "version" } td.text { (verified.identity.syncline) } }
                    tr { td.text { "machine" } td.text { (body.machine.in_words()) } }
                }
            } }
        }
    }
}
