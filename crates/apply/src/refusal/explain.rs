//! What a person is told about a refusal: the object, what is wrong, what to do.

use std::fmt::{self, Write as _};

use lockstep_api::names::kind;

use super::{Cause, Refusal};

/// What is wrong, without the object and without advice.
pub(super) fn brief(refusal: &Refusal, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match refusal {
        Refusal::KindNotServed => f.write_str("the server does not serve this kind"),
        Refusal::NamespaceMissing { name } => write!(f, "the namespace {name:?} does not exist"),
        Refusal::NamespaceTerminating { name } if name.is_empty() => {
            f.write_str("its namespace is being deleted")
        }
        Refusal::NamespaceTerminating { name } => write!(f, "the namespace {name:?} is being deleted"),
        Refusal::DefinitionTerminating => f.write_str("the definition of its kind is being deleted"),
        Refusal::ApiUnavailable => f.write_str("the server behind this API does not answer"),
        Refusal::WebhookUnavailable { name, message } => {
            write!(f, "the admission webhook {name:?} does not answer: {message}")
        }
        Refusal::Required { fields } => write!(f, "required fields are missing: {}", fields.join(", ")),
        Refusal::Invalid { causes, message } if causes.is_empty() => f.write_str(message),
        Refusal::Invalid { causes, .. } => f.write_str(&list(causes)),
        Refusal::Immutable { causes } => write!(f, "cannot be changed: {}", list(causes)),
        Refusal::Conflict { owned } => {
            let owned: Vec<String> =
                owned.iter().map(|it| format!("{} is owned by {:?}", it.field, it.manager)).collect();
            f.write_str(&owned.join(", "))
        }
        Refusal::Stale => f.write_str("the object has changed since it was read"),
        Refusal::AlreadyExists => f.write_str("the object exists already"),
        Refusal::NotFound => f.write_str("the object does not exist"),
        Refusal::Gone => f.write_str("the version asked for is forgotten"),
        Refusal::Busy { message, retry_after: Some(after) } => {
            write!(f, "the server is busy ({message}) and asks to come back in {} s", after.as_secs())
        }
        Refusal::Busy { message, retry_after: None } => {
            write!(f, "the server does not answer now: {message}")
        }
        Refusal::Unreachable { message } => {
            write!(f, "nobody answers at the address of the server: {message}")
        }
        Refusal::Tls { message } => write!(f, "no trust between us and the server: {message}"),
        Refusal::Other { code, message, .. } if *code > 0 => write!(f, "{message} (code {code})"),
        Refusal::ConversionWebhookUnavailable { message }
        | Refusal::Undeclared { message, .. }
        | Refusal::TooLarge { message }
        | Refusal::Forbidden { message }
        | Refusal::Escalation { message }
        | Refusal::Denied { message }
        | Refusal::Unauthorized { message }
        | Refusal::Other { message, .. } => f.write_str(message),
    }
}

/// One message with the object and the remedy.
pub(super) fn explain(refusal: &Refusal, object: &str) -> String {
    let what = if kind_of(object) == kind::SECRET { without_values(refusal) } else { refusal.to_string() };
    let mut text = format!("{object}: {what}");
    if let Some(remedy) = remedy(refusal, object) {
        // Always succeeds: it is a text.
        let _ = write!(text, "; {remedy}");
    }
    text
}

fn remedy(refusal: &Refusal, object: &str) -> Option<String> {
    let text = match refusal {
        Refusal::KindNotServed => {
            "its CustomResourceDefinition or APIService must be there first: see `kubectl api-resources`"
        }
        Refusal::NamespaceMissing { name } => {
            return Some(format!("create it: kubectl create namespace {name}"));
        }
        Refusal::NamespaceTerminating { name } if !name.is_empty() => {
            return Some(format!(
                "wait until it is gone; what holds it is in its status: kubectl get namespace {name} -o yaml"
            ));
        }
        Refusal::NamespaceTerminating { .. } | Refusal::DefinitionTerminating => {
            "wait until it is gone; a finalizer may hold it"
        }
        Refusal::ApiUnavailable => "look for APIServices that are not available: kubectl get apiservices",
        Refusal::WebhookUnavailable { name, .. } => return Some(webhook(name)),
        Refusal::ConversionWebhookUnavailable { .. } => {
            "the webhook is named in `spec.conversion` of the CustomResourceDefinition: its service must run"
        }
        Refusal::Undeclared { field: Some(field), .. } => {
            return Some(format!(
                "take `{}` out of the manifest, or bring the definition that has it",
                field.trim_start_matches('.')
            ));
        }
        Refusal::Undeclared { field: None, .. } => {
            "correct the value in the manifest: its type is wrong or an entry stands there twice"
        }
        Refusal::TooLarge { .. } => "make the object smaller or split it into several",
        Refusal::Required { .. } => "add them to the manifest",
        Refusal::Invalid { causes, .. } if causes.iter().any(is_stored_version) => {
            "move the stored objects to another version first, then take the old one out of `status.storedVersions`"
        }
        Refusal::Invalid { .. } => "correct the manifest",
        Refusal::Immutable { .. } => return Some(recreate(object)),
        Refusal::Conflict { .. } => "leave these fields to their owner, or take them over by force",
        Refusal::Forbidden { message } => return Some(can_i(message)),
        Refusal::Escalation { .. } => "give yourself these rights first, or the verbs `escalate` and `bind`",
        Refusal::Denied { message } => return Some(denied(message)),
        Refusal::Unauthorized { .. } => {
            "log in again: the token or the client certificate is wrong or has expired (see `kubectl auth whoami`)"
        }
        Refusal::Unreachable { .. } => {
            "is the cluster up, and are the server address and the context of the kubeconfig right \
             (see `kubectl cluster-info`)?"
        }
        Refusal::Tls { message } => return Some(trust(message).to_owned()),
        Refusal::Stale
        | Refusal::AlreadyExists
        | Refusal::NotFound
        | Refusal::Busy { .. }
        | Refusal::Gone
        | Refusal::Other { .. } => return None,
    };
    Some(text.to_owned())
}

fn webhook(name: &str) -> String {
    format!(
        "find the configuration that has {name:?} and the service that it calls: kubectl get \
         validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml; the service must run, or the \
         configuration must go"
    )
}

/// D18: who wants the change must delete the object; never a definition, because all objects of its kind go with it.
fn recreate(object: &str) -> String {
    if kind_of(object) == kind::CUSTOM_RESOURCE_DEFINITION {
        return "a CustomResourceDefinition is never deleted for this, because all objects of its kind would go with \
                it: bring the change as a new version or a new kind"
            .to_owned();
    }
    let name = object.split_once(' ').map_or(object, |(_, name)| name);
    let name = name.rsplit_once('/').map_or(name, |(_, name)| name);
    format!(
        "delete the object and create it anew with: lockstep apply RELEASE --recreate {}/{name}",
        kind_of(object)
    )
}

/// The question to ask the server about rights, from its own sentence.
fn can_i(message: &str) -> String {
    let otherwise = || "ask for the right; `kubectl auth can-i --list` shows what you may do".to_owned();
    let quoted_after = |words: &str| message.split(words).nth(1).and_then(|rest| rest.split('"').next());
    let Some(verb) = message.split("\" cannot ").nth(1).and_then(|rest| rest.split(' ').next()) else {
        return otherwise();
    };
    let question = match (quoted_after(" resource \""), quoted_after(" path \"")) {
        (Some(resource), _) => {
            let group = quoted_after(" in API group \"").filter(|group| !group.is_empty());
            // `pods/status` of a group is `pods.group/status`.
            let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            let group = group.map(|group| format!(".{group}")).unwrap_or_default();
            let subresource =
                if subresource.is_empty() { String::new() } else { format!(" --subresource={subresource}") };
            format!("{resource}{group}{subresource}")
        }
        (None, Some(path)) => path.to_owned(),
        (None, None) => return otherwise(),
    };
    let namespace = quoted_after(" in the namespace \"").map(|it| format!(" -n {it}")).unwrap_or_default();
    let user = quoted_after("User \"").map(|it| format!(" --as {it}")).unwrap_or_default();
    format!("give the user this right; check with: kubectl auth can-i {verb} {question}{namespace}{user}")
}

fn denied(message: &str) -> String {
    let between =
        |begin: &str, end: char| message.split(begin).nth(1).and_then(|rest| rest.split(end).next());
    if let Some(name) = between("admission webhook \"", '"') {
        return format!(
            "change what it objects to; its configuration is the one that has {name:?} in: kubectl get \
             validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml"
        );
    }
    match between("ValidatingAdmissionPolicy '", '\'') {
        Some(policy) => {
            format!("change what it objects to; see: kubectl get validatingadmissionpolicy {policy} -o yaml")
        }
        None => "change what the server objects to, or raise the limit that it names".to_owned(),
    }
}

fn trust(message: &str) -> &'static str {
    if message.contains("expired") || message.contains("not valid after") || message.contains("Expired") {
        "the certificate must be renewed; if it is valid, the clock of this machine is wrong"
    } else if message.contains("not valid yet") {
        "the clock of this machine or that of the server is wrong"
    } else if message.contains("UnknownIssuer") || message.contains("unknown issuer") {
        "`certificate-authority` in the kubeconfig must be the authority that signed the certificate of the server"
    } else if message.contains("not valid for name") {
        "use an address that the certificate names, or set `tls-server-name` in the kubeconfig"
    } else if message.contains("corrupt message") {
        "the server does not speak TLS at this address: is it `http://` instead of `https://`?"
    } else {
        "check certificate and authority in the kubeconfig"
    }
}

fn is_stored_version(cause: &Cause) -> bool {
    cause.field.starts_with("status.storedVersions")
}

fn kind_of(object: &str) -> &str {
    object.split(' ').next().unwrap_or_default()
}

fn list(causes: &[Cause]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for cause in causes {
        let text = cause.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts.join(", ")
}

/// What is wrong with a Secret, without any value of it.
fn without_values(refusal: &Refusal) -> String {
    let hide = |causes: &[Cause]| {
        let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
        fields.join(", ")
    };
    match refusal {
        Refusal::Immutable { causes } => format!("cannot be changed: {}", hide(causes)),
        Refusal::Invalid { causes, .. } => format!("values are not allowed: {}", hide(causes)),
        Refusal::Undeclared { field: None, .. } => "a value does not fit the schema".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
