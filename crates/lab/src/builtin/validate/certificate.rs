//! Certificate signing requests.

use std::collections::BTreeSet;

use base64::Engine as _;
use serde_json::Value;

use crate::meta::{Cursor, names};

use super::scalars::{Errors, same};

const USAGES: &[&str] = &[
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// A `CertificateSigningRequest`, or a write to a part of it. The request is taken for one by its frame alone.
pub(super) fn request(part: &str, new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    let spec = new.field("spec");
    let body = spec.field("request");
    let bytes = base64::engine::general_purpose::STANDARD.decode(body.text()).unwrap_or_default();
    if !String::from_utf8_lossy(&bytes).contains("-----BEGIN CERTIFICATE REQUEST-----") {
        errors.push(body.invalid("PEM block type must be CERTIFICATE REQUEST"));
    }
    let usages = spec.field("usages");
    if usages.is_empty() {
        errors.push(usages.required(""));
    }
    for usage in usages.items().filter(|it| !USAGES.contains(&it.text())) {
        errors.push(usage.not_supported(USAGES));
    }
    let mut seen = BTreeSet::new();
    for usage in usages.items() {
        if !seen.insert(usage.text()) {
            errors.push(usage.duplicate());
        }
    }
    signer_name(&spec.field("signerName"), errors);
    let seconds = spec.field("expirationSeconds");
    if seconds.number().is_some_and(|it| it < 600) {
        errors.push(seconds.invalid("may not specify a duration less than 600 seconds (10 minutes)"));
    }
    let status = new.field("status");
    conditions(&status.field("conditions"), errors);
    let certificate = status.field("certificate");
    let is_old = old.is_some_and(|old| same(&certificate, &old.field("status").field("certificate")));
    if !is_old && let Some(why) = certificate_problem(certificate.text()) {
        errors.push(certificate.invalid_as("<certificate data>", why));
    }
    if let Some(old) = old {
        change(part, &status, &old.field("status"), errors);
    }
}

/// What is wrong with a signed certificate; it is taken for one by its frame alone.
fn certificate_problem(text: &str) -> Option<String> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap_or_default();
    if bytes.is_empty() {
        return None;
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut blocks = 0;
    let mut rest = &*text;
    while let Some((_, after)) = rest.split_once("-----BEGIN ") {
        let Some((label, after)) = after.split_once("-----") else { break };
        let end = format!("-----END {label}-----");
        let Some((_, after)) = after.split_once(&end) else { break };
        if label != "CERTIFICATE" {
            return Some(format!("only CERTIFICATE PEM blocks are allowed, found {label:?}"));
        }
        blocks += 1;
        rest = after;
    }
    (blocks == 0).then(|| "must contain at least one CERTIFICATE PEM block".into())
}

/// A name such as `example.com/signer`.
fn signer_name(name: &Cursor<'_, '_>, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(name.required(""));
        return;
    }
    if name.text() == "kubernetes.io/legacy-unknown" {
        errors.push(name.invalid("the legacy signerName is not allowed via this API version"));
        return;
    }
    let Some((domain, path)) = name.text().split_once('/') else {
        errors.push(
            name.invalid("must be a fully qualified domain and path of the form 'example.com/signer-name'"),
        );
        return;
    };
    let sentences = names::dns_subdomain(domain);
    for sentence in &sentences {
        errors.push(name.invalid_as(domain, format!("validating label {domain:?}: {sentence}")));
    }
    if sentences.is_empty() && domain.split('.').count() < 2 {
        errors
            .push(name.invalid_as(domain, "should be a domain with at least two segments separated by dots"));
    }
    for sentence in names::dns_subdomain(path) {
        errors.push(name.invalid_as(path, format!("validating label {path:?}: {sentence}")));
    }
}

fn conditions(conditions: &Cursor<'_, '_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for condition in conditions.items() {
        let (kind, status) = (condition.field("type"), condition.field("status"));
        if kind.is_empty() {
            errors.push(kind.required(""));
        }
        let allowed: &[&str] = if ["Approved", "Denied", "Failed"].contains(&kind.text()) {
            &["True"]
        } else {
            &["False", "True", "Unknown"]
        };
        super::scalars::one_of(&status, allowed, errors);
        let other = match kind.text() {
            "Approved" => "Denied",
            "Denied" => "Approved",
            _ => "",
        };
        if seen.contains(other) {
            errors.push(
                conditions.invalid_as(kind.text(), "Approved and Denied conditions are mutually exclusive"),
            );
        }
        if !seen.insert(kind.text()) {
            errors.push(kind.duplicate());
        }
    }
}

fn change(part: &str, status: &Cursor<'_, '_>, old: &Cursor<'_, '_>, errors: &mut Errors) {
    let all = status.field("conditions");
    let of = |status: &Cursor<'_, '_>, kind: &str| -> Vec<Value> {
        let list = status.field("conditions").list().to_vec();
        list.into_iter().filter(|it| it["type"] == kind).collect()
    };
    for kind in ["Approved", "Denied", "Failed"] {
        if of(status, kind).len() < of(old, kind).len() {
            errors.push(all.forbidden(format!("updates may not remove a condition of type {kind:?}")));
        }
    }
    if part != "approval" {
        for kind in ["Approved", "Denied"] {
            let (now, before) = (of(status, kind), of(old, kind));
            if now.len() > before.len() {
                errors.push(all.forbidden(format!("updates may not add a condition of type {kind:?}")));
            } else if now.len() == before.len() && now != before {
                errors.push(all.forbidden(format!("updates may not modify a condition of type {kind:?}")));
            }
        }
    }
    let (certificate, before) = (status.field("certificate"), old.field("certificate"));
    if !same(&certificate, &before) {
        if part != "status" {
            errors.push(certificate.forbidden("updates may not set certificate content"));
        } else if !before.is_empty() {
            errors.push(certificate.forbidden("updates may not modify existing certificate content"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> Option<String> {
        certificate_problem(&base64::engine::general_purpose::STANDARD.encode(text))
    }

    #[test]
    fn a_certificate_is_one_or_more_blocks_of_that_name() {
        let block = |label: &str| format!("-----BEGIN {label}-----\nAA==\n-----END {label}-----\n");
        assert_eq!(problem(""), None);
        assert_eq!(problem(&block("CERTIFICATE").repeat(2)), None);
        assert_eq!(problem("not pem").as_deref(), Some("must contain at least one CERTIFICATE PEM block"));
        assert_eq!(
            problem(&block("PRIVATE KEY")).as_deref(),
            Some("only CERTIFICATE PEM blocks are allowed, found \"PRIVATE KEY\"")
        );
    }
}
