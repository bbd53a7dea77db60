//! `lockstep operator` with nothing but the rights that `release rbac` compiles: both example releases are installed and
//! updated, no request is refused, every request is one that the rights name, and every regular right is used.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lockstep_operator::rights::{self, Occasion, Rights};
use lockstep_tests::cli::root;
use lockstep_tests::clients::Call;
use lockstep_tests::operator::{FIRST_IMAGE, Launch, VERSION, bring_version, is_at, patch, until};
use lockstep_tests::real::{Chosen, Real};
use lockstep_tests::releases::example;
use serde_json::{Value, json};
use xtask::kube::ServerOptions;

const PATIENCE: Duration = Duration::from_mins(3);
const USER: &str = "the-operator";

/// A request as the server judged it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Asked {
    namespace: String,
    group: String,
    resource: String,
    verb: String,
    name: String,
    /// An apply that created its object.
    created: bool,
}

/// All requests of the operator about objects; panics on one that was refused for want of rights.
fn requests(log: &Path) -> BTreeSet<Asked> {
    let text = fs::read_to_string(log).unwrap();
    let mut found = BTreeSet::new();
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        if event["user"]["username"] != USER || !event["objectRef"].is_object() {
            continue;
        }
        let code = event["responseStatus"]["code"].as_u64().unwrap_or_default();
        assert_ne!(code, 403, "{} {}", event["verb"], event["requestURI"]);
        let object = &event["objectRef"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let part = text(&object["subresource"]);
        let resource = text(&object["resource"]);
        found.insert(Asked {
            namespace: text(&object["namespace"]),
            group: text(&object["apiGroup"]),
            resource: if part.is_empty() { resource } else { format!("{resource}/{part}") },
            verb: text(&event["verb"]),
            name: text(&object["name"]),
            created: code == 201,
        });
    }
    found
}

/// Gives the rights to the user, as who installs would.
async fn grant(real: &Real, rights: &Rights) {
    let post = async |path: String, object: &Value| {
        let answer = Call::post(path, object).send(&real.client).await.unwrap();
        assert!(answer.code == 201 || answer.code == 409, "{}", answer.body);
    };
    for generated in rights.roles() {
        let (role, mut binding) = (generated.role(), generated.binding());
        binding["subjects"] =
            json!([{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": USER}]);
        let base = "/apis/rbac.authorization.k8s.io/v1";
        let place = match role["metadata"]["namespace"].as_str() {
            Some(namespace) => {
                let object =
                    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
                post("/api/v1/namespaces".to_owned(), &object).await;
                format!("{base}/namespaces/{namespace}/")
            }
            None => format!("{base}/cluster"),
        };
        post(format!("{place}roles"), &role).await;
        post(format!("{place}rolebindings"), &binding).await;
    }
}

/// Kinds that the example releases do not bring, and that the operator looks at where they are.
const OTHERS: [(&str, &str, &str, &str); 4] = [
    ("config.openshift.io", "v1", "APIServer", "apiservers"),
    ("config.openshift.io", "v1", "Proxy", "proxies"),
    ("config.openshift.io", "v1", "ImageDigestMirrorSet", "imagedigestmirrorsets"),
    ("operator.openshift.io", "v1alpha1", "ImageContentSourcePolicy", "imagecontentsourcepolicies"),
];

async fn bring_other_kinds(real: &Real) {
    for (group, version, kind, plural) in OTHERS {
        let schema =
            json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}"), "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}},
            "spec": {"group": group, "scope": "Cluster", "names": {"kind": kind, "plural": plural},
                "versions": [{"name": version, "served": true, "storage": true, "schema": schema}]}});
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let answer = Call::post(path, &definition).send(&real.client).await.unwrap();
        assert_eq!(answer.code, 201, "{}", answer.body);
    }
}

fn release(version: &str) -> PathBuf {
    root().join("examples/releases").join(version)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_compiled_rights_suffice_and_each_of_them_is_used() {
    let releases: [Chosen; 2] = ["1.0.0", "1.1.0"].map(example);
    let manifests = releases.iter().flat_map(|(release, selection)| release.selected(selection));
    let rights = Rights::compile(rights::NAME, manifests, &[]);
    let options = ServerOptions { plain_users: vec![USER.to_owned()], ..ServerOptions::default() };
    let real = Real::start_with(options, &releases.each_ref()).await;
    bring_version(&real.client).await;
    bring_other_kinds(&real).await;
    grant(&real, &rights).await;
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = real.kube.kubeconfig_of(USER);
    let target = release("1.1.0").display().to_string();

    let mut first = Launch::new(&kubeconfig, FIRST_IMAGE, &release("1.0.0"), folder.path(), "first").start();
    until(&real.client, "the installation", PATIENCE, Some(&first), |it| is_at(it, "1.0.0")).await;
    patch(&real.client, VERSION, &json!({"spec": {"desiredUpdate": {"image": target, "force": true}}})).await;
    assert_eq!(first.exit(PATIENCE).await, 0, "{}", first.log());
    let second = Launch::new(&kubeconfig, &target, &release("1.1.0"), folder.path(), "second").start();
    until(&real.client, "the update", PATIENCE, Some(&second), |it| is_at(it, "1.1.0")).await;

    let log = real.kube.audit_log().unwrap();
    let start = Instant::now();
    let (asked, unused) = loop {
        let asked = requests(log);
        let unused = unused(&rights, &asked);
        if unused.is_empty() || start.elapsed() > Duration::from_secs(30) {
            break (asked, unused);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    let stranger = |it: &&Asked| !rights.allows(&it.namespace, &it.group, &it.resource, &it.verb, &it.name);
    let strangers: Vec<&Asked> = asked.iter().filter(stranger).collect();
    assert!(strangers.is_empty(), "not named by the rights: {strangers:#?}");
    assert_eq!(unused, Vec::<String>::new(), "rights that nobody used");
    let rare = rights.grants().filter(|(_, ground)| ground.occasion == Occasion::Rare).count();
    println!(
        "{} sorts of requests, {} rights, {rare} of them for troubles that did not come",
        asked.len(),
        rights.grants().count()
    );
}

/// Regular rights that no request needed.
fn unused(rights: &Rights, asked: &BTreeSet<Asked>) -> Vec<String> {
    let regular = rights.grants().filter(|(_, ground)| ground.occasion == Occasion::Regular);
    let mut unused = Vec::new();
    for (deed, _) in regular.filter(|(deed, _)| !deed.resource.starts_with('/')) {
        let is_of_it = |it: &&Asked| {
            it.group == deed.group
                && it.resource == deed.resource
                && deed.name.as_ref().is_none_or(|name| *name == it.name || it.name.is_empty())
                && match deed.verb {
                    // An apply that creates is judged as a creation as well, but is logged as what it is.
                    "create" => it.verb == "create" || (it.verb == "patch" && it.created),
                    // The server asks for these two while it judges an apply of a role or a binding.
                    "escalate" | "bind" => true,
                    verb => it.verb == verb,
                }
        };
        let is_judged_apart = matches!(deed.verb, "escalate" | "bind");
        let is_used = is_judged_apart && asked.iter().any(|it| it.group == deed.group && it.verb == "patch")
            || asked.iter().any(|it| is_of_it(&it));
        if !is_used {
            unused.push(format!("{} {} {:?}", deed.verb, deed.resource, deed.name));
        }
    }
    unused
}
