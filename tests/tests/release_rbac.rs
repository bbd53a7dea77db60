//! The compiled rights suffice for everything in a release on a real API server, and leave out what it does not need.
#![expect(clippy::panic, reason = "a test fails by a panic, also in the functions that tests share")]

use std::collections::BTreeSet;
use std::process::Output;
use std::time::{Duration, Instant};

use lockstep_operator::rights::{self, Rights};
use lockstep_tests::cli::lockstep;
use lockstep_tests::real::{Chosen, wanted};
use lockstep_tests::releases::example;
use serde_json::{Value, json};
use xtask::kube::{Server, ServerOptions};

const ACCOUNT: &str = "--as=system:serviceaccount:openshift-cluster-version:cluster-version-operator";

fn compiled((release, selection): &Chosen) -> Rights {
    Rights::compile(rights::NAME, release.selected(selection), &[])
}

/// All role objects; without the rules that have this verb, where one is given.
fn roles(rights: &Rights, without: Option<&str>) -> String {
    let mut objects: Vec<Value> =
        rights.roles().iter().flat_map(|role| [role.role(), role.binding()]).collect();
    for object in &mut objects {
        if let (Some(verb), Some(rules)) = (without, object.get_mut("rules").and_then(Value::as_array_mut)) {
            rules.retain(|rule| !rule["verbs"].as_array().is_some_and(|verbs| verbs.contains(&verb.into())));
        }
    }
    list(&objects)
}

fn list(items: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

fn run(server: &Server, arguments: &[&str], input: &str) -> Result<String, String> {
    let output: Output =
        server.kubectl_stdin(arguments, input.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

fn must(server: &Server, arguments: &[&str], input: &str) -> String {
    run(server, arguments, input).unwrap_or_else(|error| panic!("{error}"))
}

const APPLY: [&str; 5] = ["apply", "--server-side", "--force-conflicts", "--field-manager=lockstep", "-f"];

/// Applies as the operator until that ends as wanted: the server needs a moment until it knows changed roles.
fn apply_as_operator(server: &Server, items: &[Value], is_wanted: impl Fn(&Result<String, String>) -> bool) {
    let (items, deadline) = (list(items), Instant::now() + Duration::from_secs(30));
    loop {
        let outcome = run(server, &[&APPLY[..], &["-", ACCOUNT]].concat(), &items);
        if is_wanted(&outcome) {
            return;
        }
        assert!(Instant::now() < deadline, "{outcome:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn is_refused(with: &'static str) -> impl Fn(&Result<String, String>) -> bool {
    move |outcome| outcome.as_ref().is_err_and(|error| error.contains(with))
}

#[test]
fn the_operator_can_apply_a_whole_release_with_the_compiled_rights_alone() {
    let server = Server::start(&ServerOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let chosen = example("1.0.0");
    let rights = compiled(&chosen);
    // The example's operator binds itself to cluster-admin; then nothing would be proved.
    let is_shortcut = |object: &Value| {
        object["metadata"]["name"] == "cluster-version-operator" && object["kind"] == "ClusterRoleBinding"
    };
    let objects: Vec<Value> =
        wanted(&chosen).into_iter().map(|it| it.object).filter(|object| !is_shortcut(object)).collect();

    // Whoever installs brings the account and the namespaces of the roles; some namespaces come with operators.
    let used = objects.iter().filter_map(|object| object["metadata"]["namespace"].as_str());
    let own = rights
        .roles()
        .into_iter()
        .filter_map(|role| role.role()["metadata"]["namespace"].as_str().map(str::to_owned));
    let namespaces: BTreeSet<String> = used.map(str::to_owned).chain(own).collect();
    let namespace =
        |name: &String| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    must(
        &server,
        &[&APPLY[..], &["-"]].concat(),
        &list(&namespaces.iter().map(namespace).collect::<Vec<_>>()),
    );

    apply_as_operator(&server, &objects[..1], is_refused("forbidden"));

    // Without `escalate` and `bind` the roles of the release are refused: those two rules are not there for nothing.
    let is_kind = |object: &Value, kind: &str| object["kind"] == kind;
    for (verb, kind) in [("escalate", "ClusterRole"), ("bind", "ClusterRoleBinding")] {
        must(&server, &[&APPLY[..], &["-"]].concat(), &roles(&rights, Some(verb)));
        let of_kind: Vec<Value> = objects.iter().filter(|object| is_kind(object, kind)).cloned().collect();
        apply_as_operator(&server, &of_kind, is_refused("attempting to grant RBAC permissions"));
    }

    must(&server, &[&APPLY[..], &["-"]].concat(), &roles(&rights, None));
    let (definitions, others): (Vec<Value>, Vec<Value>) = objects
        .into_iter()
        .partition(|object| is_kind(object, "CustomResourceDefinition") || is_kind(object, "Namespace"));
    apply_as_operator(&server, &definitions, Result::is_ok);
    must(&server, &["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"], "");
    apply_as_operator(&server, &others, Result::is_ok);

    for verb_and_resource in
        [["get", "secrets"], ["delete", "namespaces"], ["update", "deployments"], ["create", "pods"]]
    {
        let [verb, resource] = verb_and_resource;
        let answer =
            server.kubectl(&["auth", "can-i", verb, resource, "-n", "default", ACCOUNT]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&answer.stdout).trim(), "no", "{verb} {resource}");
    }
}

#[test]
fn the_page_for_people_says_what_escalate_and_bind_mean() {
    let text = rights::text("release 1.0.0", &compiled(&example("1.0.0")));
    insta::assert_snapshot!(text);
}

#[test]
fn the_command_prints_roles_with_reasons_and_all_of_it_as_json() {
    let yaml = lockstep(&["release", "rbac", "examples/releases/1.0.0"]);
    assert_eq!(yaml.code, 0, "{}", yaml.stderr);
    assert_eq!(yaml.stdout, rights::yaml("release 1.0.0", &compiled(&example("1.0.0"))));
    assert!(yaml.stdout.contains("# the release binds these roles\n"), "{}", yaml.stdout);
    let both = lockstep(&[
        "release",
        "rbac",
        "examples/releases/1.0.0",
        "--also",
        "examples/releases/1.1.0",
        "--in-release",
        "-o",
        "json",
    ]);
    let both: Value = serde_json::from_str(&both.stdout).unwrap();
    assert_eq!(
        (&both["kind"], &both["release"]),
        (&json!("ReleaseRights"), &json!("release 1.0.0 and 1.1.0"))
    );
    assert_eq!(both["objects"][0]["metadata"]["name"], rights::RELEASE_NAME);
    let grants = both["grants"].as_array().unwrap();
    let csi = grants.iter().find(|grant| grant["resource"] == "csidrivers" && grant["verb"] == "patch");
    assert_eq!(csi.unwrap()["occasion"], "regular", "only 1.1.0 has it");
}
