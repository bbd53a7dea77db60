//! Objects that somebody has deleted and that are still there.

use lockstep_api::names::{kind, reason};
use lockstep_api::object;
use serde_json::Value;

use crate::facts::{called, list, one_line, text};
use crate::{Verdict, Why, namespace};

/// Why an object that was deleted is still there; `None` for one that nobody has deleted.
///
/// The sentence names the finalizers, because who owns them is the one to ask; for a Namespace also what is left in it.
pub fn deletion(object: &Value) -> Option<Why> {
    let since = text(&object["metadata"]["deletionTimestamp"]);
    let is_namespace = object::group(object).is_empty() && object::kind(object) == kind::NAMESPACE;
    let is_terminating = is_namespace && text(&object["status"]["phase"]) == "Terminating";
    if since.is_empty() && !is_terminating {
        return None;
    }
    let since = if since.is_empty() { String::new() } else { format!(" since {}", one_line(since)) };
    let finalizers = finalizers(object);
    let waits = match finalizers.as_slice() {
        [] => String::new(),
        [one] => format!(" and waits for its finalizer {one}"),
        several => format!(" and waits for its finalizers {}", several.join(", ")),
    };
    let mut sentence = format!("{} is being deleted{since}{waits}", called(object));
    if is_namespace {
        for left in namespace::what_is_left(object) {
            sentence += "; ";
            sentence += &left;
        }
    }
    Some(Why { reason: reason::BEING_DELETED.to_owned(), sentence })
}

/// The same as a verdict: an object that a release wants comes back once it is gone.
pub(crate) fn verdict(object: &Value) -> Option<Verdict> {
    deletion(object).map(Verdict::NotYet)
}

/// The finalizers of the metadata, then those that only a Namespace has, in its spec.
fn finalizers(object: &Value) -> Vec<String> {
    [&object["metadata"]["finalizers"], &object["spec"]["finalizers"]]
        .into_iter()
        .take(if object::kind(object) == kind::NAMESPACE { 2 } else { 1 })
        .flat_map(list)
        .map(|finalizer| one_line(text(finalizer)))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn deleted_object_names_its_finalizers() {
        let mut object =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}});
        assert_eq!(deletion(&object), None);
        object["metadata"]["deletionTimestamp"] = json!("2026-07-01T10:00:00Z");
        let sentence = |object: &Value| deletion(object).unwrap().sentence;
        assert_eq!(sentence(&object), "ConfigMap ns/a is being deleted since 2026-07-01T10:00:00Z");
        object["metadata"]["finalizers"] = json!(["x.io/one"]);
        assert!(sentence(&object).ends_with("Z and waits for its finalizer x.io/one"));
        object["metadata"]["finalizers"] = json!(["x.io/one", "x.io/two"]);
        assert!(sentence(&object).ends_with("Z and waits for its finalizers x.io/one, x.io/two"));
    }

    #[test]
    fn finalizers_in_the_spec_count_only_for_a_namespace() {
        let other =
            json!({"kind": "Other", "metadata": {"deletionTimestamp": "T"}, "spec": {"finalizers": ["f"]}});
        assert!(!deletion(&other).unwrap().sentence.contains("finalizer"));
    }
}
