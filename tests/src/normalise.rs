//! What two API servers may give differently for the same requests, taken out of their answers.
//!
//! Values that a server makes up are masked, not dropped: whether they are there at all is still compared. Masked are
//!
//! * `uid` (anywhere, also inside texts and keys: the same uid gets the same number within one trace),
//!   `resourceVersion`, `creationTimestamp`, `generation`, `deletionTimestamp` and `continue` of a metadata,
//! * `time` of a metadata's managed fields, which also decides the order of their entries: they are sorted;
//!   `lastTransitionTime` and `lastUpdateTime` of the entries of `conditions`,
//! * `status` of workloads, which is dropped,
//! * the cluster addresses and node ports of Services, as far as the server chooses them,
//! * names that a case makes up to be alone on its server, and the random end of a generated name,
//! * version numbers inside the two messages that name one, and repeated bookmarks of a watch.
//!
//! Nothing else.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Stands for a value that was there.
pub const PRESENT: &str = "present";
/// Kinds whose status is written by controllers at their own pace.
const WORKLOADS: [&str; 8] = [
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "Pod",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
];
/// Fields of a metadata that each server makes up.
const OF_METADATA: [&str; 5] =
    ["continue", "creationTimestamp", "deletionTimestamp", "generation", "resourceVersion"];
/// Times of an entry of managed fields.
const OF_MANAGED_FIELDS: [&str; 1] = ["time"];
/// Times of a condition.
const OF_CONDITION: [&str; 2] = ["lastTransitionTime", "lastUpdateTime"];
/// Messages with a version of the store in them; what follows is compared without its numbers.
const NUMBERED: [&str; 2] = ["Too large resource version", "too old resource version"];

/// Makes the answers of one trace comparable with those of another; remembers uids across them.
#[derive(Clone, Debug, Default)]
pub struct Normaliser {
    names: Vec<(String, String)>,
    uids: BTreeMap<String, String>,
}

/// One place where two values are not equal.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where, as `.metadata.labels["a.b"]` or `.items[2].kind`.
    pub path: String,
    /// The first value; absent is `None`.
    pub left: Option<Value>,
    /// The second value.
    pub right: Option<Value>,
}

// === impl Normaliser ===

impl Normaliser {
    /// A normaliser that replaces these texts wherever they occur, in this order.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = (S, S)>) -> Self {
        let names = names.into_iter().map(|(from, to)| (from.into(), to.into())).collect();
        Self { names, uids: BTreeMap::new() }
    }

    /// An answer, a list, an event or any other value without what may differ.
    pub fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(map) => self.object(map),
            Value::Array(items) => {
                let mut items: Vec<Value> = items.iter().map(|item| self.value(item)).collect();
                items.dedup_by(|next, last| is_bookmark(next) && is_bookmark(last));
                Value::Array(items)
            }
            Value::String(text) => self.text(text).into(),
            other => other.clone(),
        }
    }

    /// A text without made-up names, uids and version numbers.
    pub fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (from, to) in &self.names {
            text = text.replace(from.as_str(), to);
        }
        text = self.number_uids(&text);
        match NUMBERED.iter().find_map(|prefix| text.find(prefix)) {
            Some(start) => {
                let (before, after) = text.split_at(start);
                format!("{before}{}", without_numbers(after))
            }
            None => text,
        }
    }

    fn object(&mut self, map: &Map<String, Value>) -> Value {
        self.object_of("", map)
    }

    /// Items of a list do not say their kind; the list does.
    fn object_of(&mut self, kind: &str, map: &Map<String, Value>) -> Value {
        let kind = map.get("kind").and_then(Value::as_str).unwrap_or(kind);
        let mut result = Map::new();
        for (key, value) in map {
            let value = match (key.as_str(), value) {
                ("status", Value::Object(_)) if WORKLOADS.contains(&kind) => continue,
                ("metadata", Value::Object(metadata)) => self.metadata(metadata),
                ("conditions", Value::Array(conditions)) => {
                    let mut conditions = conditions.clone();
                    mask_times(&mut conditions, &OF_CONDITION);
                    self.value(&Value::Array(conditions))
                }
                ("items", Value::Array(items)) if kind.ends_with("List") => {
                    self.items(kind.trim_end_matches("List"), items)
                }
                ("spec", Value::Object(spec)) if kind == "Service" => self.value(&service(spec)),
                (_, value) => self.value(value),
            };
            result.insert(self.text(key), value);
        }
        Value::Object(result)
    }

    fn items(&mut self, kind: &str, items: &[Value]) -> Value {
        let item = |item: &Value| match item {
            Value::Object(map) => self.object_of(kind, map),
            other => self.value(other),
        };
        Value::Array(items.iter().map(item).collect())
    }

    fn metadata(&mut self, metadata: &Map<String, Value>) -> Value {
        let mut metadata = metadata.clone();
        for field in OF_METADATA {
            if let Some(value) = metadata.get_mut(field)
                && !value.is_null()
                && value != ""
            {
                *value = PRESENT.into();
            }
        }
        if let (Some(Value::String(prefix)), Some(Value::String(name))) =
            (metadata.get("generateName"), metadata.get("name"))
            && name.starts_with(prefix.as_str())
        {
            let generated = format!("{prefix}{{generated}}");
            metadata.insert("name".into(), generated.into());
        }
        if let Some(Value::Array(entries)) = metadata.get_mut("managedFields") {
            let key = |entry: &Value| {
                ["operation", "subresource", "apiVersion", "manager"]
                    .map(|field| entry[field].as_str().unwrap_or_default().to_owned())
            };
            entries.sort_by_key(key);
            mask_times(entries, &OF_MANAGED_FIELDS);
        }
        self.object(&metadata)
    }

    /// Each uid becomes `uid-1`, `uid-2`, … in the order of their first appearance.
    fn number_uids(&mut self, text: &str) -> String {
        let mut result = String::new();
        let mut rest = text;
        while let Some(start) = find_uid(rest) {
            let (before, from) = rest.split_at(start);
            let (uid, after) = from.split_at(UID.len());
            let next = self.uids.len() + 1;
            let number = self.uids.entry(uid.to_owned()).or_insert_with(|| format!("uid-{next}"));
            result.push_str(before);
            result.push_str(number);
            rest = after;
        }
        result.push_str(rest);
        result
    }
}

/// Masks these fields of each entry, where they are texts.
fn mask_times(entries: &mut [Value], fields: &[&str]) {
    for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
        for field in fields {
            if let Some(time @ Value::String(_)) = entry.get_mut(*field) {
                *time = PRESENT.into();
            }
        }
    }
}

/// The shape of a uid: `x` is a hex digit.
const UID: &str = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

fn find_uid(text: &str) -> Option<usize> {
    let fits = |window: &[u8]| {
        window.iter().zip(UID.bytes()).all(|(byte, shape)| match shape {
            b'x' => byte.is_ascii_hexdigit(),
            _ => *byte == b'-',
        })
    };
    text.as_bytes().windows(UID.len()).position(fits)
}

/// `1 (2345)` becomes `N (N)`.
fn without_numbers(text: &str) -> String {
    let mut result = String::new();
    for character in text.chars() {
        if !character.is_ascii_digit() {
            result.push(character);
        } else if !result.ends_with('N') {
            result.push('N');
        }
    }
    result
}

fn is_bookmark(event: &Value) -> bool {
    event["type"] == "BOOKMARK" && event["object"]["metadata"].get("annotations").is_none()
}

/// The spec of a Service; what is `None`, empty or 0 was not chosen by the server and stays.
fn service(spec: &Map<String, Value>) -> Value {
    let mut spec = spec.clone();
    let mask = |value: &mut Value| {
        let chosen = match value {
            Value::String(text) => !text.is_empty() && text != "None",
            Value::Number(number) => number.as_u64() != Some(0),
            _ => false,
        };
        if chosen {
            *value = PRESENT.into();
        }
    };
    for field in ["clusterIP", "healthCheckNodePort"] {
        spec.get_mut(field).map(mask);
    }
    for address in spec.get_mut("clusterIPs").and_then(Value::as_array_mut).into_iter().flatten() {
        mask(address);
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        port.get_mut("nodePort").map(mask);
    }
    Value::Object(spec)
}

// === impl Difference ===

/// Every place where two values are not equal, deepest paths only.
pub fn differences(left: &Value, right: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(String::new(), Some(left), Some(right), &mut found);
    found
}

fn compare(path: String, left: Option<&Value>, right: Option<&Value>, found: &mut Vec<Difference>) {
    match (left, right) {
        (Some(Value::Object(one)), Some(Value::Object(two))) => {
            let mut keys: Vec<&String> = one.keys().chain(two.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                compare(format!("{path}{}", segment(key)), one.get(key), two.get(key), found);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(two))) => {
            for index in 0..one.len().max(two.len()) {
                compare(format!("{path}[{index}]"), one.get(index), two.get(index), found);
            }
        }
        (left, right) if left == right => {}
        (left, right) => found.push(Difference { path, left: left.cloned(), right: right.cloned() }),
    }
}

fn segment(key: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '-';
    if !key.is_empty() && key.chars().all(plain) { format!(".{key}") } else { format!("[{}]", json!(key)) }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let side = |value: &Option<Value>| value.as_ref().map_or("absent".to_owned(), Value::to_string);
        write!(formatter, "{}: {} | {}", self.path, side(&self.left), side(&self.right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "0a1b2c3d-0000-4000-8000-000000000001";
    const TWO: &str = "0a1b2c3d-0000-4000-8000-000000000002";

    fn normal(value: &Value) -> Value {
        Normaliser::default().value(value)
    }

    #[test]
    fn made_up_metadata_is_masked_and_its_absence_shows() {
        let full = json!({"kind": "ConfigMap", "metadata": {"name": "a", "uid": ONE, "resourceVersion": "7",
            "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 3, "deletionTimestamp": "2026-01-01T00:00:00Z",
            "deletionGracePeriodSeconds": 30, "labels": {"generation": "b"}}});
        let expected = json!({"kind": "ConfigMap", "metadata": {"name": "a", "uid": "uid-1",
            "resourceVersion": "present", "creationTimestamp": "present", "generation": "present",
            "deletionTimestamp": "present", "deletionGracePeriodSeconds": 30, "labels": {"generation": "b"}}});
        assert_eq!(normal(&full), expected);
        let empty = json!({"metadata": {"creationTimestamp": null, "resourceVersion": "", "continue": ""}});
        assert_eq!(normal(&empty), empty);
    }

    #[test]
    fn a_field_outside_of_a_metadata_keeps_its_value() {
        let value = json!({"spec": {"generation": 3, "resourceVersion": "5", "creationTimestamp": "x", "continue": "y"},
            "data": {"nodePort": 5, "clusterIP": "1.2.3.4", "status": "z"}});
        assert_eq!(normal(&value), value);
    }

    #[test]
    fn a_uid_has_one_number_in_texts_keys_and_fields_of_a_trace() {
        let mut normaliser = Normaliser::default();
        let text = format!("UID in precondition: {TWO}, UID in object meta: {ONE}");
        let first = normaliser.value(&json!({"uid": ONE, format!("k:{{\"uid\":\"{TWO}\"}}"): {}}));
        // Keys come in the order of the map, so the key is met before the field.
        assert_eq!(first, json!({"uid": "uid-2", "k:{\"uid\":\"uid-1\"}": {}}));
        assert_eq!(normaliser.text(&text), "UID in precondition: uid-1, UID in object meta: uid-2");
        assert_eq!(normaliser.text("not-a-uid"), "not-a-uid");
    }

    #[test]
    fn times_of_managed_fields_and_conditions_are_masked_other_times_are_not() {
        let value = json!({"metadata": {"managedFields": [{"manager": "m", "time": "t1"}]}, "renewTime": "t2",
            "conditions": [{"type": "A", "lastTransitionTime": "t3", "lastUpdateTime": "t4", "startTime": "t5"}]});
        let expected = json!({"metadata": {"managedFields": [{"manager": "m", "time": "present"}]},
            "renewTime": "t2", "conditions": [{"type": "A", "lastTransitionTime": "present",
                "lastUpdateTime": "present", "startTime": "t5"}]});
        assert_eq!(normal(&value), expected);
    }

    #[test]
    fn a_time_outside_of_its_list_keeps_its_value() {
        let value = json!({"metadata": {"time": "t1", "annotations": {"lastUpdateTime": "t2"},
                "managedFields": [{"lastTransitionTime": "t3", "fieldsV1": {"time": "t4"}}]},
            "managedFields": [{"time": "t5"}], "spec": {"time": "t6", "lastTransitionTime": "t7"},
            "conditions": [{"time": "t8", "inner": {"lastTransitionTime": "t9"}, "lastUpdateTime": null}],
            "data": {"conditions": {"lastUpdateTime": "t10"}, "lastUpdateTime": "t11"}});
        assert_eq!(normal(&value), value);
    }

    #[test]
    fn managed_fields_are_sorted_because_their_order_is_that_of_their_times() {
        let entry = |operation: &str, manager: &str| json!({"operation": operation, "manager": manager});
        let (one, two, three) = (entry("Apply", "b"), entry("Update", "a"), entry("Update", "b"));
        let value = json!({"metadata": {"managedFields": [three, one, two]}});
        assert_eq!(normal(&value), json!({"metadata": {"managedFields": [one, two, three]}}));
    }

    #[test]
    fn the_status_of_a_workload_goes_and_that_of_anything_else_stays() {
        for kind in WORKLOADS {
            assert_eq!(normal(&json!({"kind": kind, "status": {"a": 1}})), json!({"kind": kind}));
        }
        for kind in ["Namespace", "Widget", "Status", "CustomResourceDefinition"] {
            let value = json!({"kind": kind, "status": {"a": 1}});
            assert_eq!(normal(&value), value);
        }
        let failure = json!({"kind": "Status", "status": "Failure", "details": {"kind": "pods"}});
        assert_eq!(normal(&failure), failure);
    }

    #[test]
    fn chosen_addresses_and_ports_of_a_service_are_masked_headless_stays() {
        let value = json!({"kind": "Service", "spec": {"clusterIP": "172.30.0.9", "clusterIPs": ["172.30.0.9"],
            "healthCheckNodePort": 30001, "ports": [{"port": 80, "nodePort": 30002}, {"port": 81, "nodePort": 0}]}});
        let expected = json!({"kind": "Service", "spec": {"clusterIP": "present", "clusterIPs": ["present"],
            "healthCheckNodePort": "present", "ports": [{"port": 80, "nodePort": "present"},
                {"port": 81, "nodePort": 0}]}});
        assert_eq!(normal(&value), expected);
        let list = json!({"kind": "ServiceList", "items": [{"spec": {"clusterIP": "172.30.0.9"}}]});
        assert_eq!(normal(&list)["items"][0]["spec"]["clusterIP"], PRESENT);
        let headless = json!({"kind": "Service", "spec": {"clusterIP": "None", "clusterIPs": ["None"]}});
        assert_eq!(normal(&headless), headless);
    }

    #[test]
    fn names_of_a_case_and_generated_ends_are_replaced() {
        let mut normaliser = Normaliser::new([("case-17", "{id}")]);
        let value = json!({"metadata": {"namespace": "case-17", "generateName": "a-", "name": "a-x7x7x"},
            "message": "namespaces \"case-17\" not found"});
        let expected = json!({"metadata": {"namespace": "{id}", "generateName": "a-", "name": "a-{generated}"},
            "message": "namespaces \"{id}\" not found"});
        assert_eq!(normaliser.value(&value), expected);
    }

    #[test]
    fn numbers_vanish_only_in_messages_about_versions() {
        let mut normaliser = Normaliser::default();
        assert_eq!(normaliser.text("too old resource version: 1 (245)"), "too old resource version: N (N)");
        assert_eq!(
            normaliser.text("Timeout: Too large resource version: 99, current: 5"),
            "Timeout: Too large resource version: N, current: N"
        );
        assert_eq!(normaliser.text("limit is 3145728"), "limit is 3145728");
    }

    #[test]
    fn bookmarks_in_a_row_count_once_but_the_end_of_the_initial_events_is_its_own() {
        let bookmark = json!({"type": "BOOKMARK", "object": {"metadata": {}}});
        let end = json!({"type": "BOOKMARK",
            "object": {"metadata": {"annotations": {"k8s.io/initial-events-end": "true"}}}});
        let added = json!({"type": "ADDED", "object": {"metadata": {}}});
        let events = json!([end, bookmark, bookmark, added, added, bookmark]);
        assert_eq!(normal(&events), json!([end, bookmark, added, added, bookmark]));
    }

    #[test]
    fn each_difference_has_its_path_and_both_values() {
        let left = json!({"a": {"b": [1, 2], "x.y": "z"}, "only": null});
        let right = json!({"a": {"b": [1, 3, 4], "x.y": "q"}});
        let found: Vec<String> = differences(&left, &right).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [".a.b[1]: 2 | 3", ".a.b[2]: absent | 4", ".a[\"x.y\"]: \"z\" | \"q\"", ".only: null | absent"]
        );
        assert!(differences(&left, &left).is_empty());
    }
}
