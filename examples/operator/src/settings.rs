//! What the Deployment of the operator says, and what users say.

use anyhow::Context as _;
use lockstep_reporter::Prerequisites;
use serde_json::Value;

/// What the Deployment says; the release fills it in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The version of the release.
    pub(crate) version: String,
    /// The image of the operator itself.
    pub(crate) image: String,
    /// The image of the greeter.
    pub(crate) operand_image: String,
    /// The operator that has to be at the same version first; none when it is empty.
    pub(crate) after: String,
}

/// What users say, in the `ConfigMap` `config`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) greeting: String,
    pub(crate) replicas: u16,
}

// === impl Settings ===

impl Settings {
    pub(crate) fn from_environment() -> anyhow::Result<Self> {
        let variable = |name: &str| {
            let value = std::env::var(name).ok().filter(|value| !value.is_empty());
            value.with_context(|| {
                format!("the variable {name} is not set; manifests/03_deployment.yaml sets it")
            })
        };
        Ok(Self {
            version: variable("OPERATOR_IMAGE_VERSION")?,
            image: variable("IMAGE")?,
            operand_image: variable("OPERAND_IMAGE")?,
            after: std::env::var("AFTER").unwrap_or_default(),
        })
    }

    pub(crate) fn prerequisites(&self) -> Prerequisites {
        match self.after.as_str() {
            "" => Prerequisites::new(),
            after => Prerequisites::new().version(after, &self.version).available(after),
        }
    }
}

// === impl Config ===

impl Config {
    /// Reads the `ConfigMap`; what is wrong with it is a sentence for Degraded.
    pub(crate) fn read(object: &Value) -> Result<Self, String> {
        let text = |key: &str| object["data"][key].as_str().unwrap_or_default().trim();
        let replicas = match text("replicas") {
            "" => 2,
            number => match number.parse() {
                Ok(replicas @ 1..=100) => replicas,
                _ => return Err(format!("replicas is `{number}`; write a number from 1 to 100")),
            },
        };
        let greeting = text("greeting");
        let greeting = if greeting.is_empty() { "Hello" } else { greeting };
        Ok(Self { greeting: greeting.to_owned(), replicas })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_users_leave_out_has_a_default_and_what_cannot_be_is_a_sentence() {
        let read = |data| Config::read(&json!({"data": data}));
        assert_eq!(read(json!(null)), Ok(Config { greeting: "Hello".into(), replicas: 2 }));
        let asked = Config { greeting: "Moin".into(), replicas: 3 };
        assert_eq!(read(json!({"greeting": "Moin", "replicas": "3"})), Ok(asked));
        assert_eq!(
            read(json!({"replicas": "0"})),
            Err("replicas is `0`; write a number from 1 to 100".into())
        );
    }
}
