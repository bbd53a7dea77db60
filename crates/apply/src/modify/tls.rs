//! The TLS settings of the cluster, written into the configuration of operators.

use lockstep_api::names::{annotation, kind};
use lockstep_api::object;
use serde_json::Value;

use super::serving_info;

/// What servers of the cluster accept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsProfile {
    /// Cipher suites by their IANA names; `None` removes the setting, an empty list is written as such.
    pub cipher_suites: Option<Vec<String>>,
    /// The oldest version, such as `VersionTLS12`; `None` removes the setting, an empty one is written as such.
    pub min_version: Option<String>,
}

/// Profiles in which the cluster can name its ciphers, with the least version and how many of [`CIPHERS`] they have.
const MODERN: (&str, usize) = ("VersionTLS13", 3);
const INTERMEDIATE: (&str, usize) = ("VersionTLS12", 9);
const OLD: (&str, usize) = ("VersionTLS10", CIPHERS.len());

/// The names of OpenSSL and of IANA, in the order in which profiles list them.
///
/// What OpenSSL names but Go does not have is not here and is left out of what is written.
const CIPHERS: [(&str, &str); 21] = [
    ("TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"),
    ("TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
    ("TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256"),
    ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    ("ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
    ("ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
    ("ECDHE-RSA-AES256-GCM-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
    ("ECDHE-RSA-CHACHA20-POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
    ("ECDHE-ECDSA-AES128-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"),
    ("ECDHE-RSA-AES128-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256"),
    ("ECDHE-ECDSA-AES128-SHA", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"),
    ("ECDHE-RSA-AES128-SHA", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"),
    ("ECDHE-ECDSA-AES256-SHA", "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA"),
    ("ECDHE-RSA-AES256-SHA", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"),
    ("AES128-GCM-SHA256", "TLS_RSA_WITH_AES_128_GCM_SHA256"),
    ("AES256-GCM-SHA384", "TLS_RSA_WITH_AES_256_GCM_SHA384"),
    ("AES128-SHA256", "TLS_RSA_WITH_AES_128_CBC_SHA256"),
    ("AES128-SHA", "TLS_RSA_WITH_AES_128_CBC_SHA"),
    ("AES256-SHA", "TLS_RSA_WITH_AES_256_CBC_SHA"),
    ("DES-CBC3-SHA", "TLS_RSA_WITH_3DES_EDE_CBC_SHA"),
];
/// One more that no profile lists but a custom one can name.
const CUSTOM_ONLY: (&str, &str) = ("ECDHE-RSA-DES-CBC3-SHA", "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA");

/// Writes the settings into every operator configuration of a `ConfigMap` that asks for it.
pub(super) fn inject(object: &mut Value, profile: Option<&TlsProfile>) {
    let is_asked = object::api_version(object) == "v1"
        && object::kind(object) == kind::CONFIG_MAP
        && object::annotation(object, annotation::INJECT_TLS) == Some("true");
    let Some(data) = object.get_mut("data").and_then(Value::as_object_mut).filter(|_| is_asked) else {
        return;
    };
    let profile = profile.cloned().unwrap_or_else(|| TlsProfile::named(INTERMEDIATE));
    for value in data.values_mut() {
        if let Some(text) = value.as_str().and_then(|text| serving_info::edited(text, &profile)) {
            *value = text.into();
        }
    }
}

// === impl TlsProfile ===

impl TlsProfile {
    /// Reads it from the `APIServer` named `cluster`; nothing, which is Intermediate, when it names no profile that is known.
    pub(super) fn read(api_server: &Value) -> Option<Self> {
        let profile = &api_server["spec"]["tlsSecurityProfile"];
        match profile["type"].as_str()? {
            "Old" => Some(Self::named(OLD)),
            "Modern" => Some(Self::named(MODERN)),
            "Custom" => {
                let custom = profile["custom"].as_object()?;
                let ciphers = custom.get("ciphers").and_then(Value::as_array);
                let names = ciphers.into_iter().flatten().filter_map(Value::as_str);
                let version = custom.get("minTLSVersion").and_then(Value::as_str).unwrap_or_default();
                Some(Self {
                    cipher_suites: Some(names.filter_map(iana).map(str::to_owned).collect()),
                    min_version: Some(version.to_owned()),
                })
            }
            _ => None,
        }
    }

    fn named((version, count): (&str, usize)) -> Self {
        let suites = CIPHERS.iter().take(count).map(|(_, iana)| (*iana).to_owned()).collect();
        Self { cipher_suites: Some(suites), min_version: Some(version.to_owned()) }
    }
}

/// The IANA name of a cipher that OpenSSL names so.
fn iana(openssl: &str) -> Option<&'static str> {
    CIPHERS.iter().chain([&CUSTOM_ONLY]).find(|(name, _)| *name == openssl).map(|(_, iana)| *iana)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CONFIG: &str = "apiVersion: operator.openshift.io/v1alpha1\nkind: GenericOperatorConfig\n";

    fn custom(ciphers: &[&str], version: &str) -> TlsProfile {
        let profile = json!({"type": "Custom", "custom": {"ciphers": ciphers, "minTLSVersion": version}});
        TlsProfile::read(&json!({"spec": {"tlsSecurityProfile": profile}})).unwrap()
    }

    fn a_config_map(annotation: Option<&str>, data: &Value) -> Value {
        let mut object =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data});
        if let Some(value) = annotation {
            object["metadata"]["annotations"] = json!({"config.openshift.io/inject-tls": value});
        }
        object
    }

    fn injected(data: &Value, profile: Option<&TlsProfile>) -> Value {
        let mut object = a_config_map(Some("true"), data);
        inject(&mut object, profile);
        object["data"].clone()
    }

    fn servers(text: &Value) -> Value {
        let documents = lockstep_payload::yaml::documents(text.as_str().unwrap().as_bytes()).unwrap();
        documents[0].value["servingInfo"].clone()
    }

    #[test]
    fn only_a_config_map_that_asks_for_it_changes() {
        let profile = custom(&["AES128-SHA256"], "VersionTLS13");
        for annotation in [None, Some("false"), Some(""), Some("True")] {
            let object = a_config_map(annotation, &json!({"a": CONFIG}));
            let mut changed = object.clone();
            inject(&mut changed, Some(&profile));
            assert_eq!(changed, object, "{annotation:?}");
        }
        let mut secret = a_config_map(Some("true"), &json!({"a": CONFIG}));
        secret["kind"] = json!("Secret");
        let before = secret.clone();
        inject(&mut secret, Some(&profile));
        assert_eq!(secret, before);
    }

    #[test]
    fn without_data_or_without_a_configuration_nothing_changes() {
        let profile = custom(&["AES128-SHA256"], "VersionTLS13");
        for data in [
            json!(null),
            json!({}),
            json!({"a": "a: [b\n", "b": "\tx: : y", "c": "plain text", "d": "- 1\n", "e": ""}),
            json!({"a": "apiVersion: v1\nkind: GenericOperatorConfig\n"}),
            json!({"a": "apiVersion: operator.openshift.io/v1\nkind: GenericOperatorConfig\n"}),
            json!({"a": "apiVersion: config.openshift.io/v1\nkind: GenericOperatorConfig\n"}),
            json!({"a": "apiVersion: operator.openshift.io/v1alpha1\nkind: GenericControllerConfig\n"}),
            json!({"a": format!("{CONFIG}---\n{CONFIG}")}),
        ] {
            assert_eq!(injected(&data, Some(&profile)), data, "{data}");
        }
    }

    #[test]
    fn without_a_profile_the_settings_are_those_of_intermediate() {
        let data = injected(&json!({"a": CONFIG}), None);
        let servers = servers(&data["a"]);
        assert_eq!(servers["minTLSVersion"], "VersionTLS12");
        let suites = servers["cipherSuites"].as_array().unwrap();
        assert_eq!(suites.len(), 9);
        assert_eq!(suites[0], "TLS_AES_128_GCM_SHA256");
        assert_eq!(suites[8], "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256");
    }

    #[test]
    fn profiles_are_read_by_their_type_and_what_is_unknown_is_intermediate() {
        let read = |profile: Value| TlsProfile::read(&json!({"spec": {"tlsSecurityProfile": profile}}));
        let old = read(json!({"type": "Old"})).unwrap();
        assert_eq!(old.min_version.as_deref(), Some("VersionTLS10"));
        let suites = old.cipher_suites.unwrap();
        assert_eq!(suites.len(), 21);
        assert_eq!(suites[9], "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256");
        assert_eq!(suites[20], "TLS_RSA_WITH_3DES_EDE_CBC_SHA");
        let modern = read(json!({"type": "Modern"})).unwrap();
        assert_eq!(modern.min_version.as_deref(), Some("VersionTLS13"));
        assert_eq!(modern.cipher_suites.unwrap().len(), 3);
        for other in [
            json!(null),
            json!({}),
            json!({"type": "Intermediate"}),
            json!({"type": "Custom"}),
            json!({"type": "Custom", "custom": null}),
            json!({"type": "Newest"}),
        ] {
            assert_eq!(read(other.clone()), None, "{other}");
        }
    }

    #[test]
    fn ciphers_keep_the_order_of_the_cluster_and_unmapped_names_go() {
        let profile = custom(
            &[
                "TLS_RSA_WITH_AES_128_CBC_SHA256",
                "TLS_AES_128_CCM_SHA256",
                "ECDHE-ECDSA-AES256-SHA384",
                "AES256-GCM-SHA384",
                "ECDHE-RSA-DES-CBC3-SHA",
            ],
            "VersionTLS12",
        );
        let expected = ["TLS_RSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA"];
        assert_eq!(profile.cipher_suites.unwrap(), expected);
    }

    #[test]
    fn every_configuration_of_a_config_map_changes_and_nothing_else_of_it() {
        let profile = custom(&["AES128-SHA256"], "VersionTLS13");
        let controller = "apiVersion: config.openshift.io/v1\nkind: GenericControllerConfig\n";
        let pod = "{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}";
        let data = json!({"a": CONFIG, "b": controller, "text": "hello: you", "pod": pod});
        let changed = injected(&data, Some(&profile));
        let expected =
            json!({"cipherSuites": ["TLS_RSA_WITH_AES_128_CBC_SHA256"], "minTLSVersion": "VersionTLS13"});
        assert_eq!([servers(&changed["a"]), servers(&changed["b"])], [expected.clone(), expected]);
        assert_eq!((&changed["text"], &changed["pod"]), (&data["text"], &data["pod"]));
    }
}
