//! Reads a page into a tree of elements, and refuses what is not well formed.
//!
//! A browser repairs an element that is never closed; this reader panics, with the path to it.

use html5gum::{DefaultEmitter, HtmlString, StartTag, Token, Tokenizer};

/// The elements of HTML that have neither content nor an end tag.
const VOID: [&str; 5] = ["br", "hr", "img", "link", "meta"];

/// A part of a page.
pub(crate) enum Node {
    Text(String),
    Element(Element),
}

/// An element with its attributes, in the order of their names.
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) children: Vec<Node>,
}

impl Element {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn elements(&self) -> impl Iterator<Item = &Element> {
        self.children.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// The element and everything below it.
    pub(crate) fn all(&self) -> Vec<&Element> {
        let mut all = vec![self];
        all.extend(self.elements().flat_map(Element::all));
        all
    }

    /// Everything below it with that name.
    pub(crate) fn named(&self, name: &str) -> Vec<&Element> {
        self.all().into_iter().filter(|element| element.name == name).collect()
    }

    /// Its whole text, unescaped.
    pub(crate) fn text(&self) -> String {
        self.children
            .iter()
            .map(|node| match node {
                Node::Text(text) => text.clone(),
                Node::Element(element) => element.text(),
            })
            .collect()
    }
}

/// The element `html` of a page.
pub(crate) fn parse(page: &str) -> Element {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut doctypes = 0;
    // Open elements, the innermost last; the first one holds the page.
    let mut open = vec![Element { name: String::new(), attributes: vec![], children: vec![] }];
    for token in Tokenizer::new_with_emitter(page, emitter) {
        let Ok(token) = token;
        match token {
            Token::Doctype(_) => doctypes += 1,
            Token::String(text) => append(&mut open, Node::Text(utf8(&text))),
            Token::StartTag(tag) => {
                let is_drawing = tag.name == b"svg" || open.iter().any(|one| one.name == "svg");
                let ends_itself = if is_drawing {
                    tag.self_closing
                } else {
                    assert!(
                        !tag.self_closing,
                        "{} > <{}/> is not closed",
                        path(&open),
                        utf8(&tag.name)
                    );
                    VOID.contains(&utf8(&tag.name).as_str())
                };
                let element = element(&tag);
                if ends_itself {
                    append(&mut open, Node::Element(element));
                } else {
                    open.push(element);
                }
            }
            Token::EndTag(tag) => {
                let at = path(&open);
                let closed = open.pop().unwrap();
                assert_eq!(closed.name, utf8(&tag.name), "a wrong end tag at {at}");
                append(&mut open, Node::Element(closed));
            }
            Token::Comment(text) => panic!("{} has the comment {text:?}", path(&open)),
            Token::Error(error) => panic!("{} is malformed: {}", path(&open), *error),
        }
    }
    assert_eq!((doctypes, open.len()), (1, 1), "never closed: {}", path(&open));
    let page = open.pop().unwrap();
    assert_eq!(page.children.len(), 1, "something is outside of the element html");
    let Some(Node::Element(html)) = page.children.into_iter().next() else {
        panic!("the page has no element");
    };
    assert_eq!(html.name, "html");
    html
}

fn append(open: &mut [Element], node: Node) {
    open.last_mut().unwrap().children.push(node);
}

fn element(tag: &StartTag<()>) -> Element {
    let attributes = tag.attributes.iter().map(|(name, value)| (utf8(name), utf8(value)));
    Element { name: utf8(&tag.name), attributes: attributes.collect(), children: Vec::new() }
}

/// The names of the open elements, for messages.
fn path(open: &[Element]) -> String {
    let names: Vec<&str> = open.iter().skip(1).map(|element| element.name.as_str()).collect();
    names.join(" > ")
}

fn utf8(text: &HtmlString) -> String {
    String::from_utf8(text.0.clone()).unwrap()
}

#[test]
#[should_panic(expected = "a wrong end tag at html > p > b")]
fn an_element_that_is_not_closed_is_refused() {
    parse("<!DOCTYPE html><html><p><b>text</p></html>");
}

#[test]
#[should_panic(expected = "never closed: html")]
fn a_truncated_page_is_refused() {
    parse("<!DOCTYPE html><html><p>text</p>");
}
