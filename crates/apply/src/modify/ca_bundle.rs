//! Certificate authorities that someone else injects.

use lockstep_api::names::{annotation, group, kind};
use lockstep_api::object;
use serde_json::Value;

/// Drops a placeholder for a CA bundle from an object that asks for injection: we would write it over the real one
/// again and again.
pub(super) fn leave_to_injector(object: &mut Value) {
    if object::annotation(object, annotation::INJECT_CABUNDLE) != Some("true") {
        return;
    }
    let remove = |holder: Option<&mut Value>| {
        if let Some(Value::Object(holder)) = holder {
            holder.remove("caBundle");
        }
    };
    match (object::group(object), object::kind(object)) {
        (group::API_EXTENSIONS, kind::CUSTOM_RESOURCE_DEFINITION) => {
            remove(object.pointer_mut("/spec/conversion/webhook/clientConfig"));
        }
        (group::API_REGISTRATION, kind::API_SERVICE) => remove(object.get_mut("spec")),
        (
            group::ADMISSION_REGISTRATION,
            kind::VALIDATING_WEBHOOK_CONFIGURATION | kind::MUTATING_WEBHOOK_CONFIGURATION,
        ) => {
            let webhooks = object.get_mut("webhooks").and_then(Value::as_array_mut);
            webhooks.into_iter().flatten().for_each(|webhook| remove(webhook.get_mut("clientConfig")));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn objects(annotation: &str) -> Vec<Value> {
        let client = json!({"caBundle": "eA==", "service": {"name": "s"}});
        let metadata = json!({"annotations": {"service.beta.openshift.io/inject-cabundle": annotation}});
        let admission = "admissionregistration.k8s.io/v1";
        let webhooks = json!([{"name": "a", "clientConfig": client}, {"name": "b", "clientConfig": client}]);
        vec![
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata,
                "spec": {"conversion": {"webhook": {"clientConfig": client}}}}),
            json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": metadata, "spec": client}),
            json!({"apiVersion": admission, "kind": "ValidatingWebhookConfiguration", "metadata": metadata,
                "webhooks": webhooks}),
            json!({"apiVersion": admission, "kind": "MutatingWebhookConfiguration", "metadata": metadata,
                "webhooks": webhooks}),
        ]
    }

    #[test]
    fn a_placeholder_goes_where_somebody_injects_the_bundle() {
        for mut object in objects("true") {
            leave_to_injector(&mut object);
            let text = object.to_string();
            assert!(!text.contains("caBundle") && text.contains("service\":"), "{text}");
        }
    }

    #[test]
    fn a_bundle_stays_where_nobody_injects_one() {
        for object in objects("false") {
            let mut changed = object.clone();
            leave_to_injector(&mut changed);
            assert_eq!(changed, object);
        }
    }

    #[test]
    fn a_key_of_the_same_name_stays_in_other_kinds() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"caBundle": "x"},
            "metadata": {"annotations": {"service.beta.openshift.io/inject-cabundle": "true"}}});
        let mut changed = object.clone();
        leave_to_injector(&mut changed);
        assert_eq!(changed, object);
    }
}
