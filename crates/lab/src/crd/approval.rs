//! Groups of the Kubernetes community need a sign of approval on their definitions.

use serde_json::Value;

use super::uri;
use crate::status::FieldError;

/// The annotation that says where an API was approved.
const ANNOTATION: &str = "api-approved.kubernetes.io";
const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// What the annotation says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Approval {
    /// Something that is no approval.
    Invalid,
    /// The address of the approval.
    Approved,
    /// That there is none, knowingly.
    Bypassed,
    /// Nothing.
    Missing,
}

/// Refuses a definition in a protected group whose approval is missing or wrong, unless it was so before.
pub(crate) fn check(new: &Value, old: Option<&Value>) -> Option<FieldError> {
    if !is_protected(new) {
        return None;
    }
    let (approval, reason) = approval(new);
    if old.is_some_and(|old| self::approval(old).0 == approval) {
        return None;
    }
    let field = format!("metadata.annotations[{ANNOTATION}]");
    match approval {
        Approval::Invalid => Some(FieldError::invalid(field, annotation(new), reason)),
        Approval::Missing => Some(FieldError::required(field, reason)),
        Approval::Approved | Approval::Bypassed => None,
    }
}

/// Status, reason and message of the condition `KubernetesAPIApprovalPolicyConformant`; `None` in other groups.
pub(crate) fn condition(crd: &Value) -> Option<(&'static str, &'static str, String)> {
    if !is_protected(crd) {
        return None;
    }
    let (approval, message) = approval(crd);
    let (status, reason) = match approval {
        Approval::Invalid => ("False", "InvalidAnnotation"),
        Approval::Missing => ("False", "MissingAnnotation"),
        Approval::Approved => ("True", "ApprovedAnnotation"),
        Approval::Bypassed => ("False", "UnapprovedAnnotation"),
    };
    Some((status, reason, message))
}

fn is_protected(crd: &Value) -> bool {
    let group = crd["spec"]["group"].as_str().unwrap_or_default();
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

fn annotation(crd: &Value) -> &str {
    crd["metadata"]["annotations"][ANNOTATION].as_str().unwrap_or_default()
}

fn approval(crd: &Value) -> (Approval, String) {
    let text = annotation(crd);
    if text.is_empty() {
        let message = format!("protected groups must have approval annotation \"{ANNOTATION}\", {SEE}");
        return (Approval::Missing, message);
    }
    if text.starts_with("unapproved") {
        return (Approval::Bypassed, format!("not approved: {}", crate::go::quote(text)));
    }
    if uri::has_scheme_and_host(text) {
        return (Approval::Approved, format!("approved in {text}"));
    }
    let message = format!(
        "protected groups must have approval annotation \"{ANNOTATION}\" with either a URL or a reason starting with \
         \"unapproved\", {SEE}"
    );
    (Approval::Invalid, message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn a_definition(group: &str, annotation: &str) -> Value {
        json!({"metadata": {"annotations": {ANNOTATION: annotation}}, "spec": {"group": group}})
    }

    #[test]
    fn only_protected_groups_need_approval() {
        assert!(check(&a_definition("ex.dev", ""), None).is_none());
        assert!(check(&a_definition("mk8s.io", ""), None).is_none());
        let missing = check(&a_definition("x.k8s.io", ""), None).unwrap();
        assert!(
            missing
                .to_string()
                .starts_with("metadata.annotations[api-approved.kubernetes.io]: Required value: ")
        );
        assert!(
            check(&a_definition("x.k8s.io", "yes"), None)
                .unwrap()
                .to_string()
                .contains("Invalid value: \"yes\"")
        );
        assert!(check(&a_definition("x.k8s.io", "yes"), Some(&a_definition("x.k8s.io", "no"))).is_none());
    }

    #[test]
    fn the_condition_says_where_it_was_approved() {
        let (status, reason, message) = condition(&a_definition("x.k8s.io", "https://a/b")).unwrap();
        assert_eq!(
            (status, reason, message.as_str()),
            ("True", "ApprovedAnnotation", "approved in https://a/b")
        );
    }
}
