//! Texts without the values of Secrets.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockstep_api::text::masked;
use lockstep_apply::kinds::Resource;
use lockstep_apply::server::{Call, Server};
use lockstep_health::why::snapshot::PullSecret;
use serde_json::Value;

/// What stands where a secret was.
const MASK: &str = "(masked)";
/// Shorter values are words, and words are everywhere.
const SHORTEST: usize = 6;

/// Longer ones are files, and nobody quotes a whole file.
const LONGEST: usize = 256;

/// Knows values that must not be shown.
#[derive(Debug, Default)]
pub(super) struct Redactor {
    /// Values that are one word.
    words: BTreeSet<String>,
    /// Values with spaces or signs in them.
    phrases: Vec<String>,
}

// === impl Redactor ===

impl Redactor {
    /// Knows every value of these Secrets, as it is and as the API writes it.
    pub(super) fn knowing(secrets: &[Value]) -> Self {
        let mut redactor = Self::default();
        for value in
            secrets.iter().filter_map(|secret| secret["data"].as_object()).flat_map(|data| data.values())
        {
            let Some(encoded) = value.as_str() else { continue };
            redactor.learn(encoded.trim_end_matches('='));
            if let Some(plain) = STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok())
            {
                redactor.learn(plain.trim());
            }
        }
        redactor
    }

    fn learn(&mut self, value: &str) {
        if value.len() < SHORTEST {
            return;
        }
        if value.chars().all(is_of_word) {
            self.words.insert(value.to_owned());
        } else if value.len() <= LONGEST {
            self.phrases.push(value.to_owned());
        }
    }

    /// The text without what must not be shown.
    pub(super) fn text(&self, text: &str) -> String {
        let mut safe = masked(text).into_owned();
        for phrase in self.phrases.iter().filter(|phrase| safe.contains(phrase.as_str())).collect::<Vec<_>>()
        {
            safe = safe.replace(phrase.as_str(), MASK);
        }
        if self.words.is_empty() {
            return safe;
        }
        let mut result = String::with_capacity(safe.len());
        let mut rest = safe.as_str();
        while !rest.is_empty() {
            let end = rest.find(|sign| !is_of_word(sign)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            result += if self.words.contains(word) { MASK } else { word };
            let sign = behind.chars().next().map_or(0, char::len_utf8);
            result += &behind[..sign];
            rest = &behind[sign..];
        }
        result
    }

    /// Every text of an object where people write: messages and annotations.
    pub(super) fn object(&self, object: &mut Value) {
        match object {
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut() {
                    match value {
                        Value::String(text) if matches!(&**name, "message" | "reason" | "note") => {
                            *text = self.text(text);
                        }
                        Value::Object(annotations) if name == "annotations" => {
                            for value in annotations.values_mut() {
                                if let Value::String(text) = value {
                                    *text = self.text(text);
                                }
                            }
                        }
                        other => self.object(other),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.object(item)),
            _ => {}
        }
    }
}

fn is_of_word(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-' | '.' | '~')
}

/// What the pull secret of the cluster has, without the credentials.
pub(super) async fn pull_secret(server: &Server) -> PullSecret {
    let secrets = Resource::new("", "v1", "Secret", "secrets", true);
    match server.send(Call::get(&secrets, Some("openshift-config"), "pull-secret")).await {
        Ok(answer) => of_secret(&answer.object),
        Err(refusal) => PullSecret {
            error: refusal.explain("Secret openshift-config/pull-secret"),
            ..PullSecret::default()
        },
    }
}

fn of_secret(secret: &Value) -> PullSecret {
    let wrong = |why: String| PullSecret { error: why, ..PullSecret::default() };
    let kind = secret["type"].as_str().unwrap_or_default();
    if kind != "kubernetes.io/dockerconfigjson" {
        return wrong(format!("its type is {kind:?}, not kubernetes.io/dockerconfigjson"));
    }
    let encoded = secret["data"][".dockerconfigjson"].as_str().unwrap_or_default();
    let parsed = STANDARD.decode(encoded).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    match parsed.as_ref().map(|it| it["auths"].as_object()) {
        None => wrong("its .dockerconfigjson is no JSON".to_owned()),
        Some(None) => wrong("its .dockerconfigjson has no auths".to_owned()),
        Some(Some(auths)) => PullSecret { error: String::new(), registries: auths.keys().cloned().collect() },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn encoded(text: &str) -> String {
        STANDARD.encode(text)
    }

    #[test]
    fn the_value_of_a_secret_is_masked_wherever_it_stands() {
        let secret =
            json!({"data": {"a": encoded("canary-7f3a"), "b": encoded("two words"), "c": encoded("x")}});
        let redactor = Redactor::knowing(&[secret]);
        assert_eq!(redactor.text("login with user=canary-7f3a failed"), "login with user=(masked) failed");
        assert_eq!(redactor.text(&format!("<{}>", encoded("canary-7f3a"))), "<(masked)=>");
        assert_eq!(redactor.text("say two words, x"), "say (masked), x");
        let mut object = json!({"status": {"conditions": [{"message": "is canary-7f3a"}]},
            "metadata": {"name": "canary-7f3a", "annotations": {"a": "canary-7f3a"}}});
        redactor.object(&mut object);
        assert_eq!(object["status"]["conditions"][0]["message"], "is (masked)");
        assert_eq!(object["metadata"]["annotations"]["a"], "(masked)");
        assert_eq!(object["metadata"]["name"], "canary-7f3a", "names are names");
    }

    #[test]
    fn of_a_pull_secret_only_the_registries_are_told() {
        let config = encoded(&json!({"auths": {"quay.example.com": {"auth": "canary"}}}).to_string());
        let secret = json!({"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": config}});
        assert_eq!(of_secret(&secret).registries, ["quay.example.com"]);
        assert!(of_secret(&json!({"type": "Opaque"})).error.contains("Opaque"));
        let secret =
            json!({"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": encoded("{}")}});
        assert!(of_secret(&secret).error.contains("no auths"));
    }
}
