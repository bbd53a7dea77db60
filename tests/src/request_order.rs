//! The audit log of a real server: who asked for what and when, and whether that was in order.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use lockstep_graph::{Graph, NodeId, Role, Task};
use serde_json::Value;

/// How the engine names itself.
const OURS: &str = "lockstep/";

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    /// As whom.
    pub user: String,
    /// Who asked.
    pub agent: String,
    /// What was asked: `get`, `list`, `watch`, `create`, `patch`, …
    pub verb: String,
    /// The object.
    pub object: Place,
    /// The part of the object, such as `status`; empty for all of it.
    pub subresource: String,
    /// Path and query.
    pub uri: String,
    /// The HTTP status code.
    pub code: u64,
    /// When it came; texts of these times sort by time.
    pub received: String,
    /// When it was answered.
    pub answered: String,
}

/// An object as addresses name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The API group.
    pub group: String,
    /// The kind, in the plural.
    pub plural: String,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// Everything in the log from a place on, and where it ends now.
///
/// # Panics
/// When the log cannot be read.
pub fn read(log: &Path, from: u64) -> (Vec<Request>, u64) {
    let mut file = File::open(log).expect("the audit log");
    file.seek(SeekFrom::Start(from)).expect("a place in the log");
    let mut text = String::new();
    file.read_to_string(&mut text).expect("a log of texts");
    // The last line may be half written.
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let requests = text[..whole].lines().filter_map(|line| Request::of(&serde_json::from_str(line).ok()?));
    (requests.collect(), from + whole as u64)
}

// === impl Request ===

impl Request {
    fn of(event: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if event["stage"] != "ResponseComplete" {
            return None;
        }
        let object = &event["objectRef"];
        Some(Self {
            user: text(&event["user"]["username"]),
            agent: text(&event["userAgent"]),
            verb: text(&event["verb"]),
            object: Place {
                group: text(&object["apiGroup"]),
                plural: text(&object["resource"]),
                namespace: text(&object["namespace"]),
                name: text(&object["name"]),
            },
            subresource: text(&object["subresource"]),
            uri: text(&event["requestURI"]),
            code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
            received: text(&event["requestReceivedTimestamp"]),
            answered: text(&event["stageTimestamp"]),
        })
    }

    /// Whether the engine sent it.
    pub fn is_ours(&self) -> bool {
        self.agent.starts_with(OURS)
    }

    /// Whether it changes something, if the server lets it.
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }

    /// Whether it reads one object.
    pub fn is_read_of_one(&self) -> bool {
        self.verb == "get" && !self.object.name.is_empty()
    }
}

/// What an order that was looked at had, and what was wrong with it.
#[derive(Debug, Default)]
pub struct Order {
    /// Tasks whose object was written.
    pub written: usize,
    /// Gates and barriers that were reached.
    pub gates: usize,
    /// Writes that came too early.
    pub violations: Vec<String>,
}

/// Looks whether the writes of a run kept the order of a graph.
///
/// No task may be sent before every task before it was answered, nor before the operator of a gate (the controller of
/// a Job) before it has reported at least once since the run began.
pub fn order(graph: &Graph, place_of: impl Fn(&Task) -> Option<Place>, requests: &[Request]) -> Order {
    let mut first: BTreeMap<&Place, &Request> = BTreeMap::new();
    let mut reported: BTreeMap<&Place, &Request> = BTreeMap::new();
    for request in requests.iter().filter(|it| it.is_write() && it.code < 300) {
        let of = match (request.is_ours(), request.subresource.as_str()) {
            (true, "") => &mut first,
            (false, "status") => &mut reported,
            _ => continue,
        };
        let known = of.entry(&request.object).or_insert(request);
        if request.received < known.received {
            *known = request;
        }
    }
    let mut order = Order::default();
    // By node: what was the last to happen in it and before it, and when.
    let mut done: BTreeMap<NodeId, (String, String)> = BTreeMap::new();
    for node in sorted(graph) {
        let before = graph.nodes[node].before.iter().filter_map(|before| done.get(before));
        let mut last = before.max().cloned().unwrap_or_default();
        for task in graph.nodes[node].tasks.iter().map(|task| &graph.tasks[*task]) {
            let Some(place) = place_of(task) else { continue };
            if let Some(write) = first.get(&place) {
                order.written += 1;
                if write.received < last.0 {
                    let (at, what) = &last;
                    order
                        .violations
                        .push(format!("{task} was sent at {}, {what} only at {at}", write.received));
                }
                last = last.max((write.answered.clone(), format!("{task} was answered")));
            }
            if task.role != Role::Plain
                && let Some(report) = reported.get(&place)
            {
                order.gates += 1;
                last = last.max((report.received.clone(), format!("{task} was reported on")));
            }
        }
        done.insert(node, last);
    }
    order
}

/// The nodes, each after those before it.
fn sorted(graph: &Graph) -> Vec<NodeId> {
    let mut open: Vec<usize> = graph.nodes.iter().map(|node| node.before.len()).collect();
    let mut ready: Vec<NodeId> = (0..open.len()).filter(|node| open[*node] == 0).collect();
    let mut sorted = Vec::new();
    while let Some(node) = ready.pop() {
        sorted.push(node);
        for after in &graph.nodes[node].after {
            open[*after] -= 1;
            if open[*after] == 0 {
                ready.push(*after);
            }
        }
    }
    sorted
}
