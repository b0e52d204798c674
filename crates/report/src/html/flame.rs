//! Stacks of processor time as a drawing: a rectangle a function, as wide as the time it and all it
//! calls took, callers below what they call, coloured by module.
//!
//! 1. A frame that belongs to its caller has its caller's colour.
//! 2. What is narrower than could be seen is left out, and the space stays free: no width is a lie.
//! 3. Names stand in the rectangles as far as they fit; the whole name, module and share stand in the
//!    title that shows when one points at it.

use crate::cost::{CostThreads, ThreadFilter, named};
use maud::{Markup, html};
use std::collections::BTreeMap;
use syncline_profile::Module;
use syncline_profile::{ChargedProfile, Metric, Space, View};
use syncline_record::Stacks;
use syncline_record::class_word;
use syncline_record::units;

/// As wide as the page's own text, so that letters are as large as they say.
const WIDTH: f64 = 932.0;
const ROW: f64 = 18.0;
/// What a letter takes in the drawing's own measure, a little more than it is wide.
const LETTER: f64 = 6.6;
/// Narrower rectangles are not drawn.
const NARROWEST: f64 = 0.7;
/// Stacks are not drawn higher.
const HIGHEST: usize = 120;

/// A function in one place of the tree.
#[derive(Default)]
struct Node {
    weight: u64,
    looks: u64,
    children: BTreeMap<Key, Node>,
}

/// What tells functions apart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    function: String,
    object: String,
    module: Option<Module>,
    kernel: bool,
}

/// A rectangle.
struct FramePosition<'n> {
    key: &'n Key,
    node: &'n Node,
    left: f64,
    width: f64,
    row: usize,
}

/// The drawing with its legend; nothing where no processor time was seen.
pub(super) fn figure(stacks: &Stacks) -> Markup {
    let (root, threads) = tree(stacks);
    if root.weight == 0 {
        return html! {};
    }
    let mut places = Vec::new();
    place(&root, 0.0, WIDTH, 0, &mut places);
    let rows = places.iter().map(|place| place.row + 1).max().unwrap_or(1);
    let height = rows as f64 * ROW;
    let modules = Module::ALL.into_iter().map(Some).chain([None]);
    let seen = |module: &Option<Module>| places.iter().any(|place| place.key.module == *module);
    html! {
        h3 { "Processor time by stack" }
        figure {
            ul.legend { @for module in modules.filter(seen) {
                li { span class={ "swatch " (colour(module)) } {} (heading(module)) }
            } li { span.swatch.kernel {} "kernel" } }
            div.scroll tabindex="0" {
                svg.flame viewBox={ "0 0 " (WIDTH) " " (height) } role="img"
                    aria-label="Functions by processor time, callers below what they call" {
                    @for place in &places { (rectangle(place, &root, height)) }
                }
            }
            figcaption { "Each rectangle is as wide as the processor time of its function and all that it "
                "calls; callers are below. " (threads) "; " (root.looks) " samples. "
                "Point at one for its name." }
        }
    }
}

/// The class of a module's colour in the style sheet.
pub(super) fn colour(module: Option<Module>) -> String {
    let place = module.and_then(|module| Module::ALL.iter().position(|one| *one == module));
    place.map_or_else(|| "m-unknown".to_owned(), |place| format!("m{place}"))
}

fn heading(module: Option<Module>) -> &'static str {
    module.map_or("unknown", Module::heading)
}

/// The stacks of the threads that serve clients, from the outermost frame inwards.
fn tree(stacks: &Stacks) -> (Node, String) {
    let profile = ChargedProfile::new(&stacks.profile, &stacks.map, View::Innermost);
    // The default choice is not a pattern, so it cannot fail.
    let filter = ThreadFilter::of(&CostThreads::Serving, &profile)
        .unwrap_or(ThreadFilter::Classes(Vec::new()));
    let mut root = Node::default();
    let mut classes: Vec<&str> = Vec::new();
    for sample in profile.samples() {
        let cpu = matches!(sample.metric, Metric::CpuUser | Metric::CpuKernel);
        if !cpu || !filter.holds(&sample) {
            continue;
        }
        let class = class_word(sample.class);
        if !classes.contains(&class) {
            classes.push(class);
        }
        root.weight += sample.weight;
        root.looks += sample.count;
        let mut node = &mut root;
        let mut owner = None;
        for (frame, module) in sample.frames().rev().take(HIGHEST) {
            owner = module.or(owner);
            let (function, object) = named(frame);
            let key = Key { function, object, module: owner, kernel: frame.space == Space::Kernel };
            node = node.children.entry(key).or_default();
            node.weight += sample.weight;
            node.looks += sample.count;
        }
    }
    (root, format!("Threads of class {}", classes.join(", ")))
}

fn place<'n>(
    node: &'n Node,
    left: f64,
    width: f64,
    row: usize,
    places: &mut Vec<FramePosition<'n>>,
) {
    let mut left = left;
    for (key, child) in &node.children {
        let own = child.weight as f64 / node.weight.max(1) as f64 * width;
        if own >= NARROWEST {
            places.push(FramePosition { key, node: child, left, width: own, row });
            place(child, left, own, row + 1, places);
        }
        left += own;
    }
}

fn rectangle(place: &FramePosition<'_>, root: &Node, height: f64) -> Markup {
    let top = height - (place.row + 1) as f64 * ROW;
    let share = units::percent(place.node.weight as f64 / root.weight as f64);
    let fit = ((place.width - 6.0) / LETTER).max(0.0) as usize;
    let label = label(&place.key.function, fit);
    let number = |figure: f64| format!("{figure:.1}");
    let kernel = if place.key.kernel { " kernel" } else { "" };
    html! {
        g {
            title { (place.key.function) " (" (place.key.object) "), " (heading(place.key.module)) ": "
                (share) ", " (place.node.looks) " samples" }
            rect class={ (colour(place.key.module)) (kernel) } x=(number(place.left)) y=(number(top))
                width=(number((place.width - 0.5).max(0.2))) height=(number(ROW - 1.0)) {}
            @if !label.is_empty() {
                text x=(number(place.left + 3.0)) y=(number(top + ROW - 5.5)) { (label) }
            }
        }
    }
}

/// As much of a name as fits; nothing where less than three letters would.
fn label(name: &str, fit: usize) -> String {
    if name.chars().count() <= fit {
        name.to_owned()
    } else if fit < 4 {
        String::new()
    } else {
        name.chars().take(fit - 2).chain("..".chars()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{colour, label};
    use std::collections::BTreeSet;
    use syncline_profile::Module;

    #[test]
    fn names_are_cut_to_their_room() {
        assert_eq!(label("heap_update", 20), "heap_update");
        assert_eq!(label("heap_update", 8), "heap_u..");
        assert_eq!(label("heap_update", 3), "");
    }

    #[test]
    fn every_module_has_a_colour_of_its_own_in_the_style_sheet() {
        let style = include_str!("style.css");
        let modules = Module::ALL.into_iter().map(Some).chain([None]);
        let colours: BTreeSet<String> = modules.map(colour).collect();
        assert_eq!(colours.len(), Module::ALL.len() + 1);
        for one in colours {
            assert!(style.contains(&format!(".{one} {{")), "{one}");
        }
    }
}
