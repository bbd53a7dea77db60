//! One walk over a manifest and a live object, by the rules.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::LazyLock;

use lockstep_api::names::annotation;
use lockstep_api::object;
use serde_json::{Map, Value};

use super::PathStep;
use super::edit::{Edit, Order};
use super::equal;
use super::rules::{ANY, Fields, Items, Rule};
use super::shape::{ListShape, Shape};
use super::writers;

type Object = Map<String, Value>;

static NO_FIELDS: LazyLock<Object> = LazyLock::new(Object::new);

/// What the walk has to know about the whole objects.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "four facts that have nothing to do with each other")]
pub(super) struct Context {
    /// Somebody injects CA bundles into this object.
    ca_bundle_injected: bool,
    /// The number of replicas is set through the scale subresource.
    scaled: bool,
    /// The server allocates ports on nodes for this Service.
    node_ports: bool,
    /// The pods use the network of their node, so a port of a container is one of the node.
    host_network: bool,
}

/// The walk so far.
#[derive(Debug)]
pub(super) struct Walk<'a, 'c> {
    context: &'c Context,
    path: Vec<PathStep>,
    edits: Vec<Edit<'a>>,
}

// === impl Context ===

impl Context {
    pub(super) fn of(manifest: &Value, live: &Value) -> Self {
        let injects = |object| object::annotation(object, annotation::INJECT_CABUNDLE) == Some("true");
        let network = |pod: &str| manifest.pointer(pod) == Some(&Value::Bool(true));
        Self {
            ca_bundle_injected: injects(manifest) || injects(live),
            scaled: writers::scales(live),
            node_ports: matches!(manifest["spec"]["type"].as_str(), Some("NodePort" | "LoadBalancer")),
            host_network: network("/spec/template/spec/hostNetwork")
                || network("/spec/jobTemplate/spec/template/spec/hostNetwork"),
        }
    }
}

// === impl Walk ===

impl<'a, 'c> Walk<'a, 'c> {
    pub(super) fn new(context: &'c Context) -> Self {
        Self { context, path: Vec::new(), edits: Vec::new() }
    }

    pub(super) fn into_edits(self) -> Vec<Edit<'a>> {
        self.edits
    }

    /// A struct that both have: the fields of the table, and all others of the manifest.
    pub(super) fn object(&mut self, fields: Fields, shape: Shape, manifest: &'a Object, live: &'a Object) {
        let mut rest = &Rule::Said;
        for (name, rule) in fields {
            if *name == ANY {
                rest = rule;
            } else {
                self.field(name, rule, shape, manifest, live);
            }
        }
        for name in manifest.keys() {
            if !fields.iter().any(|(listed, _)| listed == name) {
                self.field(name, rest, shape, manifest, live);
            }
        }
    }

    fn field(
        &mut self,
        name: &str,
        rule: &'static Rule,
        parent: Shape,
        manifest: &'a Object,
        live: &'a Object,
    ) {
        let shape = match self.path.as_slice() {
            [] if name == "metadata" => Shape::metadata(),
            _ => parent.below(name),
        };
        let said = manifest.get(name).filter(|value| !value.is_null());
        let found = live.get(name).filter(|value| !value.is_null());
        if said == found || (name == "caBundle" && self.context.ca_bundle_injected) {
            return;
        }
        self.path.push(PathStep::Field(name.to_owned()));
        match (said, found) {
            (Some(said), Some(found)) => {
                // The server replaces a zero by its default, where its types cannot tell it from nothing. A flag is never one.
                let is_nothing = !said.is_boolean() && shape.is_nothing(said);
                let default = is_nothing.then(|| default(rule, name, parent, manifest)).flatten();
                match default {
                    Some(default) => self.left_out(rule, shape, found, Some(default)),
                    None => self.both(rule, shape, said, found),
                }
            }
            // NB: the server drops what it does not declare, so setting it would never end.
            (Some(said), None) if parent.declares(name) => self.missing(rule, shape, said),
            (None, Some(found)) if !self.is_left_to_others(name, parent, found, live) => {
                let default = default(rule, name, parent, manifest);
                self.left_out(rule, shape, found, default);
            }
            _ => {}
        }
        self.path.pop();
    }

    /// Whether a value that the manifest leaves out is set by the server or by a controller of the cluster.
    fn is_left_to_others(&self, name: &str, parent: Shape, found: &Value, live: &Object) -> bool {
        let in_spec = |rest: &[PathStep]| matches!(rest, [PathStep::Field(spec), ..] if spec == "spec");
        match name {
            "replicas" => self.context.scaled && self.path.len() == 2 && in_spec(&self.path),
            "nodePort" => self.context.node_ports && in_spec(&self.path),
            "hostPort" => self.context.host_network && live.get("containerPort") == Some(found),
            _ => parent.is_derived(name),
        }
    }

    /// The manifest has it, the live object does not.
    fn missing(&mut self, rule: &'static Rule, shape: Shape, said: &'a Value) {
        let says_nothing = match rule {
            Rule::Left => true,
            Rule::Text => equal::is_zero(said),
            // What is stored without a type is stored as it was written.
            Rule::Said | Rule::Raw => shape.is_typed() && shape.is_nothing(said),
            _ => shape.is_nothing(said),
        };
        if !says_nothing {
            self.set(said);
        }
    }

    /// The live object has it, the manifest does not.
    fn left_out(&mut self, rule: &'static Rule, shape: Shape, found: &'a Value, default: Option<Value>) {
        match rule {
            Rule::Left
            | Rule::Said
            | Rule::Text
            | Rule::IfSaid(_)
            | Rule::SameEntries
            | Rule::Items(Items { exclusive: false, .. }) => {}
            Rule::Fields(fields) => {
                if let Value::Object(found) = found {
                    self.object(fields, shape, &NO_FIELDS, found);
                }
            }
            Rule::Raw => self.edits.push(Edit::Clear(self.path.clone(), None)),
            Rule::Exact | Rule::Or(_) | Rule::Pointer(_) | Rule::Items(_) => {
                let as_usual = match &default {
                    Some(default) => self.is_as(shape, default, found),
                    None => shape.is_nothing(found),
                };
                if !as_usual {
                    self.edits.push(Edit::Clear(self.path.clone(), default));
                }
            }
        }
    }

    /// Both have a value, and the two are not written the same way.
    fn both(&mut self, rule: &'static Rule, shape: Shape, said: &'a Value, found: &'a Value) {
        match (rule, said, found) {
            (Rule::Left, _, _) => {}
            (Rule::Text, Value::String(text), _) if text.is_empty() => {}
            (
                Rule::Fields(fields) | Rule::Pointer(fields) | Rule::IfSaid(fields),
                Value::Object(said),
                Value::Object(found),
            ) => self.object(fields, shape, said, found),
            (Rule::Items(items), Value::Array(said_items), Value::Array(found_items)) => {
                if !self.items(items, shape, said_items, found_items) {
                    self.whole(&Rule::Exact, shape, said, found);
                }
            }
            (Rule::SameEntries, Value::Array(one), Value::Array(other)) => {
                if entries(one) != entries(other) {
                    self.set(said);
                }
            }
            (Rule::Exact | Rule::Or(_), _, _) => self.value(&Rule::Exact, shape, said, found),
            (Rule::Raw, _, _) => self.value(&Rule::Raw, shape, said, found),
            _ => self.value(&Rule::Said, shape, said, found),
        }
    }

    /// Two values under one rule that holds all the way down.
    fn value(&mut self, rule: &'static Rule, shape: Shape, said: &'a Value, found: &'a Value) {
        match (said, found) {
            (Value::Object(_), Value::Object(_)) if shape.is_atomic() => {
                // Another key in such a map is a difference, whatever the rule: server-side apply removes it as well.
                let rule = if shape.is_map() { &Rule::Exact } else { rule };
                self.whole(rule, shape, said, found);
            }
            (Value::Object(said), Value::Object(found)) => self.struct_fields(rule, shape, said, found),
            (Value::Array(said_items), Value::Array(found_items)) => match shape.list() {
                ListShape::ByKeys(keys) => {
                    let exclusive = !matches!(rule, Rule::Said);
                    let items = Items { keys, exclusive, ordered: false, item: rule };
                    if !self.items(&items, shape, said_items, found_items) {
                        self.whole(rule, shape, said, found);
                    }
                }
                ListShape::Set if matches!(rule, Rule::Said) => self.add_members(said_items, found_items),
                ListShape::Set if entries(said_items) == entries(found_items) => {}
                _ => self.whole(rule, shape, said, found),
            },
            _ if equal::scalars(shape.ty(), said, found) => {}
            _ => self.set(said),
        }
    }

    fn struct_fields(&mut self, rule: &'static Rule, shape: Shape, said: &'a Object, found: &'a Object) {
        for name in said.keys() {
            self.field(name, rule, shape, said, found);
        }
        if !matches!(rule, Rule::Said) {
            for name in found.keys().filter(|name| !said.contains_key(*name)) {
                self.field(name, rule, shape, said, found);
            }
        }
    }

    /// Two values of which one takes the place of the other when anything in them differs.
    fn whole(&mut self, rule: &'static Rule, shape: Shape, said: &'a Value, found: &'a Value) {
        let before = self.edits.len();
        match (said, found) {
            (Value::Object(said), Value::Object(found)) => self.struct_fields(rule, shape, said, found),
            (Value::Array(said_items), Value::Array(found_items)) => {
                if said_items.len() != found_items.len() {
                    self.set(said);
                    return;
                }
                for (index, (said, found)) in said_items.iter().zip(found_items).enumerate() {
                    self.path.push(PathStep::Item(index));
                    self.value(rule, shape.item(), said, found);
                    self.path.pop();
                    if self.edits.len() > before {
                        break;
                    }
                }
            }
            _ => self.value(rule, shape, said, found),
        }
        if self.edits.len() > before {
            self.edits.truncate(before);
            self.set(said);
        }
    }

    /// The entries of two lists, matched by keys; false when the manifest's entries cannot be told apart.
    fn items(&mut self, rule: &Items, shape: Shape, said: &'a [Value], found: &'a [Value]) -> bool {
        let item = shape.item();
        let Some(order) = said.iter().map(|entry| item.key(rule.keys, entry)).collect::<Option<Vec<_>>>()
        else {
            return false;
        };
        if order.iter().collect::<BTreeSet<_>>().len() < order.len() {
            return false;
        }
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (index, entry) in found.iter().enumerate() {
            if let Some(key) = item.key(rule.keys, entry) {
                places.entry(key).or_insert(index);
            }
        }
        let mut taken = BTreeSet::new();
        let mut last = 0;
        let mut in_order = true;
        for (entry, key) in said.iter().zip(&order) {
            // A new entry comes at the end.
            let index = places.get(key).copied().unwrap_or(found.len());
            in_order &= last <= index;
            last = index;
            match found.get(index) {
                Some(live) => {
                    taken.insert(index);
                    self.path.push(PathStep::Item(index));
                    self.both(rule.item, item, entry, live);
                    self.path.pop();
                }
                None => self.edits.push(Edit::Append(self.path.clone(), entry)),
            }
        }
        if rule.exclusive {
            for index in (0..found.len()).filter(|index| !taken.contains(index)) {
                let mut path = self.path.clone();
                path.push(PathStep::Item(index));
                self.edits.push(Edit::RemoveItem(path));
            }
        }
        if rule.ordered && !in_order {
            self.edits
                .push(Edit::Arrange(self.path.clone(), Order { keys: rule.keys, item, sequence: order }));
        }
        true
    }

    fn add_members(&mut self, said: &'a [Value], found: &'a [Value]) {
        let mut known: BTreeSet<String> = found.iter().map(ToString::to_string).collect();
        for member in said {
            if known.insert(member.to_string()) {
                self.edits.push(Edit::Append(self.path.clone(), member));
            }
        }
    }

    /// Whether a live value is what a default stands for, with the defaults inside it.
    fn is_as(&mut self, shape: Shape, default: &Value, found: &Value) -> bool {
        let mut walk = Walk { context: self.context, path: mem::take(&mut self.path), edits: Vec::new() };
        walk.value(&Rule::Exact, shape, default, found);
        self.path = walk.path;
        walk.edits.is_empty()
    }

    fn set(&mut self, value: &'a Value) {
        self.edits.push(Edit::Set(self.path.clone(), value));
    }
}

/// What a field that is missing in the manifest stands for.
fn default(rule: &Rule, name: &str, parent: Shape, manifest: &Object) -> Option<Value> {
    match rule {
        Rule::Or(default) => Some(default()),
        _ => parent.default_of(name, manifest),
    }
}

/// The entries of a list without their order, and without fields that say nothing.
fn entries(list: &[Value]) -> Vec<String> {
    let mut entries: Vec<String> = list
        .iter()
        .map(|entry| match entry {
            Value::Object(fields) => {
                let fields: BTreeMap<_, _> = fields.iter().filter(|(_, value)| !is_blank(value)).collect();
                format!("{fields:?}")
            }
            other => other.to_string(),
        })
        .collect();
    entries.sort();
    entries
}

/// NB: a number 0 is not blank: zero seconds are not "for ever".
fn is_blank(value: &Value) -> bool {
    !value.is_number() && equal::is_zero(value)
}
