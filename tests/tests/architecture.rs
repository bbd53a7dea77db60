//! The house: which crate may import which, what the layers must not touch, and what comes in from outside.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic, also in the functions that tests share"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::sync::LazyLock;

use lockstep_tests::cli::root;
use serde_json::Value;

/// A crate of ours: what of ours it may import, and what it must not reach, not even through others.
struct Room {
    name: &'static str,
    imports: &'static [&'static str],
    must_not_reach: &'static [&'static [&'static str]],
}

/// Talks to a cluster or over the network.
const CLIENT: &[&str] =
    &["kube", "kube-client", "kube-runtime", "reqwest", "hyper", "hyper-util", "ureq", "rustls", "tower"];
/// Talks to a cluster.
const KUBE: &[&str] = &["kube", "kube-client", "kube-runtime", "k8s-openapi"];
/// Runs tasks.
const RUNTIME: &[&str] = &["tokio", "async-std", "smol", "rayon"];
/// Belongs to a command line.
const TERMINAL: &[&str] = &["clap", "clap_complete", "clap_mangen", "anstream", "anyhow"];
/// Only for tests.
const TESTING: &[&str] = &["insta", "proptest", "petgraph", "tempfile"];

const PURE: &[&[&str]] = &[CLIENT, RUNTIME, TERMINAL, TESTING];

/// The table of docs/architecture.md; a new crate gets its row in the same change.
const HOUSE: &[Room] = &[
    Room { name: "lockstep-api", imports: &[], must_not_reach: PURE },
    Room { name: "lockstep-schema", imports: &[], must_not_reach: PURE },
    Room { name: "lockstep-view", imports: &[], must_not_reach: PURE },
    Room { name: "lockstep-payload", imports: &["lockstep-api"], must_not_reach: PURE },
    Room {
        name: "lockstep-graph",
        imports: &["lockstep-api", "lockstep-payload", "lockstep-schema"],
        must_not_reach: PURE,
    },
    Room {
        name: "lockstep-status",
        imports: &[
            "lockstep-api",
            "lockstep-payload",
            "lockstep-graph",
            "lockstep-health",
            "lockstep-updates",
        ],
        must_not_reach: PURE,
    },
    Room { name: "lockstep-updates", imports: &["lockstep-api"], must_not_reach: PURE },
    Room { name: "lockstep-health", imports: &["lockstep-api"], must_not_reach: PURE },
    Room {
        name: "lockstep-apply",
        imports: &[
            "lockstep-api",
            "lockstep-graph",
            "lockstep-health",
            "lockstep-payload",
            "lockstep-schema",
        ],
        must_not_reach: &[TERMINAL, TESTING],
    },
    Room {
        name: "lockstep-release",
        imports: &["lockstep-api", "lockstep-graph", "lockstep-payload", "lockstep-view"],
        must_not_reach: &[KUBE, TERMINAL, TESTING],
    },
    Room {
        name: "lockstep-operator",
        imports: &[
            "lockstep-api",
            "lockstep-apply",
            "lockstep-graph",
            "lockstep-health",
            "lockstep-payload",
            "lockstep-release",
            "lockstep-status",
            "lockstep-updates",
        ],
        must_not_reach: &[TERMINAL, TESTING],
    },
    Room { name: "lockstep-reporter", imports: &["lockstep-api"], must_not_reach: &[TERMINAL, TESTING] },
    Room {
        name: "lockstep-converge",
        imports: &[
            "lockstep-api",
            "lockstep-apply",
            "lockstep-graph",
            "lockstep-health",
            "lockstep-payload",
            "lockstep-release",
            "lockstep-status",
            "lockstep-updates",
            "lockstep-view",
        ],
        must_not_reach: &[TERMINAL, TESTING],
    },
    Room {
        name: "lockstep-rehearsal",
        imports: &[
            "lockstep-apply",
            "lockstep-graph",
            "lockstep-health",
            "lockstep-lab",
            "lockstep-payload",
            "lockstep-view",
        ],
        must_not_reach: &[TESTING],
    },
    Room {
        name: "lockstep-lab",
        imports: &["lockstep-api", "lockstep-payload", "lockstep-schema"],
        must_not_reach: &[TESTING],
    },
    Room {
        name: "lockstep",
        imports: &[
            "lockstep-api",
            "lockstep-apply",
            "lockstep-converge",
            "lockstep-graph",
            "lockstep-health",
            "lockstep-lab",
            "lockstep-operator",
            "lockstep-payload",
            "lockstep-rehearsal",
            "lockstep-release",
            "lockstep-schema",
            "lockstep-updates",
            "lockstep-view",
        ],
        must_not_reach: &[TESTING],
    },
];

/// Crates that no other may import.
const DEVELOPMENT: [&str; 3] = ["example-operator", "lockstep-tests", "xtask"];

/// What `cargo metadata` says, for the platform that the binaries are made for.
static METADATA: LazyLock<Value> = LazyLock::new(|| {
    let platform = format!("--filter-platform={PLATFORM}");
    serde_json::from_str(&cargo(&["metadata", "--format-version=1", "--locked", &platform])).unwrap()
});

/// Names and versions that are really built; the metadata also has what no feature of ours asks for.
static BUILT: LazyLock<BTreeSet<(String, String)>> = LazyLock::new(|| {
    let arguments =
        ["tree", "--workspace", "--locked", "--target", PLATFORM, "--prefix=none", "--format={p}"];
    let read = |line: &str| {
        let (name, rest) = line.split_once(" v")?;
        Some((name.to_owned(), rest.split(' ').next()?.to_owned()))
    };
    cargo(&arguments).lines().filter_map(read).collect()
});

const PLATFORM: &str = "x86_64-unknown-linux-gnu";

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn text(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn package(id: &str) -> &'static Value {
    list(&METADATA["packages"]).find(|package| package["id"] == id).unwrap_or_else(|| panic!("{id}"))
}

fn name(id: &str) -> &'static str {
    string(&package(id)["name"])
}

/// The ids of our own crates.
fn ours() -> BTreeSet<&'static str> {
    list(&METADATA["workspace_members"]).map(string).collect()
}

/// What a package depends on directly; `kinds` are `normal`, `build`, `dev`.
fn dependencies(id: &str, kinds: &[&str]) -> Vec<&'static str> {
    let node = list(&METADATA["resolve"]["nodes"]).find(|node| node["id"] == id).unwrap_or(&Value::Null);
    let is_wanted = |kind: &Value| kinds.contains(&kind["kind"].as_str().unwrap_or("normal"));
    list(&node["deps"])
        .filter(|dependency| list(&dependency["dep_kinds"]).any(is_wanted))
        .map(|dependency| string(&dependency["pkg"]))
        .collect()
}

/// Everything that ends up in a crate, with the crate that brings it.
fn reached(id: &'static str) -> BTreeMap<&'static str, &'static str> {
    let mut found = BTreeMap::new();
    let mut open = vec![id];
    while let Some(current) = open.pop() {
        for next in dependencies(current, &["normal"]) {
            if found.insert(name(next), name(current)).is_none() {
                open.push(next);
            }
        }
    }
    found
}

fn room(id: &str) -> Option<&'static Room> {
    HOUSE.iter().find(|room| room.name == name(id))
}

#[test]
fn every_crate_has_a_row_in_the_table_and_every_row_a_crate() {
    let found: BTreeSet<&str> = ours().into_iter().map(name).collect();
    let expected: BTreeSet<&str> = HOUSE.iter().map(|room| room.name).chain(DEVELOPMENT).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_crate_imports_only_what_its_row_allows() {
    for id in ours() {
        let Some(room) = room(id) else { continue };
        let all = dependencies(id, &["normal", "build", "dev"]);
        let imported: Vec<&str> = all.iter().filter(|it| ours().contains(*it)).map(|it| name(it)).collect();
        let surplus: Vec<_> = imported.iter().filter(|name| !room.imports.contains(name)).collect();
        assert!(surplus.is_empty(), "{} imports {surplus:?}; its row allows {:?}", room.name, room.imports);
    }
}

#[test]
fn what_a_layer_must_not_touch_is_not_reached_through_others_either() {
    for id in ours() {
        let Some(room) = room(id) else { continue };
        let reached = reached(id);
        let forbidden = room.must_not_reach.iter().copied().flatten();
        let found: Vec<_> =
            forbidden.filter_map(|name| Some(format!("{name} (through {})", reached.get(name)?))).collect();
        assert!(found.is_empty(), "{} must not reach {found:?}", room.name);
    }
}

#[test]
fn the_command_reaches_what_the_others_must_not() {
    let command = ours().into_iter().find(|id| name(id) == "lockstep").unwrap();
    assert!(reached(command).contains_key("clap"), "or the tests above would see nothing");
}

#[test]
fn every_crate_takes_version_edition_and_lints_from_the_workspace() {
    let lints = text("Cargo.toml");
    assert!(lints.contains("unsafe_code = \"forbid\"") && lints.contains("missing_docs = \"deny\""));
    for id in ours() {
        let manifest = fs::read_to_string(string(&package(id)["manifest_path"])).unwrap();
        for line in ["version.workspace = true", "edition.workspace = true", "[lints]\nworkspace = true"] {
            assert!(manifest.contains(line), "{}: {line:?} is missing", name(id));
        }
    }
}

#[test]
fn every_dependency_is_explained() {
    let manifest = text("Cargo.toml");
    let section =
        manifest.split("[workspace.dependencies]").nth(1).and_then(|rest| rest.split("\n[").next()).unwrap();
    let lines = section.lines().filter(|line| !line.starts_with('#') && !line.contains("path ="));
    let names: Vec<&str> = lines.filter_map(|line| Some(line.split_once('=')?.0.trim())).collect();
    assert!(names.contains(&"serde_json"), "{names:?}");
    let explained = text("docs/dependencies.md");
    let missing: Vec<_> = names.iter().filter(|name| !explained.contains(&format!("| {name} |"))).collect();
    assert!(missing.is_empty(), "docs/dependencies.md has no line about {missing:?}");
}

/// The packages from outside that are built.
fn foreign() -> Vec<&'static Value> {
    let key = |package: &Value| (string(&package["name"]).to_owned(), string(&package["version"]).to_owned());
    let is_foreign =
        |package: &&Value| BUILT.contains(&key(package)) && !ours().contains(string(&package["id"]));
    let found: Vec<_> = list(&METADATA["packages"]).filter(is_foreign).collect();
    assert!(found.len() > 50, "{}", found.len());
    found
}

#[test]
fn every_dependency_comes_from_the_public_registry() {
    for package in foreign() {
        let source = string(&package["source"]);
        // The public one is the only registry whose address is that of its index repository.
        assert!(
            source.starts_with("registry+https://github.com/rust-lang/"),
            "{} {source:?}",
            package["name"]
        );
    }
}

#[test]
fn every_licence_is_on_the_list_of_deny_toml() {
    let allowed = quoted(&after(&text("deny.toml"), "\nallow = ["));
    assert!(allowed.contains("MIT"), "{allowed:?}");
    for package in foreign() {
        let licence = string(&package["license"]);
        assert!(is_allowed(licence, &allowed), "{}: {licence:?}", package["name"]);
    }
}

#[test]
fn two_versions_of_one_crate_have_a_reason_in_deny_toml() {
    let skipped = after(&text("deny.toml"), "\nskip = [");
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in foreign() {
        versions.entry(string(&package["name"])).or_default().insert(string(&package["version"]));
    }
    versions.retain(|_, versions| versions.len() > 1);
    for (name, versions) in &versions {
        let lines = skipped.matches(&format!("crate = \"{name}@")).count();
        assert_eq!(lines, versions.len() - 1, "{name} {versions:?}: all but one need a line with a reason");
    }
    let wanted: usize = versions.values().map(|versions| versions.len() - 1).sum();
    let lines = skipped.matches("crate = \"").count();
    assert_eq!(lines, wanted, "an exception that is no longer needed goes");
    assert_eq!(skipped.matches("reason = \"").count(), lines, "every exception has a reason");
}

/// The text of a list, from its opening to the line that closes it.
fn after(text: &str, opening: &str) -> String {
    let (_, rest) = text.split_once(opening).unwrap_or_else(|| panic!("deny.toml has no {opening:?}"));
    rest.split("\n]").next().unwrap_or_default().to_owned()
}

fn quoted(text: &str) -> BTreeSet<String> {
    text.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether an expression of licences holds: one side of an `OR`, both sides of an `AND`.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    // The older notation has a slash for "or".
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ");
    // NB: without nested brackets, which no licence of ours has, "and" of "or"s is how brackets are used.
    expression.split(" AND ").all(|part| part.split(" OR ").any(|licence| allowed.contains(licence.trim())))
}

#[test]
fn a_choice_of_licences_needs_one_and_a_sum_needs_all() {
    let allowed = BTreeSet::from(["MIT".to_owned(), "Unicode-3.0".to_owned()]);
    for good in ["MIT", "GPL-3.0 OR MIT", "GPL-3.0/MIT", "(MIT OR GPL-3.0) AND Unicode-3.0"] {
        assert!(is_allowed(good, &allowed), "{good}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR GPL-3.0) AND Zlib", "MIT-0"] {
        assert!(!is_allowed(bad, &allowed), "{bad}");
    }
}
