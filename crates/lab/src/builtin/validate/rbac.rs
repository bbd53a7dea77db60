//! Roles and bindings.

use serde_json::json;

use crate::meta::{self, Cursor, names};

use super::scalars::{Errors, same};

const GROUP: &str = "rbac.authorization.k8s.io";

/// A role or a binding.
pub(super) fn check(kind: &str, new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    match kind {
        "Role" | "ClusterRole" => role(kind, new, errors),
        _ => binding(kind, new, errors),
    }
    if let Some(old) = old
        && kind.ends_with("Binding")
        && !same(&new.field("roleRef"), &old.field("roleRef"))
    {
        // The real server shows its own structure, whose names begin with capitals.
        let role = new.field("roleRef");
        let shown = json!({
            "APIGroup": role.field("apiGroup").text(), "Kind": role.field("kind").text(), "Name": role.field("name").text(),
        });
        errors.push(role.invalid_as(shown, "cannot change roleRef"));
    }
}

fn role(kind: &str, new: &Cursor<'_, '_>, errors: &mut Errors) {
    for rule in new.field("rules").items() {
        if rule.field("verbs").is_empty() {
            errors.push(rule.field("verbs").required("verbs must contain at least one value"));
        }
        let urls = rule.field("nonResourceURLs");
        if !urls.is_empty() {
            if kind == "Role" {
                errors.push(urls.invalid("namespaced rules cannot apply to non-resource URLs"));
            }
            if ["apiGroups", "resources", "resourceNames"].iter().any(|name| !rule.field(name).is_empty()) {
                errors
                    .push(urls.invalid("rules cannot apply to both regular resources and non-resource URLs"));
            }
            continue;
        }
        if rule.field("apiGroups").is_empty() {
            errors
                .push(rule.field("apiGroups").required("resource rules must supply at least one api group"));
        }
        if rule.field("resources").is_empty() {
            errors.push(rule.field("resources").required("resource rules must supply at least one resource"));
        }
    }
    let aggregation = new.field("aggregationRule");
    if kind == "ClusterRole" && aggregation.is_set() {
        let selectors = aggregation.field("clusterRoleSelectors");
        if selectors.is_empty() {
            let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            errors.push(selectors.required(detail));
        }
        for selector in selectors.items() {
            meta::label_selector(&selector, errors);
        }
    }
}

fn binding(kind: &str, new: &Cursor<'_, '_>, errors: &mut Errors) {
    let role = new.field("roleRef");
    if role.field("apiGroup").text() != GROUP {
        errors.push(role.field("apiGroup").not_supported(&[GROUP]));
    }
    let kinds: &[&str] = if kind == "RoleBinding" { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&role.field("kind").text()) {
        errors.push(role.field("kind").not_supported(kinds));
    }
    let name = role.field("name");
    if name.is_empty() {
        errors.push(name.required(""));
    } else {
        name.each_invalid(names::path_segment(name.text(), false), errors);
    }
    for subject in new.field("subjects").items() {
        let (name, group) = (subject.field("name"), subject.field("apiGroup"));
        if name.is_empty() {
            errors.push(name.required(""));
        }
        match subject.field("kind").text() {
            "ServiceAccount" => {
                if !name.is_empty() {
                    name.each_invalid(names::dns_subdomain(name.text()), errors);
                }
                if !group.is_empty() {
                    errors.push(group.not_supported(&[""]));
                }
                if kind == "ClusterRoleBinding" && subject.field("namespace").is_empty() {
                    errors.push(subject.field("namespace").required(""));
                }
            }
            "User" | "Group" => {
                if group.text() != GROUP {
                    errors.push(group.not_supported(&[GROUP]));
                }
            }
            _ => errors.push(subject.field("kind").not_supported(&["ServiceAccount", "User", "Group"])),
        }
    }
}
