//! A graph in GraphViz's language.

use std::fmt::Write as _;

use crate::graph::Graph;

/// Writes the graph with one box per node and one arrow per edge.
pub fn dot(graph: &Graph) -> String {
    let mut out = String::from("digraph tasks {\n  labelloc=t;\n  rankdir=TB;\n");
    for (id, node) in graph.nodes.iter().enumerate() {
        let label = if node.tasks.is_empty() {
            "no manifests".to_owned()
        } else {
            let texts = node.tasks.iter().map(|task| escaped(&graph.tasks[*task].to_string()));
            texts.collect::<Vec<_>>().join("\\n")
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {id} [ label=\"{label}\" shape=\"box\" ];");
    }
    for (id, node) in graph.nodes.iter().enumerate() {
        for after in &node.after {
            let _ = writeln!(out, "  {id} -> {after};");
        }
    }
    out.push_str("}\n");
    out
}

/// Quotes are left out, as in the reference's drawings; a backslash could end the label early.
fn escaped(text: &str) -> String {
    text.replace('"', "").replace('\\', "\\\\").replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::{InstallOrder, Mode, build};
    use crate::task::fixture::tasks;

    #[test]
    fn nodes_are_boxes_and_edges_arrows() {
        let graph = build(tasks(&["0000_10_a_0", "0000_10_b_0\"\\"]), Mode::Updating, InstallOrder::Flat, 0);
        assert_eq!(
            dot(&graph),
            "digraph tasks {\n  labelloc=t;\n  rankdir=TB;\n  0 [ label=\"no manifests\" shape=\"box\" ];\n  1 [ \
             label=\"pod 0000_10_a_0 (0 of 0)\" shape=\"box\" ];\n  2 [ label=\"pod 0000_10_b_0\\\\ (0 of 0)\" \
             shape=\"box\" ];\n  0 -> 1;\n  0 -> 2;\n}\n"
        );
    }
}
