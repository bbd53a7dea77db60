//! Who reads a watch and keeps what it tells.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use futures::stream::BoxStream;
use lockstep_apply::watch::Seen;
use serde_json::{Value, json};

/// An object with a number that grows with every change.
pub(crate) fn map(name: &str, number: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
        "data": {"n": number.to_string()}})
}

/// Name and number of such an object.
pub(crate) fn number(object: &Value) -> (String, u64) {
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    (name, object["data"]["n"].as_str().unwrap().parse().unwrap())
}

/// What somebody knows who does as a watch says.
#[derive(Default)]
pub(crate) struct Reader {
    /// Every object and every end of one, as it was told.
    pub(crate) story: Vec<String>,
    /// The objects that exist, with their numbers.
    pub(crate) known: BTreeMap<String, u64>,
    /// How often everything was given.
    pub(crate) restarts: usize,
    given: BTreeSet<String>,
}

// === impl Reader ===

impl Reader {
    /// Reads until the object `end` is known and everything was given.
    pub(crate) async fn read_to_end(&mut self, mut stream: BoxStream<'static, Seen>) {
        let mut is_synced = false;
        while !(is_synced && self.known.contains_key("end")) {
            match stream.next().await.unwrap() {
                Seen::Restarted => {
                    is_synced = false;
                    self.restarts += 1;
                    self.given.clear();
                }
                Seen::Object(object) => {
                    assert_eq!((&object["kind"], &object["apiVersion"]), (&json!("ConfigMap"), &json!("v1")));
                    let (name, number) = number(&object);
                    self.story.push(format!("{name}={number}"));
                    self.given.insert(name.clone());
                    self.known.insert(name, number);
                }
                Seen::Gone(object) => {
                    let (name, _) = number(&object);
                    self.story.push(format!("-{name}"));
                    self.known.remove(&name);
                }
                Seen::Synced { .. } => {
                    is_synced = true;
                    let given = std::mem::take(&mut self.given);
                    self.known.retain(|name, _| given.contains(name));
                }
                Seen::Resumed | Seen::Trouble { .. } => {}
            }
        }
    }

    /// Whether no object was ever told in a state older than one told before.
    pub(crate) fn is_in_order(&self) -> bool {
        let mut last: BTreeMap<&str, u64> = BTreeMap::new();
        self.story.iter().filter_map(|line| line.split_once('=')).all(|(name, number)| {
            let number = number.parse().unwrap();
            last.insert(name, number).is_none_or(|before| before <= number)
        })
    }
}
