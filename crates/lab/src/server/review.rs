//! Questions that look like objects: may I, who am I. They are answered and not stored.

use serde_json::{Value, json};

use super::core::Call;
use super::resource::Resource;

/// The answer to a review, or nothing when the resource is no review.
///
/// There are no permissions in the lab: whoever got in may do everything.
pub(super) fn answer(resource: &Resource, call: &Call<'_>, question: &Value) -> Option<Value> {
    let names = &resource.names;
    let user = json!({"username": call.user.name, "uid": call.user.uid, "groups": call.user.groups});
    let status = match (names.group.as_str(), names.kind.as_str()) {
        ("authorization.k8s.io", "SelfSubjectRulesReview") => json!({
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": false,
        }),
        ("authorization.k8s.io", _) => json!({"allowed": true, "reason": "the lab has no permissions"}),
        ("authentication.k8s.io", "SelfSubjectReview") => json!({"userInfo": user}),
        ("authentication.k8s.io", _) => json!({"error": "the lab issues no tokens"}),
        _ => return None,
    };
    let mut answer = question.clone();
    answer["status"] = status;
    Some(answer)
}
