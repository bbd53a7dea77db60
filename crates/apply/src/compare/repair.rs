//! The way round a refused apply: replace the part that the server complains about by the manifest's.
//!
//! An apply merges. When somebody changed the number of a Service port, ours comes beside theirs and the server refuses
//! two ports of one name; the same holds for the members of a union, such as two sources of one volume.

use serde_json::Value;

use super::foreign::is_generic;
use super::patch::{PatchOperation, in_safe_order, unchanged_since};
use super::path::push_field;

/// The patch after which the apply can succeed; nothing when the manifest has none of the fields that the server names,
/// or the object already has the manifest's values there.
///
/// `fields` are those of `details.causes` of the refusal. They can be names that no manifest knows, and their places in
/// lists are those of the merged object: the part that is replaced is the outermost list on the way, or the nearest
/// thing around the field that the manifest has.
pub fn repair(manifest: &Value, live: &Value, fields: &[&str]) -> Option<Vec<PatchOperation>> {
    let found = fields.iter().filter_map(|field| replacement(manifest, live, field)).collect();
    let mut operations = in_safe_order(found);
    if operations.is_empty() {
        return None;
    }
    operations.extend(unchanged_since(live));
    Some(operations)
}

fn replacement(manifest: &Value, live: &Value, field: &str) -> Option<PatchOperation> {
    let complaint = up_to_list(field);
    let mut names = complaint.as_slice();
    loop {
        let (last, above) = names.split_last()?;
        let is_all = above.is_empty() && names.len() < complaint.len();
        // The whole spec of a kind is replaced only where the release alone decides about all of it.
        if ["apiVersion", "kind", "metadata", "status"].contains(&names[0]) || is_all && !is_generic(manifest)
        {
            return None;
        }
        let value_in = |object: &'_ Value| at(object, names).cloned();
        match (value_in(manifest), at(live, above)) {
            (Some(wanted), Some(Value::Object(around))) => {
                let mut pointer = String::new();
                for name in names {
                    push_field(&mut pointer, name);
                }
                return match around.get(*last) {
                    Some(live) if *live == wanted => None,
                    Some(_) => Some(PatchOperation::replace(pointer, wanted)),
                    None => Some(PatchOperation::add(pointer, wanted)),
                };
            }
            _ => names = above,
        }
    }
}

fn at<'a>(object: &'a Value, names: &[&str]) -> Option<&'a Value> {
    names.iter().try_fold(object, |value, name| value.as_object()?.get(*name))
}

/// The names on the way to a field, until the first list: `spec.ports[1].name` is `spec`, `ports`.
fn up_to_list(field: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = field.trim_start_matches('.');
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let Some((key, after)) = inner.split_once(']') else { break };
            if key.bytes().all(|byte| byte.is_ascii_digit()) {
                break;
            }
            // The key of a map.
            names.push(key);
            rest = after;
        } else {
            let name = rest.strip_prefix('.').unwrap_or(rest);
            let end = name.find(['.', '[']).unwrap_or(name.len());
            names.push(&name[..end]);
            rest = &name[end..];
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn service(ports: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "resourceVersion": "5"},
            "spec": {"ports": ports, "selector": {"app": "a"}}})
    }

    #[test]
    fn a_list_is_replaced_as_a_whole() {
        let wanted = json!([{"name": "https", "port": 443}]);
        let live = service(&json!([{"name": "https", "port": 444, "protocol": "TCP"}]));
        assert_eq!(
            repair(&service(&wanted), &live, &["spec.ports[1].name", "spec.ports[0]"]),
            Some(vec![
                PatchOperation::replace("/spec/ports", wanted),
                PatchOperation::replace("/metadata/resourceVersion", json!("5")),
            ])
        );
    }

    #[test]
    fn the_nearest_part_that_the_manifest_has_is_replaced() {
        let manifest = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {
            "strategy": {"type": "Recreate"}, "paused": true,
            "template": {"spec": {"volumes": [{"name": "v"}], "nodeSelector": {"a.b/c": "d"}}}}});
        let live = json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {}},
            "template": {"spec": {"nodeSelector": {"a.b/c": "x"}}}}});
        for (field, expected) in [
            ("spec.strategy.rollingUpdate", Some(("replace", "/spec/strategy"))),
            ("spec.template.spec.volumes[0].configMap", Some(("add", "/spec/template/spec/volumes"))),
            (
                "spec.template.spec.nodeSelector[a.b/c]",
                Some(("replace", "/spec/template/spec/nodeSelector/a.b~1c")),
            ),
            ("spec.paused", Some(("add", "/spec/paused"))),
            ("spec.replicas", None),
            ("spec.clusterIPs[0]", None),
            ("metadata.name", None),
            ("status.storedVersions[0]", None),
            ("", None),
            ("nonsense[", None),
        ] {
            let found = repair(&manifest, &live, &[field])
                .map(|operations| serde_json::to_value(&operations[0]).unwrap());
            let found =
                found.as_ref().map(|first| (first["op"].as_str().unwrap(), first["path"].as_str().unwrap()));
            assert_eq!(found, expected, "{field}");
        }
    }

    #[test]
    fn internal_names_of_the_server_lead_to_what_is_around_them() {
        let manifest = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "spec": {"conversion": {"strategy": "None"}}});
        let live = json!({"spec": {"conversion": {"strategy": "Webhook", "webhook": {}}}});
        let operations = repair(&manifest, &live, &["spec.conversion.webhookClientConfig"]).unwrap();
        assert_eq!(operations, [PatchOperation::replace("/spec/conversion", json!({"strategy": "None"}))]);
    }

    #[test]
    fn an_emptied_object_of_a_custom_resource_is_written_as_empty() {
        let manifest = json!({"apiVersion": "example.com/v1", "kind": "Widget", "spec": {}});
        let live = json!({"spec": {"a": 1}});
        for field in ["spec", "spec.a"] {
            assert_eq!(
                repair(&manifest, &live, &[field]).unwrap(),
                [PatchOperation::replace("/spec", json!({}))]
            );
        }
    }

    #[test]
    fn what_is_already_so_is_not_written_again() {
        let ports = json!([{"port": 1}]);
        assert_eq!(repair(&service(&ports), &service(&ports), &["spec.ports[0].port"]), None);
    }
}
