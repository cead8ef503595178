//! A tree of supervisors, as text and as a graph.

use super::child::Restart;
use super::table::Entry;
use super::tree::Tree;
use crate::pid::{AsPid, Pid};
use crate::reason::Reason;
use std::fmt::Write;
use std::sync::Arc;

/// What a supervisor says of a child. Example: [`Strategy`](crate::Strategy).
#[derive(Clone, Debug)]
pub struct ChildInfo {
    /// Its name there.
    pub id: Arc<str>,
    /// The actor; `None` while it does not run.
    pub pid: Option<Pid>,
    /// After which ends it is started anew.
    pub restart: Restart,
    /// How often it was started anew.
    pub restarts: u64,
    /// Why the last incarnation has ended, or could not be started.
    pub last: Option<Reason>,
    /// Its own tree, of a supervisor.
    pub tree: Option<Tree>,
}

impl ChildInfo {
    pub(super) fn of(entry: &Entry) -> ChildInfo {
        ChildInfo {
            id: entry.child.id.clone(),
            pid: entry.running.as_ref().map(|started| started.pid.clone()),
            restart: entry.child.restart,
            restarts: entry.restarts,
            last: entry.last.clone(),
            tree: entry.running.as_ref().and_then(|started| started.tree.clone()),
        }
    }

    fn state(&self) -> String {
        let mut state = match (&self.pid, &self.last) {
            (Some(pid), _) => format!("#{}, {} queued", pid.id(), pid.queued()),
            (None, Some(reason)) => format!("ended: {reason}"),
            (None, None) => "not started".into(),
        };
        if self.restarts > 0 {
            _ = write!(state, ", {}", restarts(self.restarts));
        }
        state
    }
}

/// So many restarts, in words.
pub(super) fn restarts(n: u64) -> String {
    format!("{n} restart{}", if n == 1 { "" } else { "s" })
}

impl Tree {
    /// The tree as text: a line for each child, with its actor, its queue and its restarts.
    ///
    /// # Blocking
    /// Until each supervisor of the tree has answered.
    #[track_caller]
    pub fn to_text(&self) -> String {
        let ended = if self.pid().is_alive() { "" } else { ": has ended" };
        let mut text = format!("supervisor #{}{ended}\n", self.pid().id());
        self.write_text(1, &mut text);
        text
    }

    #[track_caller]
    fn write_text(&self, depth: usize, text: &mut String) {
        for child in self.children() {
            let kind = if child.tree.is_some() { " (supervisor)" } else { "" };
            _ = writeln!(text, "{:indent$}{}{kind}: {}", "", child.id, child.state(), indent = 2 * depth);
            if let Some(tree) = &child.tree {
                tree.write_text(depth + 1, text);
            }
        }
    }

    /// The tree in the language of Graphviz: `dot -Tsvg`. Supervisors are boxes; what does not run
    /// is dashed.
    ///
    /// # Blocking
    /// As [`to_text`](Self::to_text).
    #[track_caller]
    pub fn to_dot(&self) -> String {
        let mut dot = String::from("digraph supervisors {\n  node [fontname=\"sans-serif\"];\n");
        let root = format!("a{}", self.pid().id());
        _ = writeln!(dot, "  {root} [shape=box, label=\"supervisor\\n#{}\"];", self.pid().id());
        self.write_dot(&root, &mut dot);
        dot.push_str("}\n");
        dot
    }

    #[track_caller]
    fn write_dot(&self, above: &str, dot: &mut String) {
        for (n, child) in self.children().into_iter().enumerate() {
            let node = child.pid.as_ref().map_or_else(|| format!("{above}_{n}"), |pid| format!("a{}", pid.id()));
            let shape = if child.tree.is_some() { "box" } else { "ellipse" };
            let style = if child.pid.is_some() { "solid" } else { "dashed" };
            let label = format!("{}\n{}", child.id, child.state())
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            _ = writeln!(dot, "  {node} [shape={shape}, style={style}, label=\"{label}\"];\n  {above} -> {node};");
            if let Some(tree) = &child.tree {
                tree.write_dot(&node, dot);
            }
        }
    }
}
