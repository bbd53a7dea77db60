//! Objects of kinds that CRDs define, by their structural schema.

use serde_json::{Map, Value};

use super::structure::{Additional, Structure, Unique};
use super::{Trail, unique};

/// What every object has, whatever its schema says.
const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];

impl Trail {
    /// Takes out of a custom resource what its schema does not declare, and nulls that mean nothing; adds the zero values
    /// that it requires.
    ///
    /// *Compatibility*: undeclared fields go where the server prunes them, also below an object without any declared field.
    pub(super) fn resource(&mut self, root: &mut Map<String, Value>, structure: &Structure) {
        self.declared(root, structure, false);
    }

    /// An object of a kind that neither the release nor Kubernetes defines: only nulls go.
    pub(super) fn unknown_resource(&mut self, root: &mut Map<String, Value>) {
        if let Some(metadata) = root.get_mut("metadata") {
            self.below("metadata", |trail| trail.metadata(metadata));
        }
        drop_nulls(root);
    }

    fn declared(&mut self, object: &mut Map<String, Value>, structure: &Structure, keeps_unknown: bool) {
        object.retain(|name, value| {
            if structure.is_embedded && OF_EVERY_OBJECT.contains(&name.as_str()) {
                if name == "metadata" {
                    self.below(name, |trail| trail.metadata(value));
                }
                return !value.is_null();
            }
            let (inner, keeps_null) = match (structure.properties.get(name.as_str()), &structure.additional) {
                (Some(property), _) => (Some(property), structure.keeps_null(name)),
                (None, Additional::Of(inner)) => (Some(&**inner), inner.is_nullable),
                (None, Additional::Any) => (None, false),
                (None, Additional::None) if structure.keeps_unknown || keeps_unknown => {
                    drop_embedded_times(name, value);
                    return true;
                }
                (None, Additional::None) => {
                    self.drop(name);
                    return false;
                }
            };
            if value.is_null() {
                return keeps_null;
            }
            self.below(name, |trail| trail.node(value, inner, false));
            true
        });
        structure.add_required(object);
    }

    /// A value with its schema; without one an object keeps nothing.
    ///
    /// `keeps_unknown` comes from a surrounding list: its items keep what the list keeps.
    fn node(&mut self, value: &mut Value, structure: Option<&Structure>, keeps_unknown: bool) {
        match (value, structure) {
            (Value::Object(object), Some(structure)) => self.declared(object, structure, keeps_unknown),
            (Value::Object(object), None) if !keeps_unknown => {
                for (name, _) in std::mem::take(object) {
                    self.drop(&name);
                }
            }
            (Value::Array(list), structure) => {
                let keeps_unknown = keeps_unknown || structure.is_some_and(|it| it.keeps_unknown);
                let items = structure.and_then(|structure| structure.items.as_deref());
                self.items(list, |trail, item| trail.node(item, items, keeps_unknown));
                match structure.map(|structure| &structure.unique) {
                    Some(Unique::Members) => unique::keep_last_members(list),
                    Some(Unique::Keys(keys)) => {
                        let keys: Vec<_> =
                            keys.iter().map(|(key, default)| (&**key, default.as_ref())).collect();
                        unique::keep_last(list, &keys);
                    }
                    Some(Unique::No) | None => {}
                }
            }
            _ => {}
        }
    }
}

/// Everything below an undeclared field is stored as written, nulls too; but an empty time in the metadata of an object
/// there is written again with every apply.
fn drop_embedded_times(name: &str, value: &mut Value) {
    match value {
        Value::Object(object) => {
            if name == "metadata" && object.get("creationTimestamp").is_some_and(Value::is_null) {
                object.remove("creationTimestamp");
            }
            for (name, value) in object {
                drop_embedded_times(name, value);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|item| drop_embedded_times("", item)),
        _ => {}
    }
}

fn drop_nulls(object: &mut Map<String, Value>) {
    fn inside(value: &mut Value) {
        match value {
            Value::Object(object) => drop_nulls(object),
            Value::Array(list) => list.iter_mut().for_each(inside),
            _ => {}
        }
    }
    object.retain(|_, value| {
        inside(value);
        !value.is_null()
    });
}
