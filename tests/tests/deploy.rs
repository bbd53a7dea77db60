//! What is under `deploy/` is up to date, is accepted by a real API server, and protects the ClusterVersion.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic, also in the functions that tests share"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lockstep_api::crd;
use lockstep_operator::manifests::FILES;
use lockstep_operator::rights::{self, Rights};
use lockstep_payload::manifest::read_file;
use lockstep_payload::template::{TemplateData, render};
use lockstep_payload::{Folder, Manifest, yaml};
use lockstep_tests::cli::root;
use serde_json::{Value, json};
use xtask::kube::{Server, ServerOptions};

/// The release that plain deployments run until somebody says which.
const RELEASE_IMAGE: &str = "registry.example.com/release:1.0.0";
const PROFILE: &str = "self-managed-high-availability";
const RBAC: &str = "0000_00_cluster-version-operator_02_rbac.yaml";
const ALERTS: &str = "0000_90_cluster-version-operator_03_alerts.yaml";

fn deploy() -> PathBuf {
    root().join("deploy")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Names and texts of the operator's own files, as they are on disk.
fn own_files() -> Vec<(&'static str, String)> {
    let text = |name: &str| match name {
        "0000_00_cluster-version-operator_01_clusteroperators.crd.yaml" => crd::CLUSTER_OPERATOR.to_owned(),
        "0000_00_cluster-version-operator_01_clusterversions.crd.yaml" => crd::CLUSTER_VERSION.to_owned(),
        RBAC => rbac(),
        ALERTS => alerts(),
        name => read(&deploy().join("manifests").join(name)),
    };
    FILES.iter().map(|file| (file.name, text(file.name))).collect()
}

fn rendered(name: &str, text: &str) -> String {
    let data = TemplateData {
        release_image: RELEASE_IMAGE.to_owned(),
        cluster_profile: PROFILE.to_owned(),
        ..TemplateData::default()
    };
    render(text, &data).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn manifests(name: &str, text: &str) -> Vec<Manifest> {
    let text = rendered(name, text);
    read_file(Folder::Manifests, &Arc::from(name), text.as_bytes())
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The roles of the operator's own manifests.
fn rbac() -> String {
    let others = FILES.iter().filter(|file| file.name != RBAC);
    let all: Vec<Manifest> = others
        .flat_map(|file| {
            let text = match file.name {
                ALERTS => alerts(),
                name if name.ends_with(".crd.yaml") => file.text.to_owned(),
                name => read(&deploy().join("manifests").join(name)),
            };
            manifests(file.name, &text)
        })
        .collect();
    // The release adds roles of its own, and the operator must be able to.
    let rights = Rights::compile(rights::NAME, &all, &[rights::NAME, rights::RELEASE_NAME]);
    rights::yaml("its own manifests", &rights)
}

/// The alerts as an object; texts of Prometheus must survive our templates.
fn alerts() -> String {
    let text = read(&deploy().join("monitoring/alerts.yaml"));
    let (_, groups) = text.split_once("\ngroups:\n").unwrap_or_else(|| panic!("no groups"));
    let mut out = String::from(
        "# Generated from deploy/monitoring/alerts.yaml.\napiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\n\
         metadata:\n  name: cluster-version-operator\n  namespace: openshift-cluster-version\n  labels:\n    \
         k8s-app: cluster-version-operator\n  annotations:\n    exclude.release.openshift.io/internal-openshift-hosted: \
         \"true\"\n    include.release.openshift.io/self-managed-high-availability: \"true\"\n    \
         include.release.openshift.io/single-node-developer: \"true\"\nspec:\n  groups:\n",
    );
    for line in groups.lines() {
        let line = line.replace("{{ ", "\u{1}").replace(" }}", "\u{2}");
        let line = line.replace('\u{1}', "{{ \"{{ ").replace('\u{2}', " }}\" }}");
        let _ = writeln!(out, "  {line}");
    }
    out
}

/// Several files as one, rendered.
fn together(is_wanted: impl Fn(&str) -> bool) -> String {
    let mut out = String::from(
        "# Generated from deploy/manifests: LOCKSTEP_BLESS=1 cargo test -p lockstep-tests --test deploy\n",
    );
    let mut first = true;
    for (name, text) in own_files().into_iter().filter(|(name, _)| is_wanted(name)) {
        for manifest in manifests(name, &text) {
            if !first {
                out.push_str("---\n");
            }
            first = false;
            out.push_str(&yaml::write(&manifest.object));
        }
    }
    out
}

/// Every generated file below `deploy/`, with its text.
fn generated() -> Vec<(&'static str, String)> {
    let is_monitoring = |name: &str| name.starts_with("0000_90_");
    vec![
        ("manifests/0000_00_cluster-version-operator_02_rbac.yaml", rbac()),
        ("manifests/0000_90_cluster-version-operator_03_alerts.yaml", alerts()),
        ("kustomize/base/lockstep.yaml", together(|name| !is_monitoring(name))),
        ("kustomize/monitoring/monitoring.yaml", together(is_monitoring)),
        ("helm/lockstep/crds/clusteroperators.yaml", crd::CLUSTER_OPERATOR.to_owned()),
        ("helm/lockstep/crds/clusterversions.yaml", crd::CLUSTER_VERSION.to_owned()),
        ("helm/lockstep/files/rbac.yaml", rbac()),
        (
            "helm/lockstep/files/config.yaml",
            together(|name| name.contains("_config-") || name.contains("_admin-")),
        ),
        ("helm/lockstep/files/protection.yaml", together(|name| name.contains("_05_protection"))),
        ("helm/lockstep/files/servicemonitor.yaml", together(|name| is_monitoring(name) && name != ALERTS)),
        ("helm/lockstep/files/alerts.yaml", together(|name| name == ALERTS)),
    ]
}

#[test]
fn generated_files_are_up_to_date() {
    let blesses = std::env::var_os("LOCKSTEP_BLESS").is_some();
    for (name, wanted) in generated() {
        let path = deploy().join(name);
        if blesses {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, wanted).unwrap();
        } else {
            let found = fs::read_to_string(&path).unwrap_or_default();
            assert!(found == wanted, "{name} is out of date; LOCKSTEP_BLESS=1 writes it anew");
        }
    }
}

#[test]
fn the_operator_runs_with_little_and_writes_nothing_of_its_own_image() {
    let (_, text) = own_files().into_iter().find(|(name, _)| name.contains("_deployment")).unwrap();
    let deployment = manifests("deployment.yaml", &text).remove(0).object;
    let (pod, container) =
        (&deployment["spec"]["template"]["spec"], &deployment["spec"]["template"]["spec"]["containers"][0]);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    assert_eq!(container["securityContext"]["allowPrivilegeEscalation"], false);
    assert_eq!(container["securityContext"]["capabilities"]["drop"], json!(["ALL"]));
    assert_eq!(container["image"], RELEASE_IMAGE);
    assert!(pod["volumes"].as_array().unwrap().iter().all(|volume| volume.get("hostPath").is_none()));
    assert_eq!(deployment["spec"]["strategy"]["type"], "Recreate");
}

fn start() -> Server {
    Server::start(&ServerOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs kubectl with something to read, and gives what it wrote.
fn kubectl(server: &Server, arguments: &[&str], input: &str) -> String {
    let output = server.kubectl_stdin(arguments, input.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    assert!(output.status.success(), "kubectl {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Applies what was rendered, for real and once more as a trial, which must find nothing to do.
fn is_accepted(server: &Server, text: &str) {
    let is_definition = |object: &Value| object["kind"] == "CustomResourceDefinition";
    let objects: Vec<Value> = yaml::documents(text.as_bytes())
        .unwrap_or_else(|error| panic!("{error}"))
        .into_iter()
        .map(|document| document.value)
        .filter(|object| !object.is_null())
        .collect();
    let (first, then): (Vec<_>, Vec<_>) =
        objects.into_iter().partition(|object| is_definition(object) || object["kind"] == "Namespace");
    for (is_rest, part) in [(false, first), (true, then)] {
        let part = json!({"apiVersion": "v1", "kind": "List", "items": part}).to_string();
        kubectl(server, &["apply", "--server-side", "--field-manager=deploy", "-f", "-"], &part);
        if is_rest {
            let trial = kubectl(
                server,
                &["apply", "--server-side", "--field-manager=deploy", "--dry-run=server", "-f", "-"],
                &part,
            );
            assert!(
                trial.contains("cluster-version-operator") && trial.contains("(server dry run)"),
                "{trial}"
            );
        }
    }
}

/// Definitions of the two kinds of the Prometheus operator, as open as can be.
fn monitoring_kinds() -> String {
    let definition = |kind: &str, plural: &str| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.monitoring.coreos.com")},
            "spec": {
                "group": "monitoring.coreos.com", "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                    {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
            },
        })
    };
    let items =
        [definition("ServiceMonitor", "servicemonitors"), definition("PrometheusRule", "prometheusrules")];
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

#[test]
fn the_kustomization_is_accepted_and_the_cluster_version_cannot_be_deleted() {
    let server = start();
    let folder = deploy().join("kustomize").display().to_string();
    let text = kubectl(&server, &["kustomize", &folder], "");
    assert!(!text.contains("hostNetwork") && !text.contains("{{"), "{text}");
    assert!(text.contains("pod-security.kubernetes.io/enforce: restricted"));
    is_accepted(&server, &text);
    let version = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {"clusterID": "00000000-0000-0000-0000-000000000001"}});
    kubectl(&server, &["create", "-f", "-"], &version.to_string());
    // The policy takes effect a moment after it is stored.
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    loop {
        let output =
            server.kubectl(&["delete", "clusterversion", "version", "--dry-run=server"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            assert!(said.contains("owns the whole platform"), "{said}");
            break;
        }
        assert!(std::time::Instant::now() < deadline, "the policy does not refuse");
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}

#[test]
fn the_static_pod_is_a_pod_that_the_server_takes_as_a_trial() {
    let server = start();
    let text = rendered("pod", &read(&deploy().join("static-pod/bootstrap-pod.yaml")));
    kubectl(&server, &["create", "namespace", "openshift-cluster-version"], "");
    let account = ["-n", "openshift-cluster-version", "create", "serviceaccount", "default"];
    let _ = server.kubectl_stdin(&account, b"");
    let said = kubectl(&server, &["create", "--dry-run=server", "--validate=strict", "-f", "-"], &text);
    assert!(said.contains("bootstrap-cluster-version-operator"), "{said}");
    assert!(!text.contains("privileged: true"));
}

/// Renders the chart; an error is what helm said.
fn chart(values: &Value) -> Result<String, String> {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("values.json");
    fs::write(&file, values.to_string()).unwrap();
    let output = xtask::helm::helm(home.path())
        .unwrap_or_else(|error| panic!("{error}"))
        .args(["template", "lockstep", "--include-crds", "--namespace=openshift-cluster-version", "--values"])
        .arg(&file)
        .arg(deploy().join("helm/lockstep"))
        .output()
        .unwrap();
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[test]
fn the_chart_with_and_without_values_is_accepted() {
    let server = start();
    let text = chart(&json!({"releaseImage": RELEASE_IMAGE})).unwrap();
    assert!(text.contains("kind: ClusterRole\n") && !text.contains("cluster-admin\n"), "{text}");
    is_accepted(&server, &text);

    let server = start();
    kubectl(&server, &["apply", "--server-side", "-f", "-"], &monitoring_kinds());
    kubectl(&server, &["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"], "");
    let values = json!({
        "releaseImage": "registry.example.com:5000/a/release@sha256:0000000000000000000000000000000000000000000000000000000000000000",
        "replicas": 3, "logLevel": 4, "hostNetwork": {"enabled": true}, "rbac": {"mode": "cluster-admin"},
        "listen": {"port": 9443}, "alwaysEnableCapabilities": ["Ingress", "Console"], "extraArguments": ["--log-format=json"],
        "imagePullSecrets": ["pull"], "tolerations": [{"operator": "Exists"}], "resources": {"limits": {"memory": "200Mi"}},
        "monitoring": {"serviceMonitor": true, "alerts": true}, "networkPolicy": {"enabled": false},
        "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
    });
    let text = chart(&values).unwrap();
    assert!(
        text.contains("--listen=0.0.0.0:9443")
            && text.contains("--always-enable-capabilities=Ingress,Console")
    );
    assert!(text.contains("kind: PrometheusRule") && !text.contains("kind: NetworkPolicy"));
    is_accepted(&server, &text);
}

#[test]
fn wrong_values_of_the_chart_are_refused_with_their_name() {
    let wrong = [
        (json!({"replicas": "three"}), "replicas"),
        (json!({"logLevel": 11}), "logLevel"),
        (json!({"rbac": {"mode": "all"}}), "mode"),
        (json!({"realeseImage": "x"}), "realeseImage"),
        (json!({"releaseImage": "not a pull spec"}), "releaseImage"),
        (json!({"listen": {"port": 0}}), "port"),
    ];
    for (mut values, name) in wrong {
        if values.get("releaseImage").is_none() {
            values["releaseImage"] = RELEASE_IMAGE.into();
        }
        let said = chart(&values).expect_err("the schema refuses it");
        assert!(said.contains(name), "{values}: {said}");
    }
    let said = chart(&json!({})).expect_err("a release image is needed");
    assert!(said.contains("releaseImage"), "{said}");
}
