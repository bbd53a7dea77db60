//! The rules about conversion between versions. The field names are those of the server's internal form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::crd::{names, uri};
use crate::status::FieldError;

/// The versions of the conversion request that the server speaks.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// Checks `spec.conversion`; the bundle of certificates only when the definition is already established.
pub(super) fn check(conversion: &Value, path: &str, check_bundle: bool, errors: &mut Vec<FieldError>) {
    if !conversion.is_object() {
        return;
    }
    let strategy = conversion["strategy"].as_str().unwrap_or_default();
    match strategy {
        "" => errors.push(FieldError::required(format!("{path}.strategy"), "")),
        "None" | "Webhook" => {}
        other => {
            errors.push(FieldError::not_supported(format!("{path}.strategy"), other, &["None", "Webhook"]));
        }
    }
    let webhook = &conversion["webhook"];
    let config = &webhook["clientConfig"];
    let versions: Vec<&str> = webhook["conversionReviewVersions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let (config_path, versions_path) =
        (format!("{path}.webhookClientConfig"), format!("{path}.conversionReviewVersions"));
    if strategy != "Webhook" {
        let detail = "should not be set when strategy is not set to Webhook";
        if config.is_object() {
            errors.push(FieldError::forbidden(config_path, detail));
        }
        if !versions.is_empty() {
            errors.push(FieldError::forbidden(versions_path, detail));
        }
        return;
    }
    if config.is_object() {
        client_config(config, &config_path, errors);
        if check_bundle && let Some(problem) = bundle_problem(config) {
            errors.push(FieldError::invalid(
                format!("{config_path}.caBundle"),
                config["caBundle"].clone(),
                problem,
            ));
        }
    } else {
        errors.push(FieldError::required(config_path, "required when strategy is set to Webhook"));
    }
    review_versions(&versions, &versions_path, errors);
}

/// What is wrong with the bundle of certificates, if anything.
pub(crate) fn bundle_problem(config: &Value) -> Option<String> {
    let bundle = config["caBundle"].as_str().filter(|bundle| !bundle.is_empty())?;
    let bytes = STANDARD.decode(bundle).unwrap_or_default();
    let is_pem = String::from_utf8_lossy(&bytes).contains("-----BEGIN CERTIFICATE-----");
    (!is_pem).then(|| "unable to load root certificates: unable to parse bytes as PEM block".to_owned())
}

fn client_config(config: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match (config["url"].as_str(), config["service"].is_object()) {
        (Some(url), false) => check_url(url, &format!("{path}.url"), errors),
        (None, true) => check_service(&config["service"], &format!("{path}.service"), errors),
        _ => errors.push(FieldError::required(path, "exactly one of url or service is required")),
    }
}

fn check_url(url: &str, path: &str, errors: &mut Vec<FieldError>) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (before_fragment, fragment) = url.split_once('#').unwrap_or((url, ""));
    let query = before_fragment.split_once('?').map_or("", |(_, query)| query);
    let parts = uri::parse(before_fragment);
    let (scheme, user, host) = parts.map_or(("", None, ""), |parts| (parts.scheme, parts.user, parts.host));
    if scheme != "https" {
        errors.push(FieldError::invalid(
            path,
            scheme,
            format!("'https' is the only allowed URL scheme{FORM}"),
        ));
    }
    if host.is_empty() {
        errors.push(FieldError::invalid(path, host, format!("host must be specified{FORM}")));
    }
    if let Some(user) = user {
        errors.push(FieldError::invalid(path, user, "user information is not permitted in the URL"));
    }
    if !fragment.is_empty() {
        errors.push(FieldError::invalid(path, fragment, "fragments are not permitted in the URL"));
    }
    if !query.is_empty() {
        errors.push(FieldError::invalid(path, query, "query parameters are not permitted in the URL"));
    }
}

fn check_service(service: &Value, path: &str, errors: &mut Vec<FieldError>) {
    // NB: the real server mixes the two up here.
    for (key, reported) in [("namespace", "name"), ("name", "namespace")] {
        if service[key].as_str().unwrap_or_default().is_empty() {
            errors.push(FieldError::required(format!("{path}.{reported}"), ""));
        }
    }
    let port = service["port"].as_i64().unwrap_or(443);
    if !(1..=65535).contains(&port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(format!("{path}.port"), port, detail));
    }
    let Some(url_path) = service["path"].as_str().filter(|path| !matches!(*path, "" | "/")) else { return };
    let path = format!("{path}.path");
    if url_path == "//" {
        errors.push(FieldError::invalid(path, url_path, "segment[0] may not be empty"));
        return;
    }
    if !url_path.starts_with('/') {
        errors.push(FieldError::invalid(path.clone(), url_path, "must start with a '/'"));
    }
    let inside = url_path.char_indices().nth(1).map_or("", |(second, _)| &url_path[second..]);
    let inside = inside.strip_suffix('/').unwrap_or(inside);
    for (index, step) in inside.split('/').enumerate() {
        if step.is_empty() {
            let detail = format!("segment[{index}] may not be empty");
            errors.push(FieldError::invalid(path.clone(), url_path, detail));
            continue;
        }
        for problem in names::subdomain(step) {
            errors.push(FieldError::invalid(path.clone(), url_path, format!("segment[{index}]: {problem}")));
        }
    }
}

fn review_versions(versions: &[&str], path: &str, errors: &mut Vec<FieldError>) {
    if versions.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    for (index, version) in versions.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if versions[..index].contains(version) {
            errors.push(FieldError::invalid(path, *version, "duplicate version"));
            continue;
        }
        for problem in names::label(version) {
            errors.push(FieldError::invalid(path.clone(), *version, problem));
        }
    }
    if !versions.iter().any(|version| REVIEW_VERSIONS.contains(version)) {
        let detail = format!("must include at least one of {}", REVIEW_VERSIONS.join(", "));
        errors.push(FieldError::invalid(path, versions.to_vec(), detail));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn errors(conversion: &Value) -> Vec<String> {
        let mut errors = Vec::new();
        check(conversion, "c", true, &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_webhook_needs_an_address_and_versions() {
        assert_eq!(
            errors(&json!({"strategy": "Webhook"})),
            [
                "c.webhookClientConfig: Required value: required when strategy is set to Webhook",
                "c.conversionReviewVersions: Required value",
            ]
        );
        let webhook = json!({"clientConfig": {"service": {"name": "n", "namespace": "s"}},
            "conversionReviewVersions": ["v1"]});
        assert_eq!(errors(&json!({"strategy": "Webhook", "webhook": webhook})), [""; 0]);
        assert_eq!(errors(&json!({"strategy": "None", "webhook": webhook})).len(), 2);
    }

    #[test]
    fn a_bundle_must_be_certificates() {
        let config = json!({"clientConfig": {"url": "https://h", "caBundle": "Cg=="}, "conversionReviewVersions": ["v1"]});
        let errors = errors(&json!({"strategy": "Webhook", "webhook": config}));
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(
            errors[0].starts_with("c.webhookClientConfig.caBundle: Invalid value: \"Cg==\": unable to load")
        );
    }
}
