//! What a cluster adds to a manifest before it is applied: label, owner, proxy, TLS, API address.
//!
//! [`ClusterFacts`] are read from five objects of the cluster; whoever applies watches these and modifies again when the
//! facts change. [`modify`] works on a normalised manifest and leaves it in normal form.

mod ca_bundle;
mod environment;
mod flow;
mod owner;
mod serving_info;
mod tls;

use lockstep_api::names::label;
use lockstep_api::object;
use serde_json::{Value, json};
use thiserror::Error;

pub use environment::{ApiServerAddress, Proxy};
pub use owner::Owner;
pub use tls::TlsProfile;

/// What the cluster says about itself, as far as manifests depend on it; the default adds nothing but TLS settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterFacts {
    /// The name of the set that the objects belong to; empty means that they get no label.
    pub set: String,
    /// The ClusterVersion that owns every object, if there is one.
    pub owner: Option<Owner>,
    /// The proxy that containers reach the outside through.
    pub proxy: Option<Proxy>,
    /// The address of the API server inside of the cluster.
    pub api_server: Option<ApiServerAddress>,
    /// The TLS settings of servers; `None` is the profile Intermediate.
    pub tls: Option<TlsProfile>,
}

/// Why a manifest cannot be modified.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ModifyError {
    /// A container gets variables that the manifest does not have.
    #[error(
        "requested injection for non-existent container: {container:?} ({asked_by} of {object} names it)"
    )]
    NoContainer {
        /// The container.
        container: String,
        /// Who names it.
        asked_by: &'static str,
        /// The object.
        object: String,
    },
    /// The address of the API server cannot be read.
    #[error(
        "`status.apiServerInternalURI` of Infrastructure `cluster` is `{uri}`, which is no address: \
         it must look like https://HOST:PORT"
    )]
    ApiServerAddress {
        /// What is there.
        uri: String,
    },
    /// A part of the manifest that must be changed has another type than its kind declares.
    #[error("`{field}` of {object} must be {expected}: correct the manifest")]
    Type {
        /// The field.
        field: &'static str,
        /// The object.
        object: String,
        /// What it must be.
        expected: &'static str,
    },
}

/// Adds to a manifest what the cluster wants in it.
///
/// # Errors
/// When the manifest asks for something that it has no place for; then it may be changed in part.
pub fn modify(object: &mut Value, facts: &ClusterFacts) -> Result<(), ModifyError> {
    if !facts.set.is_empty() {
        add_label(object, &facts.set)?;
    }
    owner::set(object, facts.owner.as_ref())?;
    if let Some(proxy) = &facts.proxy {
        proxy.inject(object)?;
    }
    if let Some(address) = &facts.api_server {
        address.inject(object)?;
    }
    tls::inject(object, facts.tls.as_ref());
    ca_bundle::leave_to_injector(object);
    Ok(())
}

fn add_label(object: &mut Value, set: &str) -> Result<(), ModifyError> {
    let name = name_of(object);
    let wrong = |field, object| ModifyError::Type { field, object, expected: "a map" };
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return Err(wrong("metadata", name));
    };
    let labels = metadata.entry("labels").or_insert(Value::Null);
    if labels.is_null() {
        *labels = json!({});
    }
    let labels = labels.as_object_mut().ok_or_else(|| wrong("metadata.labels", name))?;
    labels.insert(label::PAYLOAD.to_owned(), set.into());
    Ok(())
}

/// An object for people: kind, namespace and name.
fn name_of(object: &Value) -> String {
    let (kind, namespace, name) = (object::kind(object), object::namespace(object), object::name(object));
    if namespace.is_empty() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") }
}

// === impl ClusterFacts ===

impl ClusterFacts {
    /// Reads the facts from the objects that hold them; one that the cluster does not have is a default.
    ///
    /// # Errors
    /// When the API server's address is none.
    pub fn read(
        cluster_version: Option<&Value>,
        proxy: Option<&Value>,
        infrastructure: Option<&Value>,
        api_server: Option<&Value>,
        set: &str,
    ) -> Result<Self, ModifyError> {
        Ok(Self {
            set: set.to_owned(),
            owner: cluster_version.and_then(Owner::read),
            proxy: proxy.and_then(Proxy::read),
            api_server: infrastructure.map_or(Ok(None), ApiServerAddress::read)?,
            tls: api_server.and_then(TlsProfile::read),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_config_map() -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}})
    }

    #[test]
    fn every_object_gets_the_label_of_its_set_and_keeps_its_own() {
        let facts = ClusterFacts { set: "blue".into(), ..ClusterFacts::default() };
        for (labels, expected) in [
            (json!(null), json!({"lockstep.dev/payload": "blue"})),
            (
                json!({"a": "b", "lockstep.dev/payload": "x"}),
                json!({"a": "b", "lockstep.dev/payload": "blue"}),
            ),
        ] {
            let mut object = a_config_map();
            object["metadata"]["labels"] = labels;
            modify(&mut object, &facts).unwrap();
            assert_eq!(object["metadata"]["labels"], expected);
        }
        let mut object = a_config_map();
        modify(&mut object, &ClusterFacts::default()).unwrap();
        assert_eq!(object, a_config_map());
    }

    #[test]
    fn labels_of_a_wrong_type_are_named() {
        let facts = ClusterFacts { set: "blue".into(), ..ClusterFacts::default() };
        let mut object = a_config_map();
        object["metadata"]["labels"] = json!(["a"]);
        let error = modify(&mut object, &facts).unwrap_err().to_string();
        assert_eq!(error, "`metadata.labels` of ConfigMap n/a must be a map: correct the manifest");
    }

    #[test]
    fn facts_come_from_the_objects_of_the_cluster_and_absence_is_a_default() {
        let version = json!({"metadata": {"name": "version", "uid": "u"}});
        let proxy = json!({"spec": {"httpProxy": "not-this"}, "status": {"httpsProxy": "H", "noProxy": "N"}});
        let infrastructure = json!({"status": {"apiServerInternalURI": "https://api-int.example.com:6443"}});
        let api_server = json!({"spec": {"tlsSecurityProfile": {"type": "Custom",
            "custom": {"ciphers": [], "minTLSVersion": "VersionTLS13"}}}});
        let read = ClusterFacts::read(
            Some(&version),
            Some(&proxy),
            Some(&infrastructure),
            Some(&api_server),
            "version",
        );
        let expected = ClusterFacts {
            set: "version".into(),
            owner: Some(Owner { name: "version".into(), uid: "u".into() }),
            proxy: Some(Proxy { http: String::new(), https: "H".into(), no_proxy: "N".into() }),
            api_server: Some(ApiServerAddress { host: "api-int.example.com".into(), port: "6443".into() }),
            tls: Some(TlsProfile { cipher_suites: Some(vec![]), min_version: Some("VersionTLS13".into()) }),
        };
        assert_eq!(read, Ok(expected));
        let nothing = ClusterFacts { set: "s".into(), ..ClusterFacts::default() };
        assert_eq!(ClusterFacts::read(None, None, None, None, "s"), Ok(nothing.clone()));
        let empty = json!({});
        let read = ClusterFacts::read(Some(&empty), Some(&empty), Some(&empty), Some(&empty), "s");
        assert_eq!(read, Ok(nothing));
    }

    #[test]
    fn modifying_twice_is_modifying_once() {
        let facts = ClusterFacts {
            set: "s".into(),
            owner: Some(Owner { name: "version".into(), uid: "u".into() }),
            proxy: Some(Proxy { https: "H".into(), ..Proxy::default() }),
            ..ClusterFacts::default()
        };
        let mut once = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a",
            "annotations": {"config.openshift.io/inject-proxy": "c"}},
            "spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}});
        modify(&mut once, &facts).unwrap();
        let mut twice = once.clone();
        modify(&mut twice, &facts).unwrap();
        assert_eq!(twice, once);
    }
}
