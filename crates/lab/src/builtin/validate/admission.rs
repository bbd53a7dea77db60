//! Webhook configurations and admission policies. Expressions are not compiled: any text is taken for one.

use std::collections::BTreeSet;

use crate::meta::{self, Cursor, names};

use super::scalars::{Errors, optional_one_of, required_name};

/// A configuration of validating or mutating webhooks.
pub(super) fn webhooks(new: &Cursor<'_, '_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for hook in new.field("webhooks").items() {
        let name = hook.field("name");
        webhook(&hook, errors);
        review_versions(&hook.field("admissionReviewVersions"), errors);
        if !name.is_empty() && !seen.insert(name.text()) {
            errors.push(name.duplicate());
        }
    }
}

fn webhook(hook: &Cursor<'_, '_>, errors: &mut Errors) {
    qualified_name(&hook.field("name"), errors);
    for rule in hook.field("rules").items() {
        rule_with_operations(&rule, errors);
    }
    optional_one_of(&hook.field("failurePolicy"), &["Fail", "Ignore"], errors);
    optional_one_of(&hook.field("matchPolicy"), &["Equivalent", "Exact"], errors);
    let effects = hook.field("sideEffects");
    if effects.is_set() {
        optional_one_of(&effects, &["None", "NoneOnDryRun"], errors);
    } else {
        errors.push(effects.required("must specify one of None, NoneOnDryRun"));
    }
    let timeout = hook.field("timeoutSeconds");
    if timeout.number().is_some_and(|it| !(1..=30).contains(&it)) {
        errors.push(timeout.invalid("the timeout value must be between 1 and 30 seconds"));
    }
    meta::label_selector(&hook.field("namespaceSelector"), errors);
    meta::label_selector(&hook.field("objectSelector"), errors);
    optional_one_of(&hook.field("reinvocationPolicy"), &["IfNeeded", "Never"], errors);
    let client = hook.field("clientConfig");
    let (url, service) = (client.field("url"), client.field("service"));
    match (url.is_set(), service.is_set()) {
        (true, false) => webhook_url(&url, errors),
        (false, true) => webhook_service(&service, errors),
        _ => errors.push(client.required("exactly one of url or service is required")),
    }
    match_conditions(&hook.field("matchConditions"), errors);
}

/// A name with at least three parts.
fn qualified_name(name: &Cursor<'_, '_>, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(name.required(""));
        return;
    }
    let sentences = names::dns_subdomain(name.text());
    if !sentences.is_empty() {
        errors.push(name.invalid(sentences.join(",")));
    } else if name.text().split('.').count() < 3 {
        errors.push(name.invalid("should be a domain with at least three segments separated by dots"));
    }
}

fn review_versions(versions: &Cursor<'_, '_>, errors: &mut Errors) {
    if versions.is_empty() {
        errors.push(versions.required("must specify one of v1, v1beta1"));
        return;
    }
    let mut seen = BTreeSet::new();
    for version in versions.items() {
        if seen.insert(version.text()) {
            version.each_invalid(names::dns_1035_label(version.text()), errors);
        } else {
            errors.push(version.invalid("duplicate version"));
        }
    }
    if !seen.contains("v1") && !seen.contains("v1beta1") {
        errors.push(versions.invalid("must include at least one of v1, v1beta1"));
    }
}

fn rule_with_operations(rule: &Cursor<'_, '_>, errors: &mut Errors) {
    const OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    let operations = rule.field("operations");
    if operations.is_empty() {
        errors.push(operations.required(""));
    }
    let has_star = |list: &Cursor<'_, '_>| list.list().len() > 1 && list.list().iter().any(|it| it == "*");
    if has_star(&operations) {
        errors.push(operations.invalid("if '*' is present, must not specify other operations"));
    }
    for operation in operations.items() {
        optional_one_of(&operation, OPERATIONS, errors);
    }
    for (name, what) in [("apiGroups", "API groups"), ("apiVersions", "API versions")] {
        let list = rule.field(name);
        if list.is_empty() {
            errors.push(list.required(""));
        }
        if has_star(&list) {
            errors.push(list.invalid(format!("if '*' is present, must not specify other {what}")));
        }
        if name == "apiVersions" {
            for version in list.items().filter(|version| version.text().is_empty()) {
                errors.push(version.required(""));
            }
        }
    }
    resources(&rule.field("resources"), errors);
    optional_one_of(&rule.field("scope"), &["*", "Cluster", "Namespaced"], errors);
}

fn resources(resources: &Cursor<'_, '_>, errors: &mut Errors) {
    if resources.is_empty() {
        errors.push(resources.required(""));
    }
    let (mut whole, mut parts) = (BTreeSet::new(), BTreeSet::new());
    let (mut double_star, mut star, mut plain) = (false, false, false);
    for resource in resources.items() {
        let text = resource.text();
        if text.is_empty() {
            errors.push(resource.required(""));
            continue;
        }
        double_star |= text == "*/*";
        star |= text == "*";
        let Some((name, part)) = text.split_once('/') else {
            plain = text != "*";
            continue;
        };
        if whole.contains(name) {
            errors.push(resource.invalid(format!("if '{name}/*' is present, must not specify {text}")));
        }
        if parts.contains(part) {
            errors.push(resource.invalid(format!("if '*/{part}' is present, must not specify {text}")));
        }
        if part == "*" {
            whole.insert(name);
        }
        if name == "*" {
            parts.insert(part);
        }
    }
    if double_star && resources.list().len() > 1 {
        errors.push(resources.invalid("if '*/*' is present, must not specify other resources"));
    }
    if star && plain {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.push(resources.invalid(detail));
    }
}

fn webhook_url(url: &Cursor<'_, '_>, errors: &mut Errors) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (scheme, rest) = url.text().split_once("://").unwrap_or(("", url.text()));
    if scheme != "https" {
        errors.push(url.invalid_as(scheme, format!("'https' is the only allowed URL scheme{FORM}")));
    }
    let rest = if scheme.is_empty() { "" } else { rest };
    let (before_fragment, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (before_query, query) = before_fragment.split_once('?').unwrap_or((before_fragment, ""));
    let authority = before_query.split('/').next().unwrap_or_default();
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    if host.is_empty() {
        errors.push(url.invalid_as("", format!("host must be specified{FORM}")));
    }
    if let Some(user) = user {
        errors.push(url.invalid_as(user, "user information is not permitted in the URL"));
    }
    if !fragment.is_empty() {
        errors.push(url.invalid_as(fragment, "fragments are not permitted in the URL"));
    }
    if !query.is_empty() {
        errors.push(url.invalid_as(query, "query parameters are not permitted in the URL"));
    }
}

/// The Service of a webhook; a missing name is reported as a missing namespace and the other way round, as in the real server.
fn webhook_service(service: &Cursor<'_, '_>, errors: &mut Errors) {
    if service.field("namespace").is_empty() {
        errors.push(service.field("name").required(""));
    }
    if service.field("name").is_empty() {
        errors.push(service.field("namespace").required(""));
    }
    let port = service.field("port");
    let number = port.number().unwrap_or(0);
    for sentence in names::port_number(number) {
        errors.push(port.invalid_as(number, format!("port is not valid: {sentence}")));
    }
    let path = service.field("path");
    let text = path.text();
    if matches!(text, "" | "/") {
        return;
    }
    if text == "//" {
        errors.push(path.invalid("segment[0] may not be empty"));
        return;
    }
    if !text.starts_with('/') {
        errors.push(path.invalid("must start with a '/'"));
    }
    let rest = text.get(1..).unwrap_or_default();
    for (index, step) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if step.is_empty() {
            errors.push(path.invalid(format!("segment[{index}] may not be empty")));
            continue;
        }
        for sentence in names::dns_subdomain(step) {
            errors.push(path.invalid(format!("segment[{index}]: {sentence}")));
        }
    }
}

fn match_conditions(conditions: &Cursor<'_, '_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for condition in conditions.items() {
        let (name, expression) = (condition.field("name"), condition.field("expression"));
        if expression.text().trim().is_empty() {
            errors.push(expression.required(""));
        }
        required_name(&name, names::qualified_name, errors);
        if !name.is_empty() && !seen.insert(name.text()) {
            errors.push(name.duplicate());
        }
    }
}

/// A `ValidatingAdmissionPolicy`.
pub(super) fn policy(new: &Cursor<'_, '_>, errors: &mut Errors) {
    let spec = new.field("spec");
    let failure = spec.field("failurePolicy");
    if failure.is_set() {
        optional_one_of(&failure, &["Fail", "Ignore"], errors);
    } else {
        errors.push(failure.required(""));
    }
    let param = spec.field("paramKind");
    if param.is_set() {
        for name in ["apiVersion", "kind"] {
            if param.field(name).is_empty() {
                errors.push(param.field(name).required(""));
            }
        }
    }
    let constraints = spec.field("matchConstraints");
    if constraints.is_set() {
        match_resources(&constraints, errors);
        if constraints.field("resourceRules").is_empty() {
            errors.push(constraints.field("resourceRules").required(""));
        }
    } else {
        errors.push(constraints.required(""));
    }
    match_conditions(&spec.field("matchConditions"), errors);
    for variable in spec.field("variables").items() {
        for name in ["name", "expression"] {
            if variable.field(name).text().trim().is_empty() {
                errors.push(variable.field(name).required(if name == "name" {
                    ""
                } else {
                    "expression is not specified"
                }));
            }
        }
    }
    let (validations, annotations) = (spec.field("validations"), spec.field("auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        let detail = "validations or auditAnnotations must contain at least one item";
        errors.push(validations.required(detail));
        errors.push(annotations.required(detail));
        return;
    }
    for validation in validations.items() {
        if validation.field("expression").text().trim().is_empty() {
            errors.push(validation.field("expression").required("expression is not specified"));
        }
        let reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
        let reason = validation.field("reason");
        if reason.is_set() && !reasons.contains(&reason.text()) && reason.text() != "Unauthorized" {
            errors.push(reason.not_supported(&reasons));
        }
    }
}

fn match_resources(matching: &Cursor<'_, '_>, errors: &mut Errors) {
    let policy = matching.field("matchPolicy");
    if policy.is_set() {
        optional_one_of(&policy, &["Equivalent", "Exact"], errors);
    } else {
        errors.push(policy.required(""));
    }
    for name in ["namespaceSelector", "objectSelector"] {
        let selector = matching.field(name);
        if selector.is_set() {
            meta::label_selector(&selector, errors);
        } else {
            errors.push(selector.required(""));
        }
    }
    for list in ["resourceRules", "excludeResourceRules"] {
        for rule in matching.field(list).items() {
            let mut seen = BTreeSet::new();
            for name in rule.field("resourceNames").items() {
                name.each_invalid(names::path_segment(name.text(), false), errors);
                if !seen.insert(name.text()) {
                    errors.push(name.duplicate());
                }
            }
            rule_with_operations(&rule, errors);
        }
    }
}

/// A `ValidatingAdmissionPolicyBinding`.
pub(super) fn binding(new: &Cursor<'_, '_>, errors: &mut Errors) {
    let spec = new.field("spec");
    required_name(&spec.field("policyName"), names::dns_subdomain, errors);
    let param = spec.field("paramRef");
    if param.is_set() {
        let (name, selector) = (param.field("name"), param.field("selector"));
        if !name.is_empty() && selector.is_set() {
            errors.push(name.forbidden("name and selector are mutually exclusive"));
            errors.push(selector.forbidden("name and selector are mutually exclusive"));
        }
        meta::label_selector(&selector, errors);
        if name.is_empty() && !selector.is_set() {
            errors.push(param.required("one of name or selector must be specified"));
        }
        super::scalars::one_of(&param.field("parameterNotFoundAction"), &["Deny", "Allow"], errors);
    }
    let resources = spec.field("matchResources");
    if resources.is_set() {
        match_resources(&resources, errors);
    }
    let actions = spec.field("validationActions");
    let mut seen = BTreeSet::new();
    for action in actions.items() {
        optional_one_of(&action, &["Audit", "Deny", "Warn"], errors);
        if !seen.insert(action.text()) {
            errors.push(action.duplicate());
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        errors.push(actions.invalid(
            "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers \
             serves no purpose)",
        ));
    }
    if seen.is_empty() {
        errors.push(actions.required("at least one validation action is required"));
    }
}
