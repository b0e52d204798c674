//! Flame graph of processor time: one rectangle per function, as wide as the time of the function and its
//! callees, callers below callees, coloured by module.
//!
//! 1. A frame that is charged to its caller has its caller's colour.
//! 2. Rectangles too narrow to see are left out and their space stays blank, so that all widths are true.
//! 3. Names are cut to their rectangles; the title that shows under the pointer has the whole name, module
//!    and share.

use crate::cost::{CostThreads, ThreadFilter, function_and_object};
use maud::{Markup, html};
use std::collections::BTreeMap;
use syncline_profile::Module;
use syncline_profile::{ChargedProfile, Metric, Space, View};
use syncline_record::Stacks;
use syncline_record::class_word;
use syncline_record::units;

/// The width of the page's text, so that font sizes are true.
const WIDTH: f64 = 932.0;
const ROW: f64 = 18.0;
/// The width of a letter in units of the drawing, rounded up.
const LETTER: f64 = 6.6;
/// The least width of a rectangle that is drawn.
const NARROWEST: f64 = 0.7;
/// The most frames of a stack that are drawn.
const HIGHEST: usize = 120;

/// A function with one chain of callers.
#[derive(Default)]
struct Node {
    weight: u64,
    samples: u64,
    children: BTreeMap<Key, Node>,
}

/// The identity of a function.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    function: String,
    object: String,
    module: Option<Module>,
    kernel: bool,
}

/// The rectangle of a node.
struct FramePosition<'n> {
    key: &'n Key,
    node: &'n Node,
    left: f64,
    width: f64,
    row: usize,
}

/// The flame graph with its legend; empty without samples of processor time.
pub(super) fn figure(stacks: &Stacks) -> Markup {
    let (root, threads) = tree(stacks);
    if root.weight == 0 {
        return html! {};
    }
    let mut frames = Vec::new();
    lay_out(&root, 0.0, WIDTH, 0, &mut frames);
    let rows = frames.iter().map(|frame| frame.row + 1).max().unwrap_or(1);
    let height = rows as f64 * ROW;
    let modules = Module::ALL.into_iter().map(Some).chain([None]);
    let is_drawn = |module: &Option<Module>| frames.iter().any(|frame| frame.key.module == *module);
    html! {
        h3 { "Processor time by stack" }
        figure {
            ul.legend { @for module in modules.filter(is_drawn) {
                li { span class={ "swatch " (colour(module)) } {} (heading(module)) }
            } li { span.swatch.kernel {} "kernel" } }
            div.scroll tabindex="0" {
                svg.flame viewBox={ "0 0 " (WIDTH) " " (height) } role="img"
                    aria-label="Functions by processor time, callers below what they call" {
                    @for frame in &frames { (rectangle(frame, &root, height)) }
                }
            }
            figcaption { "Each rectangle is as wide as the processor time of its function and all that it "
                "calls; callers are below. " (threads) "; " (root.samples) " samples. "
                "Point at one for its name." }
        }
    }
}

/// The class of a module's colour in the style sheet.
pub(super) fn colour(module: Option<Module>) -> String {
    let number = module.and_then(|module| Module::ALL.iter().position(|one| *one == module));
    number.map_or_else(|| "m-unknown".to_owned(), |number| format!("m{number}"))
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
        if !cpu || !filter.contains(&sample) {
            continue;
        }
        let class = class_word(sample.class);
        if !classes.contains(&class) {
            classes.push(class);
        }
        root.weight += sample.weight;
        root.samples += sample.count;
        let mut node = &mut root;
        let mut owner = None;
        for (frame, module) in sample.frames().rev().take(HIGHEST) {
            owner = module.or(owner);
            let (function, object) = function_and_object(frame);
            let key = Key { function, object, module: owner, kernel: frame.space == Space::Kernel };
            node = node.children.entry(key).or_default();
            node.weight += sample.weight;
            node.samples += sample.count;
        }
    }
    (root, format!("Threads of class {}", classes.join(", ")))
}

/// Adds the rectangles of a node's callees, and of theirs.
fn lay_out<'n>(
    node: &'n Node,
    left: f64,
    width: f64,
    row: usize,
    frames: &mut Vec<FramePosition<'n>>,
) {
    let mut left = left;
    for (key, child) in &node.children {
        let own = child.weight as f64 / node.weight.max(1) as f64 * width;
        if own >= NARROWEST {
            frames.push(FramePosition { key, node: child, left, width: own, row });
            lay_out(child, left, own, row + 1, frames);
        }
        left += own;
    }
}

fn rectangle(frame: &FramePosition<'_>, root: &Node, height: f64) -> Markup {
    let top = height - (frame.row + 1) as f64 * ROW;
    let share = units::percent(frame.node.weight as f64 / root.weight as f64);
    let fit = ((frame.width - 6.0) / LETTER).max(0.0) as usize;
    let label = label(&frame.key.function, fit);
    let number = |figure: f64| format!("{figure:.1}");
    let kernel = if frame.key.kernel { " kernel" } else { "" };
    html! {
        g {
            title { (frame.key.function) " (" (frame.key.object) "), " (heading(frame.key.module)) ": "
                (share) ", " (frame.node.samples) " samples" }
            rect class={ (colour(frame.key.module)) (kernel) } x=(number(frame.left)) y=(number(top))
                width=(number((frame.width - 0.5).max(0.2))) height=(number(ROW - 1.0)) {}
            @if !label.is_empty() {
                text x=(number(frame.left + 3.0)) y=(number(top + ROW - 5.5)) { (label) }
            }
        }
    }
}

/// A name cut to `fit` letters; empty if fewer than two letters and the dots would fit.
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
    fn names_are_cut_to_their_width() {
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
