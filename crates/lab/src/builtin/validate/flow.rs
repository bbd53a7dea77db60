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
            if limited.is_set() {
                limits(&limited, errors);
            }
        }
        "" => errors.push(kind.required("")),
        _ => errors.push(kind.not_supported(&["Exempt", "Limited"])),
    }
}

fn limits(limited: &Cursor<'_, '_>, errors: &mut Errors) {
    let shares = limited.field("nominalConcurrencyShares");
    if shares.number().is_some_and(|it| it < 0) {
        errors.push(shares.invalid("must be a non-negative integer"));
    }
    let response = limited.field("limitResponse");
    let (kind, queuing) = (response.field("type"), response.field("queuing"));
    match kind.text() {
        "Reject" if queuing.is_set() => {
            errors.push(queuing.forbidden("must be nil if limited.limitResponse.type is not Limited"));
        }
        "Reject" => {}
        "Queue" if !queuing.is_set() => {
            errors.push(queuing.required("must not be empty if limited.limitResponse.type is Limited"));
        }
        "Queue" => queues(&queuing, errors),
        "" => errors.push(kind.required("")),
        _ => errors.push(kind.not_supported(&["Queue", "Reject"])),
    }
    let (lendable, borrowing) = (limited.field("lendablePercent"), limited.field("borrowingLimitPercent"));
    if lendable.number().is_some_and(|it| !(0..=100).contains(&it)) {
        errors.push(lendable.invalid("must be between 0 and 100, inclusive"));
    }
    if borrowing.number().is_some_and(|it| it < 0) {
        errors.push(borrowing.invalid("if specified, must be a non-negative integer"));
    }
}

fn queues(queuing: &Cursor<'_, '_>, errors: &mut Errors) {
    const MOST_QUEUES: i64 = 10_000_000;
    /// How many bits of a hash choose the queues of a flow.
    const HASH_BITS: i32 = 60;
    let (length, count, hand) =
        (queuing.field("queueLengthLimit"), queuing.field("queues"), queuing.field("handSize"));
    let number = |field: &Cursor<'_, '_>| field.number().unwrap_or(0);
    let (queues, size) = (number(&count), number(&hand));
    if number(&length) <= 0 {
        errors.push(length.invalid_as(number(&length), "must be positive"));
    }
    if queues <= 0 {
        errors.push(count.invalid_as(queues, "must be positive"));
    } else if queues > MOST_QUEUES {
        errors.push(count.invalid_as(queues, format!("must not be greater than {MOST_QUEUES}")));
    }
    if size <= 0 {
        errors.push(hand.invalid_as(size, "must be positive"));
    } else if size > queues {
        errors.push(hand.invalid_as(size, format!("should not be greater than queues ({queues})")));
    } else if entropy_bits(queues, size) > f64::from(HASH_BITS) {
        errors.push(hand.invalid_as(
            size,
            format!(
                "required entropy bits of deckSize {queues} and handSize {size} should not be greater than {HASH_BITS}"
            ),
        ));
    }
}

/// How many bits it takes, at most, to deal a hand from a deck.
fn entropy_bits(deck: i64, hand: i64) -> f64 {
    let number = |count: i64| u32::try_from(count).map_or(f64::INFINITY, f64::from);
    (number(deck).log2() * number(hand)).ceil()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(spec: &serde_json::Value) -> Vec<String> {
        let object = json!({"metadata": {"name": "a"}, "spec": spec});
        let mut errors = Vec::new();
        level(&Cursor::root(&object), &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn queues_are_described_when_requests_wait_in_them() {
        let spec = |response| json!({"type": "Limited", "limited": {"nominalConcurrencyShares": 1, "limitResponse": response}});
        assert_eq!(
            texts(&spec(json!({"type": "Queue"}))),
            [
                "spec.limited.limitResponse.queuing: Required value: must not be empty if limited.limitResponse.type is Limited"
            ]
        );
        let queues = |queues: i64, hand: i64| json!({"type": "Queue", "queuing": {"queues": queues, "handSize": hand, "queueLengthLimit": 5}});
        assert!(texts(&spec(queues(64, 8))).is_empty());
        assert_eq!(
            texts(&spec(queues(4, 8))),
            [
                "spec.limited.limitResponse.queuing.handSize: Invalid value: 8: should not be greater than queues (4)"
            ]
        );
        assert_eq!(texts(&spec(queues(1_000_000, 9))).len(), 1);
        assert!(texts(&spec(json!({"type": "Reject"}))).is_empty());
    }
}
