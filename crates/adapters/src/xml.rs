//! Reads XML documents as a stream of elements. The adapters interpret the elements.
//!
//! Entities other than those of XML itself are not expanded, so that a small document cannot grow.

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};
use tidemark_api::excerpt;

use crate::{Failure, Position};

/// Maximum depth of nested elements.
const DEPTH: usize = 64;

/// Maximum number of attributes of an element.
const MAX_ATTRIBUTES: usize = 256;

/// A part of a document.
pub(crate) enum Part<'a> {
    /// Start of an element.
    Start(&'a Element),
    /// End of an element.
    End(&'a Element),
}

/// An element with its attributes.
pub(crate) struct Element {
    /// Name without the prefix of its namespace.
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
    /// Line number, starting at one.
    line: usize,
}

impl Element {
    /// Returns an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the names of the attributes in the order of the document.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = &str> {
        self.attributes.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the position of the element.
    pub(crate) fn position(&self) -> Position {
        Position::Line(self.line)
    }

    /// Returns a numeric attribute, which must be a finite number.
    pub(crate) fn require_number(&self, name: &str) -> Result<f64, Failure> {
        let value = self.attribute(name).unwrap_or_default();
        crate::text::decimal(value).ok_or_else(|| {
            Failure::invalid(self.position(), format!("a number as attribute `{name}`"), value)
        })
    }
}

/// Reads a document whose root element has one of these names; a document with another root is from another tool. Log lines
/// before the document are skipped. The function gets each part and the elements around it, the root first.
pub(crate) fn read(
    text: &str,
    roots: &[&str],
    mut visit: impl FnMut(Part<'_>, &[Element]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let expected = || Failure::unrecognized(format!("an XML document `<{}>`", roots.join(">` or `<")));
    let start = text.find('<').ok_or_else(expected)?;
    let skipped_lines = text[..start].matches('\n').count();
    let document = &text[start..];
    let mut reader = Reader::from_str(document);
    let mut lines = LineCounter { text: document, offset: 0, line: skipped_lines + 1 };
    let mut open: Vec<Element> = Vec::new();
    let mut seen = false;
    loop {
        let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let event = reader.read_event();
        let line = lines.at(at);
        let broken = |reason: String| {
            if seen {
                Failure::missing(Position::Line(line), format!("valid XML ({})", excerpt::of_reason(&reason)))
            } else {
                expected()
            }
        };
        let (element, is_empty) = match event.map_err(|error| broken(error.to_string()))? {
            Event::Start(start) => (element(&start, line).map_err(broken)?, false),
            Event::Empty(start) => (element(&start, line).map_err(broken)?, true),
            Event::End(_) => {
                if let Some(element) = open.pop() {
                    visit(Part::End(&element), &open)?;
                }
                continue;
            }
            Event::Eof => break,
            _ => continue,
        };
        if open.is_empty() && !roots.contains(&element.name.as_str()) {
            return Err(expected());
        }
        if open.len() >= DEPTH {
            return Err(broken(format!("more than {DEPTH} nested elements")));
        }
        seen = true;
        visit(Part::Start(&element), &open)?;
        if is_empty {
            visit(Part::End(&element), &open)?;
        } else {
            open.push(element);
        }
    }
    match open.last() {
        Some(element) => Err(Failure::missing(
            element.position(),
            format!("the end of the element `{}`", excerpt::of_text(&element.name)),
        )),
        None if seen => Ok(()),
        None => Err(expected()),
    }
}

fn element(start: &BytesStart<'_>, line: usize) -> Result<Element, String> {
    let name = String::from_utf8_lossy(start.local_name().as_ref()).into_owned();
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        // The parser compares each name with all others.
        if attributes.len() >= MAX_ATTRIBUTES {
            return Err(format!("more than {MAX_ATTRIBUTES} attributes"));
        }
        let attribute = attribute.map_err(|error| error.to_string())?;
        let key = String::from_utf8_lossy(attribute.key.local_name().as_ref()).into_owned();
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|error| error.to_string())?;
        attributes.push((key, value.into_owned()));
    }
    Ok(Element { name, attributes, line })
}

/// Counts lines up to offsets that only grow, so that a document is scanned once.
struct LineCounter<'a> {
    text: &'a str,
    offset: usize,
    line: usize,
}

impl LineCounter<'_> {
    fn at(&mut self, offset: usize) -> usize {
        let offset = offset.min(self.text.len());
        if offset > self.offset {
            self.line +=
                self.text.as_bytes()[self.offset..offset].iter().filter(|byte| **byte == b'\n').count();
            self.offset = offset;
        }
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> String {
        let mut lines = Vec::new();
        let read = read(text, &["a"], |part, around| {
            let path: Vec<_> = around.iter().map(|element| element.name.as_str()).collect();
            let path = path.join("/");
            lines.push(match part {
                Part::Start(element) => format!("{path}/{} {:?}", element.name, element.attribute("x")),
                Part::End(_) => return Ok(()),
            });
            Ok(())
        });
        match read {
            Ok(()) => lines.join("\n"),
            Err(Failure::Unrecognized(reason)) => format!("unrecognized: {}", reason.expected),
            Err(failure) => failure.into_error(tidemark_api::Adapter::Json).to_string(),
        }
    }

    #[test]
    fn a_document_is_a_stream_of_elements() {
        insta::assert_snapshot!(parts("log\n<?xml version=\"1.0\"?>\n<a><n:b x='1 &lt; 2'>text</n:b><c/></a>"), @r#"
        /a None
        a/b Some("1 < 2")
        a/c None
        "#);
    }

    #[test]
    fn broken_documents_are_errors() {
        let deep = format!("{}{}", "<a>".repeat(100), "</a>".repeat(100));
        let bomb = "<!DOCTYPE a [<!ENTITY e \"xx\">]>\n<a x=\"&e;\"/>";
        let all = ["", "<b/>", "<a>\n<b></a>", "<a>\n<b>", &deep, bomb].map(parts);
        insta::assert_snapshot!(all.join("\n"), @"
        unrecognized: an XML document `<a>`
        unrecognized: an XML document `<a>`
        The adapter `json` cannot read the output at line 2: expected valid XML (ill-formed document: expected `</b>`, but `</a>` was found).
        The adapter `json` cannot read the output at line 2: expected the end of the element `b`.
        The adapter `json` cannot read the output at line 1: expected valid XML (more than 64 nested elements).
        unrecognized: an XML document `<a>`
        ");
    }
}
