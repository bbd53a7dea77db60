//! What of a ClusterVersion's spec cannot be used, beyond what the API server refuses.
//!
//! The operator goes on without those parts and says so in the condition `Invalid`.

mod format;

use std::fmt;

use super::{ClusterVersion, Release, Update, UpdateHistory};

/// One field that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Path of the field.
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: Problem,
    /// The rule that it breaks.
    pub message: &'static str,
}

/// What is wrong with a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// It is missing.
    Required,
    /// It must not be there.
    Forbidden,
    /// Its value is wrong.
    Invalid(String),
}

const NAME: &str = "metadata.name";
const NAMESPACE: &str = "metadata.namespace";
const UPSTREAM: &str = "spec.upstream";
const CLUSTER_ID: &str = "spec.clusterID";
const DESIRED_UPDATE: &str = "spec.desiredUpdate";
const ACCEPT_RISKS: &str = "spec.desiredUpdate.acceptRisks";
const VERSION: &str = "spec.desiredUpdate.version";

/// Everything in a ClusterVersion that cannot be used; `accept_risks` tells whether the feature of that name is on.
///
/// *Order*: name, upstream, cluster ID, desired update; of the desired update only the first problem counts.
pub fn validate(object: &ClusterVersion, accept_risks: bool) -> Vec<FieldError> {
    let spec = &object.spec;
    let mut errors = Vec::new();
    errors.extend(check_name(object));
    if !format::is_url(&spec.upstream) {
        errors.push(FieldError::invalid(UPSTREAM, &spec.upstream, "must be a valid URL or empty"));
    }
    errors.extend(check_cluster_id(&spec.cluster_id));
    errors.extend(spec.desired_update.as_ref().and_then(|update| check_update(update, object, accept_risks)));
    errors
}

/// The same ClusterVersion without the parts that cannot be used.
///
/// *Compatibility*: a desired update that asks for nothing is dropped like any other wrong one; the reference keeps it.
#[must_use]
pub fn without_invalid(mut object: ClusterVersion, errors: &[FieldError]) -> ClusterVersion {
    for error in errors {
        match error.field {
            UPSTREAM => object.spec.upstream.clear(),
            CLUSTER_ID => object.spec.cluster_id.clear(),
            field if field.starts_with(DESIRED_UPDATE) => object.spec.desired_update = None,
            _ => {}
        }
    }
    object
}

/// The message of the condition `Invalid`.
pub fn invalid_message(errors: &[FieldError]) -> Option<String> {
    match errors {
        [] => None,
        [one] => Some(format!("The cluster version is invalid: {one}")),
        many => {
            let lines: Vec<String> = many.iter().map(|error| format!("* {error}\n")).collect();
            Some(format!("The cluster version is invalid:\n{}", lines.concat()))
        }
    }
}

fn check_name(object: &ClusterVersion) -> Option<FieldError> {
    let name = &object.metadata.name;
    if name.is_empty() {
        Some(FieldError { field: NAME, problem: Problem::Required, message: "a name is required" })
    } else if !object.metadata.namespace.is_empty() {
        let message = "not allowed on this type";
        Some(FieldError { field: NAMESPACE, problem: Problem::Forbidden, message })
    } else if format::is_dns_label(name) {
        None
    } else {
        let message = "must be a DNS-1035 label: at most 63 lower case letters, digits and '-', a letter first and no \
                       '-' last";
        Some(FieldError::invalid(NAME, name, message))
    }
}

fn check_cluster_id(id: &str) -> Option<FieldError> {
    if id.is_empty() {
        return None;
    }
    match format::uuid_version(id) {
        None => Some(FieldError::invalid(CLUSTER_ID, id, "must be an RFC4122-variant UUID")),
        Some(4) => None,
        Some(_) => Some(FieldError::invalid(CLUSTER_ID, id, "must be a version-4 UUID")),
    }
}

fn check_update(update: &Update, object: &ClusterVersion, accept_risks: bool) -> Option<FieldError> {
    let Update { architecture, version, image, accept_risks: risks, .. } = update;
    if !accept_risks && !risks.is_empty() {
        let message = "acceptRisks must not be specified";
        return Some(FieldError { field: ACCEPT_RISKS, problem: Problem::Forbidden, message });
    }
    if architecture.is_empty() && version.is_empty() && image.is_empty() && risks.is_empty() {
        let message = if accept_risks {
            "must specify architecture, version, image, or acceptRisks"
        } else {
            "must specify architecture, version, or image"
        };
        return Some(FieldError { field: DESIRED_UPDATE, problem: Problem::Required, message });
    }
    if version.is_empty() {
        return None;
    }
    let invalid = |message| Some(FieldError::invalid(VERSION, version, message));
    if !format::is_semantic_version(version) {
        return invalid("must be a semantic version (1.2.3[-...])");
    }
    if !image.is_empty() {
        return None;
    }
    match images_of_version(object, version) {
        0 => invalid("when image is empty the update must be an available update"),
        1 => None,
        _ => invalid("there are multiple possible payloads for this version, specify the exact image"),
    }
}

/// How many images a version may mean: those of available updates, else the one that the cluster has had.
fn images_of_version(object: &ClusterVersion, version: &str) -> usize {
    let is_available = |update: &&Release| update.version == version && !update.image.is_empty();
    let was_there = |entry: &UpdateHistory| entry.version == version && !entry.image.is_empty();
    match object.status.available_updates.iter().flatten().filter(is_available).count() {
        0 => usize::from(object.status.history.iter().any(was_there)),
        count => count,
    }
}

// === impl FieldError ===

impl FieldError {
    fn invalid(field: &'static str, value: &str, message: &'static str) -> Self {
        Self { field, problem: Problem::Invalid(value.to_owned()), message }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, problem, message } = self;
        match problem {
            Problem::Required => write!(f, "{field}: Required value: {message}"),
            Problem::Forbidden => write!(f, "{field}: Forbidden: {message}"),
            Problem::Invalid(value) => write!(f, "{field}: Invalid value: {value:?}: {message}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ID: &str = "a7f1d4c2-1b1e-4f8a-9c55-0d6a3a1f2b3c";

    fn with(spec: &Value, status: &Value) -> ClusterVersion {
        let mut object = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
            "metadata": {"name": "version"}, "spec": {"clusterID": ID}});
        for (key, value) in spec.as_object().unwrap() {
            object["spec"][key] = value.clone();
        }
        object["status"] = status.clone();
        serde_json::from_value(object).unwrap()
    }

    fn problems(object: &ClusterVersion, accept_risks: bool) -> Vec<String> {
        validate(object, accept_risks).iter().map(ToString::to_string).collect()
    }

    fn of_spec(spec: &Value) -> Vec<String> {
        problems(&with(spec, &json!(null)), false)
    }

    #[test]
    fn a_usable_object_has_no_problems() {
        assert!(of_spec(&json!({})).is_empty());
        assert!(of_spec(&json!({"clusterID": ""})).is_empty());
        assert!(
            of_spec(&json!({"upstream": "https://example.com/graph", "desiredUpdate": {"image": "i"}}))
                .is_empty()
        );
    }

    #[test]
    fn the_name_must_be_a_label() {
        let named = |name: &str| problems(&ClusterVersion::new(name), false).concat();
        assert_eq!(named("version"), "");
        assert_eq!(named(""), "metadata.name: Required value: a name is required");
        for name in ["Version", "1version", "version-", "a.b", &"a".repeat(64)] {
            assert!(named(name).starts_with("metadata.name: Invalid value: "), "{name}");
        }
        let mut namespaced = ClusterVersion::new("version");
        namespaced.metadata.namespace = "ns".to_owned();
        assert_eq!(problems(&namespaced, false), ["metadata.namespace: Forbidden: not allowed on this type"]);
    }

    #[test]
    fn upstream_and_cluster_id_are_told_together() {
        let object = with(&json!({"clusterID": "not-valid-cluster-id", "upstream": "#%GG"}), &json!(null));
        let errors = validate(&object, false);
        assert_eq!(
            invalid_message(&errors).unwrap(),
            "The cluster version is invalid:\n* spec.upstream: Invalid value: \"#%GG\": must be a valid URL or empty\n\
             * spec.clusterID: Invalid value: \"not-valid-cluster-id\": must be an RFC4122-variant UUID\n"
        );
        let cleared = without_invalid(object, &errors);
        assert_eq!((cleared.spec.upstream.as_str(), cleared.spec.cluster_id.as_str()), ("", ""));
        let first = "a7f1d4c2-1b1e-1f8a-9c55-0d6a3a1f2b3c";
        assert_eq!(
            of_spec(&json!({"clusterID": first})),
            [format!("spec.clusterID: Invalid value: {first:?}: must be a version-4 UUID")]
        );
    }

    #[test]
    fn a_desired_update_must_ask_for_something() {
        let update =
            |update: Value, gate| problems(&with(&json!({"desiredUpdate": update}), &json!(null)), gate);
        let (empty, risky) = (json!({"force": true}), json!({"acceptRisks": [{"name": "R"}]}));
        assert_eq!(
            update(empty.clone(), false),
            ["spec.desiredUpdate: Required value: must specify architecture, version, or image"]
        );
        assert_eq!(
            update(empty, true),
            ["spec.desiredUpdate: Required value: must specify architecture, version, image, or acceptRisks"]
        );
        assert_eq!(
            update(risky.clone(), false),
            ["spec.desiredUpdate.acceptRisks: Forbidden: acceptRisks must not be specified"]
        );
        assert!(update(risky, true).is_empty(), "enough where the feature is on");
        assert!(update(json!({"architecture": "Multi"}), false).is_empty());
    }

    #[test]
    fn a_version_must_be_semantic_and_mean_one_image() {
        let available = json!([{"version": "4.0.2", "image": "two"}, {"version": "4.0.3", "image": "a"},
            {"version": "4.0.3", "image": "b"}, {"version": "4.0.5", "image": ""}]);
        let history = json!([{"state": "Completed", "startedTime": "2026-01-01T00:00:00Z", "version": "4.0.1",
            "image": "one"}]);
        let status = json!({"availableUpdates": available, "history": history});
        let update = |version: &str, image: &str| {
            let update = json!({"version": version, "image": image});
            problems(&with(&json!({"desiredUpdate": update}), &status), false).concat()
        };
        let invalid = |version: &str, text: &str| {
            format!("spec.desiredUpdate.version: Invalid value: {version:?}: {text}")
        };
        assert_eq!(update("4.0.2", ""), "");
        assert_eq!(update("4.0.1", ""), "", "the history counts");
        assert_eq!(update("v4", "i"), invalid("v4", "must be a semantic version (1.2.3[-...])"));
        for version in ["4.0.4", "4.0.5"] {
            let text = "when image is empty the update must be an available update";
            assert_eq!(update(version, ""), invalid(version, text));
        }
        let text = "there are multiple possible payloads for this version, specify the exact image";
        assert_eq!(update("4.0.3", ""), invalid("4.0.3", text));
        assert_eq!(update("4.0.4", "i"), "", "an image needs no list");
    }

    #[test]
    fn any_problem_of_the_desired_update_drops_it() {
        for update in [json!({"version": "v4"}), json!({"force": true})] {
            let object = with(&json!({"desiredUpdate": update, "channel": "fast"}), &json!(null));
            let errors = validate(&object, false);
            assert!(invalid_message(&errors).unwrap().starts_with("The cluster version is invalid: spec."));
            let cleared = without_invalid(object, &errors);
            assert_eq!((cleared.spec.desired_update, cleared.spec.channel.as_str()), (None, "fast"));
        }
        assert_eq!(invalid_message(&[]), None);
    }
}
