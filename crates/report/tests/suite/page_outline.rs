//! The outline of a page, as golden files hold it: a line for each element or table row, indented by depth.
//! Below a drawing are its texts and its values under the pointer.
//!
//! | left out | because |
//! |---|---|
//! | styles, the embedded records, attributes `style` | they have tests of their own |
//! | coordinates, and shapes without a class | a moved mark would hide what has changed in a review |
//! | all but the first line of a `pre` | a terminal view has its own golden file |

use crate::html_tree::{Element, Node};

/// The outline of a page.
pub(crate) fn outline(html: &Element) -> String {
    let mut text = String::new();
    write(&mut text, html, 0);
    text
}

fn write(text: &mut String, element: &Element, depth: usize) {
    let mut line = label(element);
    let mut below: &[Node] = &[];
    match element.name.as_str() {
        "style" | "script" => {}
        "pre" => line += &format!(" {}", first_line(&element.text())),
        "svg" => line += &drawing(element, depth),
        "tr" => line += &cells(element),
        _ if element.elements().all(is_inline) => line += &spaced(&inline(element)),
        _ => below = &element.children,
    }
    *text += &format!("{:1$}{line}\n", "", depth * 2);
    for node in below {
        match node {
            Node::Element(element) => write(text, element, depth + 1),
            Node::Text(words) if words.trim().is_empty() => {}
            Node::Text(words) => *text += &format!("{:1$}{words:?}\n", "", depth * 2 + 2),
        }
    }
}

/// Name, id and classes, then the other attributes.
fn label(element: &Element) -> String {
    let mut label = element.name.clone();
    let with_sign = |sign: &str, name: &str| {
        let words = element.attribute(name).unwrap_or_default().split_whitespace();
        words.flat_map(|word| [sign, word]).collect::<String>()
    };
    label += &(with_sign("#", "id") + &with_sign(".", "class"));
    let is_drawing = element.name == "svg";
    let is_shown = |name: &str| match name {
        "id" | "class" | "style" => false,
        name => !is_drawing || name == "role" || name.starts_with("aria-"),
    };
    for (name, value) in element.attributes.iter().filter(|(name, _)| is_shown(name)) {
        label += &format!(" {name}={value:?}");
    }
    label
}

fn is_inline(element: &Element) -> bool {
    let name = element.name.as_str();
    matches!(name, "b" | "code" | "span") || (name == "svg" && element.elements().all(is_shape))
}

fn is_shape(element: &Element) -> bool {
    !matches!(element.name.as_str(), "text" | "title" | "g")
}

/// The text of an element; inline elements with a class are named.
fn inline(element: &Element) -> String {
    element
        .children
        .iter()
        .map(|node| match node {
            Node::Text(words) => words.clone(),
            Node::Element(inner) if inner.name == "svg" => format!("[{}]", label_of_mark(inner)),
            Node::Element(inner) => match inner.attribute("class") {
                Some(class) => format!("[{class}{}]", spaced(&inline(inner))),
                None => inline(inner),
            },
        })
        .collect()
}

/// The classes of a mark in a legend and of its shape.
fn label_of_mark(mark: &Element) -> String {
    mark.all()
        .into_iter()
        .filter_map(|element| element.attribute("class"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The cells of a row, each with its class.
fn cells(row: &Element) -> String {
    let cells = row.elements().map(|cell| {
        let label = label(cell);
        let name = label.strip_prefix("td").unwrap_or(&label);
        format!("{name}{}", spaced(&inline(cell))).trim_start().to_owned()
    });
    format!(": {}", cells.collect::<Vec<_>>().join(" | "))
}

/// What a drawing says: how many shapes have which class, its texts, and its values under the pointer.
fn drawing(svg: &Element, depth: usize) -> String {
    let all = svg.all();
    let mut counts: Vec<(String, usize)> = Vec::new();
    for shape in all.iter().skip(1).filter(|element| element.attribute("class").is_some()) {
        let shape = format!("{}.{}", shape.name, shape.attribute("class").unwrap_or_default());
        match counts.iter_mut().find(|(known, _)| *known == shape) {
            Some((_, count)) => *count += 1,
            None => counts.push((shape, 1)),
        }
    }
    let mut lines = String::new();
    for (shape, count) in counts {
        lines += &format!(" {count} x {shape}");
    }
    let texts = |name: &str| -> Vec<String> {
        svg.named(name).into_iter().map(|text| text.text().trim().to_owned()).collect()
    };
    let indentation = " ".repeat(depth * 2 + 2);
    let written = texts("text");
    if !written.is_empty() {
        lines += &format!("\n{indentation}text {}", written.join(" | "));
    }
    for title in texts("title") {
        lines += &format!("\n{indentation}title {title}");
    }
    lines
}

/// The text itself if it is one line, otherwise its first line and how many there are.
fn first_line(text: &str) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    match text.lines().count() {
        1 => first.trim().to_owned(),
        lines => format!("of {lines} lines: {}", first.trim()),
    }
}

fn spaced(text: &str) -> String {
    if text.trim().is_empty() { String::new() } else { format!(" {}", text.trim()) }
}
