//! What holds for every page: it is well formed, has one style, loads nothing and escapes its texts, and no
//! chart cuts off a text.

use crate::fixture::{self, ENGINE, SQLITE};
use crate::html_tree::{Element, parse};
use crate::page_outline::outline;
use crate::published_fixture::commit_every;
use crate::views::{move_to, swept};
use crate::{comparison_page, golden, observation, results_page, stacks};
use syncline_record::Record;
use syncline_report::html;
use syncline_report::table::{self, Detail};

fn every_page() -> Vec<(&'static str, String)> {
    let records = fixture::survey();
    let mut two_directories = fixture::survey();
    move_to(&mut two_directories, "/mnt/hdd", 118.0);
    two_directories.extend(records.clone());
    let run = Record::from(fixture::run(SQLITE, 8, 9_120.0, 1.0));
    let other = Record::from(fixture::run(ENGINE, 1, 9_000.0, 1.0));
    let (metered, metered_stacks) = stacks::recorded_with_stacks();
    vec![
        ("nothing", html::report(&[], &[])),
        ("survey", html::report(&records, &[])),
        ("two directories", html::report(&two_directories, &[])),
        ("probe", html::report(&[Record::from(fixture::probe())], &[])),
        ("run", html::report(std::slice::from_ref(&run), &[])),
        ("open loop", html::report(&[Record::from(fixture::overloaded())], &[])),
        ("results", html::results(&results_page::named(&records))),
        ("runs by clients", html::report(&swept(&[1, 8, 64], &["1"]), &[])),
        ("runs by option", html::report(&swept(&[8], &["1", "10"]), &[])),
        ("runs by inserts per commit", html::report(&commit_every(), &[])),
        ("metered run", html::report(&[metered], &[metered_stacks])),
        ("observation", html::report(&[Record::from(observation::record(None))], &[])),
        ("verification", html::report(&[Record::from(fixture::verification())], &[])),
        ("comparison", comparison_page::page(&run, &run, false)),
        ("refused comparison", comparison_page::page(&run, &other, false)),
    ]
}

#[test]
fn the_page_of_a_survey_matches_its_golden_file() {
    golden::check("survey_page.txt", &outline(&parse(&html::report(&fixture::survey(), &[]))));
}

#[test]
fn every_page_is_well_formed_with_one_style_and_unique_ids() {
    let style = include_str!("../../src/html/style.css");
    for (name, page) in every_page() {
        // Reading fails if an element is not closed.
        let html = parse(&page);
        let heads: Vec<&str> = html.elements().map(|element| element.name.as_str()).collect();
        assert_eq!(heads, ["head", "body"], "{name}");
        let styles: Vec<String> = html.named("style").iter().map(|one| one.text()).collect();
        assert_eq!(styles, [style], "{name}");
        let all = html.all();
        let mut ids: Vec<&str> = all.iter().filter_map(|element| element.attribute("id")).collect();
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{name}: {ids:?}");
        assert_eq!(html.named("h1").len(), 1, "{name}");
    }
}

#[test]
fn every_page_is_offline_and_runs_no_script() {
    const LOADING: [&str; 9] =
        ["audio", "base", "embed", "iframe", "image", "img", "link", "object", "use"];
    for (name, page) in every_page() {
        let html = parse(&page);
        for element in html.all() {
            assert!(!LOADING.contains(&element.name.as_str()), "{name}: {}", element.name);
            for (attribute, value) in &element.attributes {
                let loads = ["src", "srcset", "href", "xlink:href", "data", "action"]
                    .contains(&attribute.as_str());
                // A link to a file next to the page is followed only by a click.
                let links = element.name == "a" && attribute == "href" && !value.contains(':');
                assert!(!loads || links, "{name}: {attribute}={value}");
                assert!(!attribute.starts_with("on"), "{name}: {attribute}={value}");
                assert!(!value.contains("url("), "{name}: {attribute}={value}");
            }
        }
        for other in ["http://", "https://", "@import", "url("] {
            let found = page.replace("http://www.w3.org/2000/svg", "").contains(other);
            assert!(!found, "{name} asks for something outside: {other}");
        }
        let scripts = html.named("script");
        // A page without records of its own holds no data either.
        let has_records = !["nothing", "results"].contains(&name);
        assert_eq!(scripts.len(), usize::from(has_records), "{name}");
        for script in scripts {
            assert_eq!(script.attribute("type"), Some("application/json"), "{name}");
        }
        // Even an unescaped reference or script would be neither fetched nor run.
        let policy = html.named("meta").into_iter().find_map(|meta| {
            let is_policy = meta.attribute("http-equiv") == Some("Content-Security-Policy");
            is_policy.then(|| meta.attribute("content").unwrap())
        });
        assert_eq!(policy, Some("default-src 'none'; style-src 'unsafe-inline'"), "{name}");
    }
}

#[test]
fn a_page_holds_its_records_as_json_and_as_the_terminal_shows_them() {
    let records = fixture::survey();
    let html = parse(&html::report(&records, &[]));
    let embedded = html.named("script")[0].text();
    let embedded: serde_json::Value = serde_json::from_str(&embedded).unwrap();
    assert_eq!(embedded.as_array().unwrap().len(), records.len());
    let collapsed = html.named("details").into_iter().map(|details| details.named("pre")[0].text());
    let shown = records.iter().map(|record| match record {
        Record::Run(run) => table::run(run),
        Record::Probe(probe) => table::probe(probe, Detail::Wide),
        Record::Observation(_) | Record::Verification(_) => unreachable!("a survey has neither"),
    });
    assert_eq!(collapsed.collect::<Vec<_>>(), shown.collect::<Vec<_>>());
    let is_chart = |svg: &&Element| svg.attribute("class") == Some("chart");
    assert!(html.named("svg").into_iter().filter(is_chart).count() >= 10);
}

#[test]
fn texts_from_outside_cannot_become_markup() {
    let mut probe = fixture::probe();
    let directory = "/x/</script><script>alert(1)</script>\"<svg onload=1>";
    probe.body.directory = directory.to_owned();
    probe.body.notes = vec!["<b>bold</b> & more".to_owned()];
    probe.body.cells[0].method = "<i>".to_owned();
    let page = html::report(&[Record::from(probe)], &[]);
    assert!(!page.contains("<script>alert") && !page.contains("<svg onload"));
    assert!(!page.contains("<b>bold") && !page.contains("<i>"));
    let html = parse(&page);
    assert_eq!(html.named("h1")[0].text(), format!("Syncline probe: {directory}"));
    let notes = html.named("p").into_iter().filter(|p| p.attribute("class") == Some("note"));
    assert!(notes.into_iter().any(|note| note.text() == "<b>bold</b> & more"));
    assert!(html.named("text").iter().any(|text| text.text().contains("<i>, 4 KiB")));
    assert_eq!((html.named("i").len(), html.named("script").len()), (0, 1));
}

#[test]
fn pages_of_little_or_nothing_are_pages_too() {
    let run = Record::from(fixture::run(SQLITE, 8, 9_120.0, 1.0));
    for records in [vec![], vec![run], vec![Record::from(fixture::probe())]] {
        let page = html::report(&records, &[]);
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
        parse(&page);
    }
}

// The right half of "syncs in parallel: 60.2k/s" was outside of the drawing.
#[test]
fn no_text_of_a_chart_runs_past_its_view_box() {
    let mut checked = 0;
    for (name, page) in every_page() {
        for svg in parse(&page).named("svg") {
            // The reader gives names of attributes in lower case.
            let Some(view_box) = svg.attribute("viewbox") else { continue };
            let view_box: Vec<f64> =
                view_box.split(' ').map(|number| number.parse().unwrap()).collect();
            let [left, top, width, height] = view_box[..] else { panic!("{view_box:?}") };
            for text in svg.named("text") {
                checked += 1;
                let [(from, to), (above, below)] = extent(svg, text);
                let fits = from >= left
                    && to <= left + width
                    && above >= top - LINE_TOLERANCE
                    && below <= top + height + LINE_TOLERANCE;
                let words = text.text();
                assert!(
                    fits,
                    "{name}: {words:?} from {from} to {to}, {above} to {below}: {view_box:?}"
                );
            }
        }
    }
    assert!(checked > 200, "{checked}");
}

/// The height of a line is less certain than its width: descenders may be counted that are not there.
const LINE_TOLERANCE: f64 = 2.0;

/// An estimate of the space that a text takes: from left to right, and from top to bottom.
fn extent(svg: &Element, text: &Element) -> [(f64, f64); 2] {
    /// Of the font's size, for the mean character of a wide typeface.
    const MEAN_WIDTH: f64 = 0.6;
    let number = |name: &str| text.attribute(name).map(|value| value.parse::<f64>().unwrap());
    // The sizes of the style sheet for texts without one.
    let size = number("font-size").unwrap_or(match svg.attribute("class") {
        Some("waits") => 10.5,
        _ => 11.0,
    });
    let width = text.text().trim().chars().count() as f64 * size * MEAN_WIDTH;
    let start = match text.attribute("text-anchor") {
        Some("end") => -width,
        Some("middle") => -width / 2.0,
        _ => 0.0,
    };
    let down = match text.attribute("dy") {
        Some("0.76em") => 0.76 * size,
        Some("0.5ex") => 0.25 * size,
        Some("-0.5ex") => -0.25 * size,
        Some(other) => panic!("dy of {other}"),
        None => 0.0,
    };
    let (x, y) = (number("x").unwrap_or(0.0), number("y").unwrap_or(0.0));
    let (along, across) = ((start, start + width), (down - 0.76 * size, down + 0.24 * size));
    match text.attribute("transform") {
        // Turned to the left: the text runs upwards, and its lower edge is on the right.
        Some(turned) => {
            assert!(turned.starts_with("rotate(270, "), "{turned}");
            [(x + across.0, x + across.1), (y - along.1, y - along.0)]
        }
        None => [(x + along.0, x + along.1), (y + across.0, y + across.1)],
    }
}
