//! Flow schemas and priority levels.

use crate::meta::{Cursor, names};

use super::scalars::Errors;

const VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

/// A `FlowSchema`.
pub(super) fn schema(new: &Cursor<'_, '_>, errors: &mut Errors) {
    let spec = new.field("spec");
    let precedence = spec.field("matchingPrecedence");
    let number = precedence.number().unwrap_or(0);
    if number <= 0 {
        errors.push(precedence.invalid_as(number, "must be a positive value"));
    }
    if number > 10000 {
        errors.push(precedence.invalid("must not be greater than 10000"));
    }
    if number == 1 && new.field("metadata").field("name").text() != "exempt" {
        errors.push(precedence.invalid("only the schema named 'exempt' may have matchingPrecedence 1"));
    }
    let level = spec.field("priorityLevelConfiguration");
    let name = level.field("name");
    if name.is_empty() {
        errors.push(name.required("must reference a priority level"));
    } else {
        name.each_invalid(names::dns_subdomain(name.text()), errors);
    }
    for rule in spec.field("rules").items() {
        if rule.field("subjects").is_empty() {
            errors.push(rule.field("subjects").required("subjects must contain at least one value"));
        }
        for subject in rule.field("subjects").items() {
            schema_subject(&subject, errors);
        }
        let (resources, urls) = (rule.field("resourceRules"), rule.field("nonResourceRules"));
        if resources.is_empty() && urls.is_empty() {
            let detail = "at least one of resourceRules and nonResourceRules has to be non-empty";
            errors.push(rule.required(detail));
        }
        for resource in resources.items() {
            resource_rule(&resource, errors);
        }
        for url in urls.items() {
            list(&url.field("verbs"), "verbs must contain at least one value", "verbs", errors);
            let detail = "nonResourceURLs must contain at least one value";
            list(&url.field("nonResourceURLs"), detail, "non-resource URLs", errors);
        }
    }
}

fn schema_subject(subject: &Cursor<'_, '_>, errors: &mut Errors) {
    let (kind, field) = match subject.field("kind").text() {
        kind @ "ServiceAccount" => (kind, "serviceAccount"),
        kind @ "User" => (kind, "user"),
        kind @ "Group" => (kind, "group"),
        _ => {
            errors.push(subject.field("kind").not_supported(&["Group", "ServiceAccount", "User"]));
            return;
        }
    };
    let named = subject.field(field);
    if named.is_set() {
        if named.field("name").is_empty() {
            errors.push(named.field("name").required(""));
        }
        if kind == "ServiceAccount" && named.field("namespace").is_empty() {
            errors.push(named.field("namespace").required("must specify namespace for service account"));
        }
    } else {
        errors.push(named.required(&format!("{field} is required when subject kind is '{kind}'")));
    }
    for (other_kind, other) in [("User", "user"), ("ServiceAccount", "serviceAccount"), ("Group", "group")] {
        if other != field && subject.field(other).is_set() {
            let detail = format!("{other} is forbidden when subject kind is not '{other_kind}'");
            errors.push(subject.field(other).forbidden(detail));
        }
    }
}

fn resource_rule(rule: &Cursor<'_, '_>, errors: &mut Errors) {
    list(&rule.field("verbs"), "verbs must contain at least one value", "verbs", errors);
    list(&rule.field("apiGroups"), "resource rules must supply at least one api group", "api groups", errors);
    list(&rule.field("resources"), "resource rules must supply at least one resource", "resources", errors);
    let namespaces = rule.field("namespaces");
    if namespaces.is_empty() && !rule.field("clusterScope").is_true() {
        let detail = "resource rules that are not cluster scoped must supply at least one namespace";
        errors.push(namespaces.required(detail));
    } else if !namespaces.is_empty() {
        list(&namespaces, "", "namespaces", errors);
    }
}

fn list(list: &Cursor<'_, '_>, required: &str, what: &str, errors: &mut Errors) {
    let has_star = list.list().iter().any(|it| it == "*");
    if list.is_empty() {
        errors.push(list.required(required));
    } else if has_star {
        if list.list().len() > 1 {
            errors.push(list.invalid(format!("if '*' is present, must not specify other {what}")));
        }
    } else if what == "verbs"
        && list.list().iter().any(|it| !VERBS.contains(&it.as_str().unwrap_or_default()))
    {
        errors.push(crate::status::FieldError::not_supported(list.path(), list.value().clone(), VERBS));
    }
}

/// A `PriorityLevelConfiguration`.
pub(super) fn level(new: &Cursor<'_, '_>, errors: &mut Errors) {
    let spec = new.field("spec");
    let (kind, limited, exempt) = (spec.field("type"), spec.field("limited"), spec.field("exempt"));
    if (new.field("metadata").field("name").text() == "exempt") != (kind.text() == "Exempt") {
        errors.push(kind.invalid("must be 'Exempt' if and only if `name` is 'exempt'"));
    }
    match kind.text() {
        "Exempt" => {
            if limited.is_set() {
                errors.push(limited.forbidden("must be nil if the type is not Limited"));
            }
        }
        "Limited" => {
            if exempt.is_set() {
                errors.push(exempt.forbidden("must be nil if the type is Limited"));
            }
            if !limited.is_set() {
                errors.push(limited.required("must not be empty when type is Limited"));
            }
            let response = limited.field("limitResponse");
            if limited.is_set() && !["Queue", "Reject"].contains(&response.field("type").text()) {
                errors.push(response.field("type").not_supported(&["Queue", "Reject"]));
            }
        }
        "" => errors.push(kind.required("")),
        _ => errors.push(kind.not_supported(&["Exempt", "Limited"])),
    }
}
