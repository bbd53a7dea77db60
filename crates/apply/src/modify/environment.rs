//! Variables that containers get from the cluster: the proxy, and the address of the API server.

use lockstep_api::names::config::{namespace, object as named};
use lockstep_api::names::{annotation, group, kind};
use lockstep_api::object;
use serde_json::{Value, json};

use super::{ModifyError, name_of};

/// The port of an API server whose address names none.
const DEFAULT_PORT: &str = "443";

/// How containers reach the outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxy {
    /// The proxy for HTTP.
    pub http: String,
    /// The proxy for HTTPS.
    pub https: String,
    /// What is reached without a proxy.
    pub no_proxy: String,
}

/// Where the API server is, as seen from inside of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiServerAddress {
    /// The name or IP address, the latter without brackets.
    pub host: String,
    /// The port.
    pub port: String,
}

// === impl Proxy ===

impl Proxy {
    /// Reads what is in effect from the status of the Proxy `cluster`; nothing when all of it is empty.
    pub(super) fn read(proxy: &Value) -> Option<Self> {
        let text = |field: &str| proxy["status"][field].as_str().unwrap_or_default().to_owned();
        let proxy = Self { http: text("httpProxy"), https: text("httpsProxy"), no_proxy: text("noProxy") };
        (proxy != Self::default()).then_some(proxy)
    }

    /// Sets the proxy in the containers that the manifest's annotation names.
    ///
    /// *Compatibility*: names are not trimmed; only Deployments and `DaemonSets` are looked at. A variable that is there
    /// is replaced: the reference appends a second one, which server-side apply refuses.
    pub(super) fn inject(&self, object: &mut Value) -> Result<(), ModifyError> {
        let is_workload = matches!(object::kind(object), kind::DEPLOYMENT | kind::DAEMON_SET);
        let names = object::annotation(object, annotation::INJECT_PROXY).unwrap_or_default().to_owned();
        if !is_workload
            || object::api_version(object) != "apps/v1"
            || names.is_empty()
            || *self == Self::default()
        {
            return Ok(());
        }
        let variables =
            [("HTTP_PROXY", &*self.http), ("HTTPS_PROXY", &*self.https), ("NO_PROXY", &*self.no_proxy)];
        let names: Vec<&str> = names.split(',').collect();
        set_in_containers(object, &names, &variables, annotation::INJECT_PROXY)
    }
}

// === impl ApiServerAddress ===

impl ApiServerAddress {
    /// Reads it from the status of the Infrastructure `cluster`; nothing when it names no host.
    pub(super) fn read(infrastructure: &Value) -> Result<Option<Self>, ModifyError> {
        let text = infrastructure["status"]["apiServerInternalURI"].as_str().unwrap_or_default();
        let error = || ModifyError::ApiServerAddress { uri: text.to_owned() };
        if !text.contains(':') {
            return Ok(None);
        }
        let uri: http::Uri = text.parse().map_err(|_| error())?;
        let (Some(_), Some(authority)) = (uri.scheme(), uri.authority()) else { return Err(error()) };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = authority.port().map_or(DEFAULT_PORT.to_owned(), |port| port.as_str().to_owned());
        Ok((!host.is_empty()).then_some(Self { host, port }))
    }

    /// Sets the address in the operator's own Deployment: it must not depend on the network that it installs.
    pub(super) fn inject(&self, object: &mut Value) -> Result<(), ModifyError> {
        let is_operator = object::group(object) == group::APPS
            && object::kind(object) == kind::DEPLOYMENT
            && object::namespace(object) == namespace::CLUSTER_VERSION
            && object::name(object) == named::CLUSTER_VERSION_OPERATOR;
        if !is_operator || self.host.is_empty() {
            return Ok(());
        }
        let port = if self.port.is_empty() { DEFAULT_PORT } else { &self.port };
        let variables = [("KUBERNETES_SERVICE_PORT", port), ("KUBERNETES_SERVICE_HOST", &self.host)];
        set_in_containers(
            object,
            &[named::CLUSTER_VERSION_OPERATOR],
            &variables,
            "the address of the API server",
        )
    }
}

/// Sets variables in all containers and init containers of these names.
fn set_in_containers(
    object: &mut Value,
    names: &[&str],
    variables: &[(&str, &str)],
    asked_by: &'static str,
) -> Result<(), ModifyError> {
    let mut missing = names.to_vec();
    for list in ["/spec/template/spec/initContainers", "/spec/template/spec/containers"] {
        let containers = object.pointer_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let name = container["name"].as_str().unwrap_or_default();
            if !names.contains(&name) {
                continue;
            }
            missing.retain(|missing| *missing != name);
            for (name, value) in variables {
                set_variable(container, name, value);
            }
        }
    }
    match missing.first() {
        None => Ok(()),
        Some(container) => {
            let container = (*container).to_owned();
            Err(ModifyError::NoContainer { container, asked_by, object: name_of(object) })
        }
    }
}

/// Replaces a variable where it is, or appends it; of several of one name the first stays.
fn set_variable(container: &mut Value, name: &str, value: &str) {
    let variable = json!({"name": name, "value": value});
    let Some(container) = container.as_object_mut() else { return };
    let env = container.entry("env").or_insert(Value::Null);
    if env.is_null() {
        *env = json!([]);
    }
    // Anything else is refused by the server, which says it best.
    let Some(env) = env.as_array_mut() else { return };
    let mut new = Some(variable);
    env.retain_mut(|entry| {
        if entry["name"] != *name {
            return true;
        }
        new.take().map(|variable| *entry = variable).is_some()
    });
    env.extend(new);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_workload(kind: &str, inject: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "w", "namespace": "n",
                "annotations": {"config.openshift.io/inject-proxy": inject}},
            "spec": {"template": {"spec": {"containers": [{"name": "foo"}, {"name": "bar"}],
                "initContainers": [{"name": "init-foo"}, {"name": "init-bar"}]}}}})
    }

    fn proxy() -> Proxy {
        Proxy { http: String::new(), https: "H".into(), no_proxy: "N".into() }
    }

    fn env(object: &Value) -> Value {
        let spec = &object["spec"]["template"]["spec"];
        let of = |list: &str, index: usize| spec[list][index]["env"].clone();
        json!([of("containers", 0), of("containers", 1), of("initContainers", 0), of("initContainers", 1)])
    }

    #[test]
    fn named_containers_get_the_proxy_and_others_do_not() {
        let variables = json!([{"name": "HTTP_PROXY", "value": ""}, {"name": "HTTPS_PROXY", "value": "H"},
            {"name": "NO_PROXY", "value": "N"}]);
        for kind in ["Deployment", "DaemonSet"] {
            let mut object = a_workload(kind, "foo,init-foo");
            proxy().inject(&mut object).unwrap();
            assert_eq!(env(&object), json!([variables, null, variables, null]), "{kind}");
        }
    }

    #[test]
    fn without_a_proxy_or_names_or_for_another_kind_nothing_changes() {
        for (kind, names, proxy) in [
            ("Deployment", "", proxy()),
            ("Deployment", "foo,nobody", Proxy::default()),
            ("Job", "foo", proxy()),
        ] {
            let object = a_workload(kind, names);
            let mut changed = object.clone();
            proxy.inject(&mut changed).unwrap();
            assert_eq!(changed, object, "{kind} {names:?}");
        }
    }

    #[test]
    fn a_variable_that_is_there_is_replaced_in_its_place() {
        let mut object = a_workload("Deployment", "foo");
        object["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{"name": "A", "value": "1"},
            {"name": "HTTPS_PROXY", "valueFrom": {"fieldRef": {}}}, {"name": "B"}, {"name": "HTTPS_PROXY", "value": "x"}]);
        proxy().inject(&mut object).unwrap();
        let expected = json!([{"name": "A", "value": "1"}, {"name": "HTTPS_PROXY", "value": "H"}, {"name": "B"},
            {"name": "HTTP_PROXY", "value": ""}, {"name": "NO_PROXY", "value": "N"}]);
        assert_eq!(env(&object)[0], expected);
    }

    #[test]
    fn a_name_that_no_container_has_is_an_error_and_names_are_not_trimmed() {
        for (names, culprit) in [("foo,nobody", "nobody"), ("foo, bar", " bar")] {
            let error = proxy().inject(&mut a_workload("Deployment", names)).unwrap_err().to_string();
            let expected = format!("requested injection for non-existent container: {culprit:?} (");
            assert!(error.starts_with(&expected), "{error}");
            assert!(error.contains("inject-proxy of Deployment n/w"), "{error}");
        }
    }

    fn the_operator() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "cluster-version-operator", "namespace": "openshift-cluster-version"},
            "spec": {"template": {"spec": {"containers": [{"name": "cluster-version-operator"}, {"name": "other"}]}}}})
    }

    #[test]
    fn the_operator_gets_the_address_of_the_api_server_port_first() {
        for (port, expected) in [("lbport-val", "lbport-val"), ("", "443")] {
            let address = ApiServerAddress { host: "lbhost-val".into(), port: port.into() };
            let mut object = the_operator();
            address.inject(&mut object).unwrap();
            let variables = json!([{"name": "KUBERNETES_SERVICE_PORT", "value": expected},
                {"name": "KUBERNETES_SERVICE_HOST", "value": "lbhost-val"}]);
            assert_eq!(env(&object), json!([variables, null, null, null]));
        }
    }

    #[test]
    fn an_address_that_is_there_is_replaced_and_an_empty_one_changes_nothing() {
        let mut object = the_operator();
        object["spec"]["template"]["spec"]["containers"][0]["env"] =
            json!([{"name": "KUBERNETES_SERVICE_HOST", "value": "127.0.0.1"}, {"name": "A", "value": "b"}]);
        let mut unchanged = object.clone();
        let address = |host: &str| ApiServerAddress { host: host.into(), port: "6443".into() };
        address("h").inject(&mut object).unwrap();
        let expected = json!([{"name": "KUBERNETES_SERVICE_HOST", "value": "h"}, {"name": "A", "value": "b"},
            {"name": "KUBERNETES_SERVICE_PORT", "value": "6443"}]);
        assert_eq!(env(&object)[0], expected);
        let before = unchanged.clone();
        address("").inject(&mut unchanged).unwrap();
        assert_eq!(unchanged, before);
    }

    #[test]
    fn no_other_deployment_gets_the_address() {
        let address = ApiServerAddress { host: "h".into(), port: "1".into() };
        for (field, value) in [("name", "other"), ("namespace", "other")] {
            let mut object = the_operator();
            object["metadata"][field] = json!(value);
            let before = object.clone();
            address.inject(&mut object).unwrap();
            assert_eq!(object, before, "{field}");
        }
    }

    #[test]
    fn addresses_are_read_from_uris() {
        let read = |uri: &str| {
            let address = ApiServerAddress::read(&json!({"status": {"apiServerInternalURI": uri}}));
            address.map(|address| address.map(|it| (it.host, it.port)))
        };
        let is = |host: &str, port: &str| Ok(Some((host.to_owned(), port.to_owned())));
        assert_eq!(read("https://api-int.example.com:6443"), is("api-int.example.com", "6443"));
        assert_eq!(read("https://api-int.example.com"), is("api-int.example.com", "443"));
        assert_eq!(read("https://[fd00::1]:6443"), is("fd00::1", "6443"));
        assert_eq!(read(""), Ok(None));
        assert_eq!(read("nothing"), Ok(None));
        for wrong in ["api-int.example.com:6443", "https://a b:1", "https://:x:"] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("https://HOST:PORT"), "{error}");
        }
    }
}
