//! Defaults of the built-in kinds: what the server fills in whenever it reads an object.
//!
//! Almost every default belongs to a type and not to a kind: a container has the same ones in a Pod and in the template of a `CronJob`. So
//! the walk goes over the object beside its types and calls the rule of each. What the conversion to the server's internal types
//! changes comes last.

mod cluster;
mod convert;
mod pod;
mod pod_resources;
mod service;
mod volume;
mod workload;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use lockstep_schema::{FieldType, Kind, Schema, Type};
use serde_json::{Map, Value, json};

use super::decode::Quantity;

/// A struct with the fields that are written.
type Object = Map<String, Value>;

/// Fills in what is missing in one struct.
type Rule = fn(&mut Object);

/// What to do at a struct type.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    rule: Option<Rule>,
    /// Whether anything below has a rule.
    leads_on: bool,
}

/// Only types that have something to do; all others are not walked.
static PLANS: LazyLock<BTreeMap<&'static str, Plan>> = LazyLock::new(plans);

/// Groups without a single defaulting function: shared types inside them keep what they have.
const NO_DEFAULTS: [&str; 1] = ["node.k8s.io"];

/// Fills in the defaults of an object that was read by [`decode`](super::decode::decode).
pub(crate) fn default(kind: &Kind, object: &mut Value) {
    let Value::Object(object) = object else { return };
    if let Some(root) = Schema::builtin().root(kind)
        && !NO_DEFAULTS.contains(&kind.group)
    {
        fill_struct(root, object);
    }
    convert::convert(kind, object);
}

/// The rule of a type, by the name of the type.
fn rule(type_name: &str) -> Option<Rule> {
    pod::rule(type_name)
        .or_else(|| volume::rule(type_name))
        .or_else(|| service::rule(type_name))
        .or_else(|| workload::rule(type_name))
        .or_else(|| cluster::rule(type_name))
}

fn plans() -> BTreeMap<&'static str, Plan> {
    let schema = Schema::builtin();
    let mut plans: BTreeMap<&'static str, Plan> = BTreeMap::new();
    let mut done: BTreeMap<&'static str, bool> = BTreeMap::new();
    for kind in schema.kinds() {
        if let Some(root) = schema.root(kind) {
            reaches(schema, root, &mut done, &mut plans);
        }
    }
    plans
}

/// Whether a type or anything below it has something to do; notes the plans on the way.
fn reaches(
    schema: &'static Schema,
    ty: &'static Type,
    done: &mut BTreeMap<&'static str, bool>,
    plans: &mut BTreeMap<&'static str, Plan>,
) -> bool {
    if let Some(known) = done.get(ty.name) {
        return *known;
    }
    // A type that contains itself (the schema of a definition) is open now; it has nothing to do unless it says so below.
    done.insert(ty.name, false);
    let mut leads_on = false;
    for field in ty.fields.values() {
        leads_on |= field.go == Some("v1.ResourceList");
        if let Some(inner) = field.ty.element().struct_name().and_then(|name| schema.ty(name)) {
            leads_on |= reaches(schema, inner, done, plans);
        }
    }
    let rule = rule(ty.name);
    let reaches = leads_on || rule.is_some();
    if reaches {
        plans.insert(ty.name, Plan { rule, leads_on });
    }
    done.insert(ty.name, reaches);
    reaches
}

fn fill_struct(ty: &Type, object: &mut Object) {
    let Some(plan) = PLANS.get(ty.name) else { return };
    if let Some(rule) = plan.rule {
        rule(object);
    }
    if !plan.leads_on {
        return;
    }
    for (name, value) in object.iter_mut() {
        if let Some(field) = ty.field(name) {
            if field.go == Some("v1.ResourceList") {
                round_up(value);
            } else {
                fill(&field.ty, value);
            }
        }
    }
}

fn fill(ty: &FieldType, value: &mut Value) {
    match (ty, value) {
        (FieldType::Struct(name), Value::Object(object)) => {
            if let Some(ty) = Schema::builtin().ty(name) {
                fill_struct(ty, object);
            }
        }
        (FieldType::List(inner), Value::Array(items)) => {
            if let FieldType::Struct(name) = &**inner
                && PLANS.contains_key(name)
            {
                for item in items {
                    fill(inner, item);
                }
            }
        }
        // NB: the server's defaulting does not look into maps of structs.
        _ => {}
    }
}

/// Amounts of resources have no more than three places behind the point.
fn round_up(list: &mut Value) {
    let Value::Object(list) = list else { return };
    for value in list.values_mut() {
        // Only these forms can have more: the texts are canonical.
        if let Value::String(text) = &*value
            && (text.ends_with(['n', 'u']) || text.contains("e-") || text.contains('.'))
            && let Ok(mut quantity) = Quantity::parse(text)
        {
            quantity.round_up_to_milli();
            *value = quantity.to_string().into();
        }
    }
}

/// Sets a field where missing and zero are two things, when it is missing.
fn unset(object: &mut Object, name: &str, value: impl Into<Value>) {
    if object.get(name).is_none_or(Value::is_null) {
        object.insert(name.into(), value.into());
    }
}

/// Sets a field where missing and zero are the same, when it is either.
fn zero(object: &mut Object, name: &str, value: impl Into<Value>) {
    let is_zero = match object.get(name) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Number(number)) => number.as_i64() == Some(0),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(entries)) => entries.is_empty(),
        Some(Value::Bool(_)) => false,
    };
    if is_zero {
        object.insert(name.into(), value.into());
    }
}

/// The text of a field; empty when it is missing.
fn text<'a>(object: &'a Object, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A struct inside, which is made when it is missing.
fn inside<'a>(object: &'a mut Object, name: &str) -> &'a mut Object {
    static EMPTY: LazyLock<Value> = LazyLock::new(|| json!({}));
    let value = object.entry(name).or_insert_with(|| EMPTY.clone());
    if !value.is_object() {
        *value = EMPTY.clone();
    }
    value.as_object_mut().expect("invariant: it was made an object just now")
}

/// A struct inside, when it is there.
fn part<'a>(object: &'a mut Object, name: &str) -> Option<&'a mut Object> {
    object.get_mut(name)?.as_object_mut()
}

/// The structs of a list.
fn items<'a>(object: &'a mut Object, name: &str) -> impl Iterator<Item = &'a mut Object> {
    let list = object.get_mut(name).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

#[cfg(test)]
mod tests {
    use super::super::decode::decode;
    use super::*;

    /// Reads an object and fills it.
    pub(super) fn filled(object: Value) -> Value {
        let name = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
        let kind = Schema::builtin().kind(&name("apiVersion"), &name("kind")).expect("kind");
        let mut object = decode(kind, object).expect("it can be read").object;
        default(kind, &mut object);
        object
    }

    #[test]
    fn a_pod_template_gets_the_same_defaults_wherever_it_is() {
        let template = json!({"spec": {"containers": [{"name": "a", "image": "b"}]}});
        let deployment =
            filled(json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": template}}));
        let cron = filled(json!({"apiVersion": "batch/v1", "kind": "CronJob",
            "spec": {"jobTemplate": {"spec": {"template": template}}}}));
        assert_eq!(
            deployment["spec"]["template"],
            json!({"metadata": {}, "spec": {"containers": [{"name": "a", "image": "b", "imagePullPolicy": "Always", "resources": {},
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}],
                "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
                "securityContext": {}, "terminationGracePeriodSeconds": 30}})
        );
        assert_eq!(deployment["spec"]["template"], cron["spec"]["jobTemplate"]["spec"]["template"]);
        assert!(
            cron["spec"]["jobTemplate"]["spec"].get("backoffLimit").is_none(),
            "the rule of Jobs is for Jobs only"
        );
    }

    #[test]
    fn tiny_amounts_are_rounded_up_in_resources_but_not_where_no_defaults_are() {
        let deployment =
            filled(json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": {
            "containers": [{"name": "a", "resources": {"requests": {"cpu": "100u"}}}]}}}}));
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["resources"]["requests"]["cpu"], "1m");
        let class = filled(json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "a",
            "overhead": {"podFixed": {"cpu": "100u"}}}));
        assert_eq!(class["overhead"]["podFixed"]["cpu"], "100u");
    }

    #[test]
    fn defaults_do_not_change_what_they_made() {
        let object = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "a"}, "spec": {"template": {"spec": {
            "serviceAccountName": "s", "volumes": [{"name": "v"}], "containers": [{"name": "a", "image": "a:1"}]}}}});
        let once = filled(object);
        assert_eq!(filled(once.clone()), once);
    }

    #[test]
    fn types_without_rules_are_not_walked() {
        assert!(!PLANS.contains_key("apiextensions.v1.JSONSchemaProps"));
        assert!(PLANS.contains_key("core.v1.PodTemplateSpec"));
    }
}
