//! `ConfigMap`s, Secrets, Namespaces and Nodes.

use std::collections::BTreeSet;

use base64::Engine as _;
use serde_json::Value;

use crate::meta::{Cursor, names};
use crate::status::{FieldError, FieldErrorKind};

use super::scalars::{Errors, amount_not_negative, immutable, is_cidr, same};

/// The most bytes that the data of a `ConfigMap` or Secret may have.
const SIZE: usize = 1024 * 1024;
const IMMUTABLE: &str = "field is immutable when `immutable` is set";

/// A `ConfigMap`.
pub(super) fn config_map(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    if let Some(old) = old {
        frozen(new, old, &["data", "binaryData"], errors);
    }
    let (data, binary) = (new.field("data"), new.field("binaryData"));
    let mut size = 0;
    for (key, value) in data.entries() {
        data_key(&data, key, errors);
        if binary.value().get(key).is_some() {
            errors.push(data.key(key).invalid_as(key, "duplicate of key present in binaryData"));
        }
        size += value.as_str().map_or(0, str::len);
    }
    for (key, value) in binary.entries() {
        data_key(&binary, key, errors);
        size += decoded_length(value);
    }
    if size > SIZE {
        // The real server names the empty path like this.
        let detail = format!("may not be more than {SIZE} bytes");
        errors.push(FieldError { kind: FieldErrorKind::TooLong, field: "[]".into(), value: None, detail });
    }
}

/// A Secret.
pub(super) fn secret(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    if let Some(old) = old {
        immutable(&new.field("type"), &old.field("type"), errors);
        frozen(new, old, &["data"], errors);
    }
    let data = new.field("data");
    let mut size = 0;
    for (key, value) in data.entries() {
        data_key(&data, key, errors);
        size += decoded_length(value);
    }
    if size > SIZE {
        errors.push(data.too_long(SIZE));
    }
    let missing = |key: &str| !data.key(key).is_set();
    let mut require = |key: &str| errors.push(data.key(key).required(""));
    match new.field("type").text() {
        "kubernetes.io/service-account-token" => {
            let metadata = new.field("metadata");
            let annotations = metadata.field("annotations");
            let name = annotations.key("kubernetes.io/service-account.name");
            if name.is_empty() {
                errors.push(name.required(""));
            }
        }
        "kubernetes.io/dockercfg" => json_data(&data, ".dockercfg", errors),
        "kubernetes.io/dockerconfigjson" => json_data(&data, ".dockerconfigjson", errors),
        "kubernetes.io/basic-auth" if missing("username") && missing("password") => {
            require("username");
            require("password");
        }
        "kubernetes.io/ssh-auth" if data.key("ssh-privatekey").is_empty() => require("ssh-privatekey"),
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"] {
                if missing(key) {
                    require(key);
                }
            }
        }
        _ => {}
    }
}

fn json_data(data: &Cursor<'_, '_>, key: &str, errors: &mut Errors) {
    let entry = data.key(key);
    if !entry.is_set() {
        errors.push(entry.required(""));
        return;
    }
    let bytes = base64::engine::general_purpose::STANDARD.decode(entry.text()).unwrap_or_default();
    // The sentence of the real server for what is no JSON at all; for other mistakes it has many.
    let why = match serde_json::from_slice::<Value>(&bytes) {
        Ok(Value::Object(_) | Value::Null) => return,
        Ok(_) => "json: cannot unmarshal into Go value of type map[string]interface {}".to_owned(),
        Err(_) if bytes.is_empty() => "unexpected end of JSON input".to_owned(),
        Err(_) => {
            let first = char::from(bytes[0]);
            format!("invalid character '{first}' looking for beginning of value")
        }
    };
    errors.push(entry.invalid_as("<secret contents redacted>", why));
}

fn frozen(new: &Cursor<'_, '_>, old: &Cursor<'_, '_>, fields: &[&str], errors: &mut Errors) {
    if !old.field("immutable").is_true() {
        return;
    }
    if !new.field("immutable").is_true() {
        errors.push(new.field("immutable").forbidden(IMMUTABLE));
    }
    for name in fields {
        if !same(&new.field(name), &old.field(name)) {
            errors.push(new.field(name).forbidden(IMMUTABLE));
        }
    }
}

fn data_key(data: &Cursor<'_, '_>, key: &str, errors: &mut Errors) {
    for sentence in names::config_key(key) {
        errors.push(data.key(key).invalid_as(key, sentence));
    }
}

/// How many bytes a text of base64 stands for.
fn decoded_length(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    text.trim_end_matches('=').len() * 3 / 4
}

/// A Namespace.
pub(super) fn namespace(new: &Cursor<'_, '_>, errors: &mut Errors) {
    let spec = new.field("spec");
    let finalizers = spec.field("finalizers");
    for finalizer in finalizers.list() {
        let name = finalizer.as_str().unwrap_or_default();
        for sentence in names::qualified_name(name) {
            errors.push(finalizers.invalid_as(name, sentence));
        }
        standard_finalizer(&finalizers, name, errors);
    }
}

/// A finalizer has a domain, or is one of the few of Kubernetes itself.
pub(super) fn standard_finalizer(at: &Cursor<'_, '_>, name: &str, errors: &mut Errors) {
    if !name.contains('/') && !["kubernetes", "orphan", "foregroundDeletion"].contains(&name) {
        errors
            .push(at.invalid_as(name, "name is neither a standard finalizer name nor is it fully qualified"));
    }
}

/// A Node. Its taints are named below `metadata`, as in the real server.
pub(super) fn node(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    let (spec, status, metadata) = (new.field("spec"), new.field("status"), new.field("metadata"));
    taints(&metadata.field_with("taints", spec.field("taints").value()), errors);
    for list in ["capacity", "allocatable"] {
        let amounts = status.field(list);
        for (name, _) in amounts.entries() {
            amount_not_negative(&amounts.key(name), errors);
        }
    }
    for cidr in spec.field("podCIDRs").items().filter(|it| !is_cidr(it.text())) {
        errors.push(cidr.invalid("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"));
    }
    let Some(old) = old else { return };
    let before = old.field("spec");
    let cidrs = spec.field("podCIDRs");
    if !before.field("podCIDRs").is_empty() && !same(&cidrs, &before.field("podCIDRs")) {
        errors.push(cidrs.forbidden("node updates may not change podCIDR except from \"\" to valid"));
    }
    let provider = spec.field("providerID");
    if !before.field("providerID").is_empty() && !same(&provider, &before.field("providerID")) {
        errors.push(provider.forbidden("node updates may not change providerID except from \"\" to valid"));
    }
}

fn taints(taints: &Cursor<'_, '_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for taint in taints.items() {
        let (key, value, effect) = (taint.field("key"), taint.field("value"), taint.field("effect"));
        key.each_invalid(names::qualified_name(key.text()), errors);
        let sentences = names::label_value(value.text());
        if !sentences.is_empty() {
            errors.push(value.invalid(sentences.join(";")));
        }
        super::scalars::one_of(&effect, &["NoSchedule", "PreferNoSchedule", "NoExecute"], errors);
        if !seen.insert((effect.text(), key.text())) {
            let detail = "taints must be unique by key and effect pair";
            errors.push(FieldError::new(
                FieldErrorKind::Duplicate,
                taint.path(),
                taint.value().clone(),
                detail,
            ));
        }
    }
}
