//! A graph for Graphviz.

use std::fmt::Write;

/// From one node to another.
pub(crate) struct Arrow {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// What stands beside it; with a label the line is dashed.
    pub(crate) label: Option<String>,
}

/// The text of a graph of nodes with these names, each with its shape.
pub(crate) fn dot<'a>(
    nodes: impl IntoIterator<Item = (&'a str, &'static str)>,
    arrows: impl IntoIterator<Item = Arrow>,
) -> String {
    let mut text = String::from("digraph {\n");
    // (Nothing fails that writes into a string.)
    for (number, (name, shape)) in nodes.into_iter().enumerate() {
        _ = writeln!(text, "    {number} [label=\"{}\", shape={shape}];", escaped(name));
    }
    for Arrow { from, to, label } in arrows {
        _ = match label {
            None => writeln!(text, "    {from} -> {to};"),
            Some(label) => writeln!(text, "    {from} -> {to} [style=dashed, label=\"{}\"];", escaped(&label)),
        };
    }
    text.push_str("}\n");
    text
}

/// As the inside of a string. (Where a zero stands, Graphviz's text ends.)
/// (Graphviz reads entities as HTML has them.)
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('\0', "\u{fffd}").replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
