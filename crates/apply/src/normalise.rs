//! The form of a manifest that the server stores unchanged.
//!
//! A manifest may hold what no server keeps: a status, times, nulls, fields that its kind does not declare. Applied as it
//! is, such a part is refused, or is written again with every apply, or looks like drift for ever. [`Rules`] are made once
//! per release and take these parts out; an object that went through them is stored leaf by leaf as it was sent.

mod builtin;
mod custom;
mod structure;
mod unique;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockstep_api::names::{group, kind};
use lockstep_api::object;
use lockstep_schema::Schema;
use serde_json::{Map, Value, json};

use structure::Structure;

/// What is known about the kinds of one release: those that its CRDs define, and the built-in ones.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// By API version and kind.
    custom: BTreeMap<String, BTreeMap<String, Definition>>,
}

/// An object in the form that the server stores.
#[derive(Clone, Debug, PartialEq)]
pub struct Normalised {
    /// The object.
    pub object: Value,
    /// The paths of fields that its kind does not declare, and that are gone: worth a remark, they may be misspelt.
    pub dropped: Vec<String>,
}

/// One version of a kind that a CRD of the release defines.
#[derive(Clone, Debug)]
struct Definition {
    plural: Box<str>,
    is_namespaced: bool,
    /// Only for kinds that the release has objects of: all schemas of a large release would cost megabytes.
    structure: Option<Arc<Structure>>,
}

/// Where the walk through an object is, and what it took out on its way.
#[derive(Debug, Default)]
struct Trail {
    path: String,
    dropped: Vec<String>,
}

/// Fields of an object's metadata that only the server writes.
const SERVER_METADATA: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// What security context constraints must say, where no CRD of the release tells it.
const CONSTRAINTS_FALSE: [&str; 7] = [
    "allowHostDirVolumePlugin",
    "allowHostIPC",
    "allowHostNetwork",
    "allowHostPID",
    "allowHostPorts",
    "allowPrivilegedContainer",
    "readOnlyRootFilesystem",
];
/// The same for what may be null.
const CONSTRAINTS_NULL: [&str; 5] =
    ["allowedCapabilities", "defaultAddCapabilities", "priority", "requiredDropCapabilities", "volumes"];

// === impl Rules ===

impl Rules {
    /// Collects what the CRDs among these objects define; give it what the cluster gets, not every variant of a CRD.
    ///
    /// Of two definitions of one kind the later counts.
    pub fn of_release<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let (mut definitions, mut kinds) = (Vec::new(), BTreeSet::new());
        for object in objects {
            let api_version = object::api_version(object);
            if object::kind(object) == kind::CUSTOM_RESOURCE_DEFINITION
                && object::group(object) == group::API_EXTENSIONS
            {
                definitions.push(object);
            } else {
                kinds.insert((api_version, object::kind(object)));
            }
        }
        let mut rules = Self::default();
        for definition in definitions {
            rules.define(&definition["spec"], &kinds);
        }
        rules
    }

    fn define(&mut self, spec: &Value, kinds: &BTreeSet<(&str, &str)>) {
        let text = |value: &'_ Value| value.as_str().unwrap_or_default().to_owned();
        let (group, kind) = (text(&spec["group"]), text(&spec["names"]["kind"]));
        for version in spec["versions"].as_array().into_iter().flatten() {
            let api_version = object::join_api_version(&group, &text(&version["name"]));
            let is_used = kinds.contains(&(api_version.as_str(), kind.as_str()));
            let schema = &version["schema"]["openAPIV3Schema"];
            let definition = Definition {
                plural: text(&spec["names"]["plural"]).into(),
                is_namespaced: spec["scope"] == "Namespaced",
                structure: (is_used && schema.is_object()).then(|| Arc::new(Structure::of_resource(schema))),
            };
            self.custom.entry(api_version).or_default().insert(kind.clone(), definition);
        }
    }

    /// Whether objects of a kind live in a namespace; `None` when neither the release nor Kubernetes defines it.
    pub fn is_namespaced(&self, api_version: &str, kind: &str) -> Option<bool> {
        let custom = self.definition(api_version, kind).map(|definition| definition.is_namespaced);
        custom.or_else(|| Some(Schema::builtin().kind(api_version, kind)?.namespaced))
    }

    /// The name of a kind in addresses; `None` when neither the release nor Kubernetes defines it.
    pub fn plural(&self, api_version: &str, kind: &str) -> Option<&str> {
        let custom = self.definition(api_version, kind).map(|definition| &*definition.plural);
        custom.or_else(|| Some(Schema::builtin().kind(api_version, kind)?.plural))
    }

    /// The form of an object that the server stores; an object in this form comes back as it is.
    ///
    /// *Order*: what belongs to others goes first (status; rules of an aggregated role), then the fields by the schema of the
    /// kind, then the metadata that only a server writes. Required fields that are missing get their zero value where
    /// the schema takes it: this is what a typed client would send.
    pub fn normalise(&self, object: &Value) -> Normalised {
        let mut object = object.clone();
        let (api_version, kind) = (object::api_version(&object).to_owned(), object::kind(&object).to_owned());
        let mut trail = Trail::default();
        if let Value::Object(root) = &mut object {
            root.remove("status");
            take_apart(root, object::split_api_version(&api_version).0, &kind);
            let custom = self.definition(&api_version, &kind);
            let structure = custom.and_then(|definition| definition.structure.as_deref());
            let schema = Schema::builtin();
            let builtin = schema.kind(&api_version, &kind).and_then(|kind| schema.root(kind));
            match (structure, builtin) {
                (Some(structure), _) => trail.resource(root, structure),
                (None, Some(ty)) => trail.fields(ty, root, false),
                (None, None) => {
                    trail.unknown_resource(root);
                    add_known_zeros(root, object::split_api_version(&api_version).0, &kind);
                }
            }
            if let Some(Value::Object(metadata)) = root.get_mut("metadata") {
                metadata.retain(|name, _| !SERVER_METADATA.contains(&name.as_str()));
                if self.is_namespaced(&api_version, &kind) == Some(false) {
                    metadata.remove("namespace");
                }
            }
        }
        Normalised { object, dropped: trail.dropped }
    }

    fn definition(&self, api_version: &str, kind: &str) -> Option<&Definition> {
        self.custom.get(api_version)?.get(kind)
    }
}

/// What is special about single built-in kinds.
fn take_apart(root: &mut Map<String, Value>, group: &str, kind: &str) {
    match (group, kind) {
        // A controller collects the rules; whoever writes them too fights with it.
        (group::RBAC, kind::CLUSTER_ROLE) if root.get("aggregationRule").is_some_and(|it| !it.is_null()) => {
            root.remove("rules");
        }
        // The only value that is allowed, and the server does not store it.
        (group::API_EXTENSIONS, kind::CUSTOM_RESOURCE_DEFINITION) => {
            if let Some(Value::Object(spec)) = root.get_mut("spec")
                && spec.get("preserveUnknownFields") == Some(&Value::Bool(false))
            {
                spec.remove("preserveUnknownFields");
            }
        }
        ("", kind::SECRET) => encode_texts(root),
        _ => {}
    }
}

/// Moves `stringData` into `data`: the server stores it there, but ownership would stay behind.
///
/// One value that is no text leaves all as it is; the server's refusal names it.
fn encode_texts(secret: &mut Map<String, Value>) {
    let Some(Value::Object(texts)) = secret.get("stringData") else { return };
    if !texts.values().all(|value| value.is_string() || value.is_null())
        || !matches!(secret.get("data"), None | Some(Value::Null | Value::Object(_)))
    {
        return;
    }
    let encode =
        |(key, value): (&String, &Value)| Some((key.clone(), STANDARD.encode(value.as_str()?).into()));
    let encoded: Map<String, Value> = texts.iter().filter_map(encode).collect();
    secret.remove("stringData");
    let data = secret.entry("data").or_insert(Value::Null);
    if data.is_null() {
        *data = json!({});
    }
    if let Value::Object(data) = data {
        data.extend(encoded);
    }
}

/// Required values of the two kinds that every release has objects of, also one without their CRDs.
fn add_known_zeros(root: &mut Map<String, Value>, group: &str, kind: &str) {
    match (group, kind) {
        (group::CONFIG, kind::CLUSTER_OPERATOR) => {
            root.entry("spec").or_insert_with(|| json!({}));
        }
        (group::SECURITY, kind::SECURITY_CONTEXT_CONSTRAINTS) => {
            for name in CONSTRAINTS_FALSE {
                root.entry(name).or_insert(Value::Bool(false));
            }
            for name in CONSTRAINTS_NULL {
                root.entry(name).or_insert(Value::Null);
            }
        }
        _ => {}
    }
}

// === impl Trail ===

impl Trail {
    /// Works one field or key deeper.
    fn below<T>(&mut self, name: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
        let result = work(self);
        self.path.truncate(length);
        result
    }

    /// Works on each item of a list.
    fn items(&mut self, list: &mut [Value], mut work: impl FnMut(&mut Self, &mut Value)) {
        for (index, item) in list.iter_mut().enumerate() {
            let length = self.path.len();
            self.path.extend(["[", &index.to_string(), "]"]);
            work(self, item);
            self.path.truncate(length);
        }
    }

    /// Remembers that a field here was taken out because nobody declares it.
    fn drop(&mut self, name: &str) {
        self.below(name, |trail| trail.dropped.push(trail.path.clone()));
    }
}

#[cfg(test)]
#[path = "normalise/normalise_tests.rs"]
mod tests;
