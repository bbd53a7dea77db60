//! The example releases, applied to a real API server in graph order: 1.0.0, then 1.1.0 over it.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic, also in the functions that tests share"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Output;

use lockstep_api::ResourceId;
use lockstep_api::crd::{CLUSTER_OPERATOR, CLUSTER_VERSION};
use lockstep_api::names::annotation;
use lockstep_graph::{Frontier, Graph, InstallOrder, Mode, Role, Task, Treatment, build, stages};
use lockstep_payload::{Manifest, Release};
use lockstep_tests::releases::example;
use serde_json::{Value, json};
use xtask::kube::{Server, ServerOptions};

const VERSIONS: [&str; 2] = ["1.0.0", "1.1.0"];
/// The namespace that an operator makes at run time; no manifest of the examples does.
const MADE_BY_AN_OPERATOR: &str = "openshift-kube-apiserver";
/// Namespaces that every API server has.
const BUILT_IN: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// A release as the default cluster sees it, and its tasks in the order of an update.
struct Example {
    release: Release,
    selected: Vec<Manifest>,
    graph: Graph,
}

impl Example {
    fn load(version: &str) -> Self {
        let (release, selection) = example(version);
        let selected: Vec<Manifest> = release.selected(&selection).cloned().collect();
        let graph = build(Task::list(&selected), Mode::Updating, InstallOrder::default(), 0);
        Self { release, selected, graph }
    }

    /// Walks the graph to its end and applies each node as it becomes ready; gives the number of accepted objects.
    fn apply(&self, server: &Server) -> usize {
        let mut frontier = Frontier::new(&self.graph);
        while let Some(node) = { frontier.ready().next() } {
            let tasks = &self.graph.nodes[node].tasks;
            for batch in self.batches(tasks) {
                self.apply_batch(server, &batch);
            }
            for expected in tasks {
                assert_eq!(frontier.start(node), Ok(*expected));
                frontier.finish(node).unwrap();
            }
        }
        assert!(frontier.is_done(), "nothing is ready and {:?} tasks are done", frontier.counts());
        frontier.counts().0
    }

    /// The tasks of a node in as few calls as possible: one treatment each, and a new one after definitions.
    fn batches(&self, tasks: &[usize]) -> Vec<Vec<usize>> {
        let key = |task: &usize| (self.graph.tasks[*task].treatment, self.selected[*task].is_crd());
        tasks.chunk_by(|one, two| key(one) == key(two)).map(<[usize]>::to_vec).collect()
    }

    fn apply_batch(&self, server: &Server, batch: &[usize]) {
        let treatment = self.graph.tasks[batch[0]].treatment;
        for task in batch.iter().filter(|_| treatment == Treatment::CreateOnly) {
            if get(server, &[&self.selected[*task]]).is_empty() {
                kubectl(server, &["create", "--validate=strict", "-f", "-"], &self.documents(&[*task]));
            }
        }
        match treatment {
            Treatment::CreateOnly => {}
            Treatment::Delete => {
                kubectl(server, &["delete", "--ignore-not-found", "-f", "-"], &self.documents(batch));
            }
            Treatment::Managed => {
                kubectl(server, &APPLY, &self.documents(batch));
                if self.selected[batch[0]].is_crd() {
                    let wait = ["wait", "--for=condition=Established", "--timeout=60s", "-f", "-"];
                    kubectl(server, &wait, &self.documents(batch));
                }
            }
        }
    }

    fn documents(&self, tasks: &[usize]) -> String {
        list(tasks.iter().map(|task| &self.selected[*task]))
    }

    /// What the cluster should hold after this release.
    fn kept(&self) -> Vec<&Manifest> {
        self.selected.iter().filter(|manifest| !manifest.is_delete()).collect()
    }
}

const APPLY: [&str; 7] = [
    "apply",
    "--server-side",
    "--force-conflicts",
    "--field-manager=lockstep",
    "--validate=strict",
    "-f",
    "-",
];

fn list<'a>(manifests: impl IntoIterator<Item = &'a Manifest>) -> String {
    let items: Vec<&Value> = manifests.into_iter().map(|manifest| &manifest.object).collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// Runs `kubectl`; a failure and every warning of the server is a failure of the test.
fn kubectl(server: &Server, arguments: &[&str], input: &str) -> Output {
    let output = server.kubectl_stdin(arguments, input.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "kubectl {}: {errors}", arguments.join(" "));
    output
}

/// The live objects of some manifests; those that do not exist are left out.
fn get(server: &Server, manifests: &[&Manifest]) -> Vec<Value> {
    let arguments = ["get", "--ignore-not-found", "-o", "json", "-f", "-"];
    let output = kubectl(server, &arguments, &list(manifests.iter().copied()));
    if output.stdout.trim_ascii().is_empty() {
        return Vec::new();
    }
    let mut found: Value = serde_json::from_slice(&output.stdout).unwrap();
    match found["items"].take() {
        Value::Array(items) => items,
        _ => vec![found],
    }
}

/// The resource versions of some objects; a write changes them.
fn versions(server: &Server, manifests: &[&Manifest]) -> BTreeMap<ResourceId, String> {
    let text = |object: &Value| object["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    get(server, manifests).iter().map(|object| (ResourceId::of(object), text(object))).collect()
}

/// Namespaces that selected objects are in and that neither the release nor Kubernetes brings.
fn missing_namespaces(example: &Example) -> BTreeSet<&str> {
    let brought = |name: &str| {
        BUILT_IN.contains(&name)
            || example.selected.iter().any(|it| it.id.kind == "Namespace" && it.id.name == name)
    };
    let used = example.selected.iter().map(|manifest| manifest.id.namespace.as_str());
    used.filter(|name| !name.is_empty() && !brought(name)).collect()
}

#[test]
fn every_selected_object_is_accepted_in_graph_order_and_a_second_time_nothing_is_written() {
    let server = Server::start(&ServerOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    for version in VERSIONS {
        let example = Example::load(version);
        assert_eq!(missing_namespaces(&example), BTreeSet::from([MADE_BY_AN_OPERATOR]), "{version}");
        if version == VERSIONS[0] {
            kubectl(&server, &["create", "namespace", MADE_BY_AN_OPERATOR], "");
        }
        let deleted: Vec<&Manifest> = example.selected.iter().filter(|it| it.is_delete()).collect();
        let doomed = get(&server, &deleted).len();
        assert_eq!(doomed, usize::from(version == VERSIONS[1]), "1.1.0 deletes something of 1.0.0");
        let accepted = example.apply(&server);
        assert_eq!(accepted, example.selected.len());
        assert!(accepted > 100, "{accepted}");

        let kept = example.kept();
        let first = versions(&server, &kept);
        assert_eq!(first.len(), kept.len(), "{version}: every object is there");
        // All kinds are served by now, so one call does.
        let managed = kept.iter().copied().filter(|manifest| !manifest.is_create_only());
        kubectl(&server, &APPLY, &list(managed));
        let second = versions(&server, &kept);
        let rewritten: Vec<_> =
            first.iter().filter(|(id, version)| second.get(id) != Some(version)).collect();
        assert!(rewritten.is_empty(), "{version}: {rewritten:#?}");

        assert!(get(&server, &deleted).is_empty(), "{version}");
    }
}

#[test]
fn our_own_definitions_are_those_of_the_api_crate() {
    for version in VERSIONS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../examples/releases")
            .join(version)
            .join("manifests");
        for (name, expected) in [("clusterversions", CLUSTER_VERSION), ("clusteroperators", CLUSTER_OPERATOR)]
        {
            let file = folder.join(format!("0000_00_cluster-version-operator_01_{name}.crd.yaml"));
            let found = std::fs::read_to_string(&file).unwrap();
            assert!(
                found == expected,
                "{} differs from crates/api/crds/{name}.yaml; copy it",
                file.display()
            );
        }
    }
}

#[test]
fn the_examples_show_everything_that_a_release_can_hold() {
    for version in VERSIONS {
        let Example { release, selected, graph } = Example::load(version);
        let levels: BTreeSet<_> = graph.tasks.iter().filter_map(Task::level).collect();
        assert!(levels.len() >= 8, "{version}: {levels:?}");
        assert!(stages(&graph).len() >= 8, "{version}");
        let count = |is: &dyn Fn(&Manifest) -> bool| release.manifests.iter().filter(|it| is(it)).count();
        let annotated = |key: &str| count(&|it| it.annotation(key).is_some());
        let jobs = graph.tasks.iter().filter(|task| task.role == Role::Barrier).count();
        let facts = [
            ("ClusterOperators", count(&Manifest::is_cluster_operator), 12),
            ("objects", release.manifests.len(), 100),
            ("Jobs", jobs, 1),
            ("create-only", count(&Manifest::is_create_only), 1),
            ("deletes", count(&Manifest::is_delete), 1),
            ("capabilities", annotated(annotation::CAPABILITY), 1),
            ("feature gates", annotated(annotation::FEATURE_GATE), 1),
            ("first-generation operators", count(&Manifest::is_first_generation), 1),
            ("definitions", count(&Manifest::is_crd), 5),
            ("left out by the default selection", release.manifests.len() - selected.len(), 1),
        ];
        for (what, found, wanted) in facts {
            assert!(found >= wanted, "{version}: {found} {what}, not {wanted}");
        }
    }
}
