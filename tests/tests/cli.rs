//! The command as a user sees it: output, errors, exit codes, help.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::process::{Command, Stdio};

use lockstep_tests::cli::{binary, lockstep, lockstep_with, root};
use serde_json::Value;

const FIRST: &str = "examples/releases/1.0.0";
const SECOND: &str = "examples/releases/1.1.0";

fn json(arguments: &[&str]) -> Value {
    let run = lockstep(arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn release_info_fits_on_one_screen_and_has_three_forms() {
    let text = lockstep(&["release", "info", FIRST, "--release-image", "registry.example.com/release:1.0.0"]);
    insta::assert_snapshot!("info", text.stdout);
    let info = json(&["release", "info", FIRST, "-o", "json"]);
    for (field, is_right) in [
        ("apiVersion", info["apiVersion"] == "lockstep.dev/v1"),
        ("kind", info["kind"] == "ReleaseInfo"),
        ("version", info["version"] == "1.0.0"),
        ("versionHash", info["versionHash"].as_str().is_some_and(|hash| hash.len() == 12)),
        ("objects", info["objects"].as_u64() > info["selected"].as_u64()),
        ("clusterOperators", info["clusterOperators"].as_array().is_some_and(|names| names.len() >= 12)),
        ("components", info["components"].as_array().is_some_and(|names| names.len() >= 12)),
        ("images", info["images"].is_u64()),
        ("kinds", info["kinds"]["ClusterOperator"] == 12),
        ("runLevels", info["runLevels"].as_array().is_some_and(|levels| levels.len() == 8)),
    ] {
        assert!(is_right, "{field}: {info}");
    }
    let yaml = lockstep(&["release", "info", FIRST, "-o", "yaml"]).stdout;
    let read = lockstep_payload::yaml::documents(yaml.as_bytes()).unwrap();
    assert_eq!(read[0].value, info, "both forms say the same");
}

#[test]
fn flags_change_what_is_selected() {
    let selected = |flags: &[&str]| {
        let arguments: Vec<&str> =
            ["release", "info", FIRST, "-o", "json"].iter().chain(flags).copied().collect();
        json(&arguments)["selected"].as_u64().unwrap()
    };
    let all = selected(&[]);
    assert!(selected(&["--feature-set", "TechPreviewNoUpgrade"]) > all);
    assert!(selected(&["--feature-gate", "NetworkSegmentation"]) > all);
    assert!(selected(&["--profile", "single-node-developer"]) < all);
    let none = selected(&["--capability-set", "None"]);
    assert!(none < all);
    assert!(selected(&["--capability-set", "None", "--capability", "Console"]) > none);
    let without = selected(&["--without-capability", "Console"]);
    assert!(none < without && without < all);
    assert_eq!(selected(&["--profile", "", "--feature-set", ""]), all, "empty is the default");
    let by_environment = lockstep_with(
        &["release", "info", FIRST, "-o", "json"],
        &[("CLUSTER_PROFILE", "single-node-developer")],
    );
    assert!(
        by_environment
            .stdout
            .contains(&format!("\"selected\": {}", selected(&["--profile", "single-node-developer"])))
    );
}

#[test]
fn an_unknown_profile_is_told_with_those_that_there_are() {
    let run = lockstep(&["release", "info", FIRST, "--profile", "single-node"]);
    assert_eq!(run.code, 0);
    assert_eq!(
        run.stderr,
        "warning: no object of this release is for profile `single-node`; it names: self-managed-high-availability, single-node-developer\n"
    );
}

#[test]
fn objects_are_listed_by_folder_and_selection() {
    let lines = |flags: &[&str]| {
        let arguments: Vec<&str> = ["release", "objects", FIRST].iter().chain(flags).copied().collect();
        lockstep(&arguments).stdout.lines().count() - 1
    };
    let (all, own, others) =
        (lines(&[]), lines(&["--folder", "manifests"]), lines(&["--folder", "release-manifests"]));
    assert_eq!(all, own + others);
    let info = json(&["release", "info", FIRST, "-o", "json"]);
    assert_eq!(lines(&["--selected"]) as u64, info["selected"].as_u64().unwrap());
    let listed = json(&["release", "objects", FIRST, "-o", "json"]);
    assert_eq!(listed["items"].as_array().unwrap().len(), all);
}

#[test]
fn the_graph_has_five_forms() {
    let text = lockstep(&["release", "graph", FIRST]);
    insta::assert_snapshot!("graph_updating", text.stdout);
    insta::assert_snapshot!(
        "graph_installing",
        lockstep(&["release", "graph", FIRST, "--mode", "installing"]).stdout
    );
    let graph = json(&["release", "graph", FIRST, "-o", "json"]);
    let tasks = graph["tasks"].as_array().unwrap().len();
    let placed: usize =
        graph["nodes"].as_array().unwrap().iter().map(|node| node["tasks"].as_array().unwrap().len()).sum();
    assert_eq!(tasks, placed);
    let dot = lockstep(&["release", "graph", FIRST, "-o", "dot"]).stdout;
    let edges: usize =
        graph["nodes"].as_array().unwrap().iter().map(|node| node["out"].as_array().unwrap().len()).sum();
    assert!(dot.starts_with("digraph tasks {") && dot.matches(" -> ").count() == edges);
    assert!(lockstep(&["release", "graph", FIRST, "-o", "svg"]).stdout.starts_with("<svg"));
    assert!(lockstep(&["release", "graph", FIRST, "-o", "html"]).stdout.starts_with("<!doctype html>"));
    let ordered = json(&[
        "release",
        "graph",
        FIRST,
        "--mode",
        "installing",
        "--install-order",
        "run-level",
        "-o",
        "json",
    ]);
    assert_eq!(ordered["nodes"], graph["nodes"], "an installation in run-level order is the update's graph");
}

#[test]
fn both_examples_are_free_of_lint_errors() {
    for release in [FIRST, SECOND] {
        for flags in [&[][..], &["--all-combinations"]] {
            let arguments: Vec<&str> = ["release", "lint", release].iter().chain(flags).copied().collect();
            let run = lockstep(&arguments);
            assert_eq!(run.code, 0, "{release}: {}{}", run.stdout, run.stderr);
        }
    }
    assert_eq!(lockstep(&["release", "lint", FIRST, "--fail-on", "info"]).code, 1);
    let all = ["release", "lint", FIRST, "--all-combinations"];
    assert_eq!(lockstep_with(&all, &[("CLUSTER_PROFILE", "hypershift")]).code, 0, "the variable is no flag");
    let report = json(&["release", "lint", FIRST, "-o", "json"]);
    assert_eq!(report["kind"], "LintReport");
    let sarif = json(&["release", "lint", FIRST, "-o", "sarif"]);
    assert_eq!(sarif["version"], "2.1.0");
    let junit = lockstep(&["release", "lint", FIRST, "-o", "junit"]);
    assert!(junit.code == 0 && junit.stdout.contains("failures=\"0\""), "{}", junit.stdout);
    let strict = lockstep(&["release", "lint", FIRST, "-o", "junit", "--fail-on", "info"]);
    assert!(strict.code == 1 && strict.stdout.contains("failures=\"2\""), "{}", strict.stdout);
}

#[test]
fn a_wrong_folder_gets_an_error_that_says_what_is_missing() {
    let cases = [
        ("examples", "error: examples is not a release folder: manifests is missing\n"),
        (
            "examples/releases",
            "error: examples/releases is not a release folder: manifests is missing (did you mean examples/releases/1.0.0?)\n",
        ),
        (
            "examples/releases/1.0.0/release-manifests",
            "error: examples/releases/1.0.0/release-manifests is not a release folder: manifests is missing (did you mean its parent, examples/releases/1.0.0/release-manifests/..?)\n",
        ),
        (
            "nowhere",
            "error: nowhere: no such file or folder, and a pull spec names its registry and repository, as in registry.example.com/release:nowhere\n",
        ),
        (
            "./nowhere",
            "error: ./nowhere: no such file or folder, and a pull spec does not begin with `.` or `/`\n",
        ),
    ];
    for (folder, expected) in cases {
        let run = lockstep(&["release", "info", folder]);
        assert_eq!((run.code, run.stderr.as_str(), run.stdout.as_str()), (1, expected, ""));
    }
}

#[test]
fn exit_codes_are_those_of_the_documented_table() {
    let document = std::fs::read_to_string(root().join("docs/reference/exit-codes.md")).unwrap();
    let rows: Vec<Vec<String>> = document
        .lines()
        .filter(|line| line.starts_with("| `lockstep"))
        .map(|line| line.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect())
        .collect();
    for command in [
        "release new",
        "release info",
        "release objects",
        "release graph",
        "release lint",
        "rehearse",
        "replay",
        "apply",
        "diff",
        "version",
        "completion",
        "man",
    ] {
        let codes: std::collections::BTreeSet<&str> = rows
            .iter()
            .filter(|row| row[1].starts_with(&format!("lockstep {command}")))
            .map(|row| row[2].as_str())
            .collect();
        assert!(codes.len() >= 2, "{command} has a row for success and one for failure: {codes:?}");
    }
    for row in rows {
        let words: Vec<&str> =
            row[1].split_whitespace().skip(1).map(|word| word.trim_matches('\'')).collect();
        let run = lockstep(&words);
        assert_eq!(run.code.to_string(), row[2], "{}: {}", row[1], run.stderr);
    }
}

#[test]
fn misspelt_commands_and_values_get_a_suggestion() {
    let run = lockstep(&["release", "lnit", FIRST]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("similar subcommand exists: 'lint'"), "{}", run.stderr);
    let run = lockstep(&["release", "info", FIRST, "--feature-set", "TechPreview"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("TechPreviewNoUpgrade"), "{}", run.stderr);
}

#[test]
fn colour_follows_the_flag_and_the_environment() {
    let colored = |arguments: &[&str], environment: &[(&str, &str)]| {
        lockstep_with(arguments, environment).stderr.contains('\u{1b}')
    };
    let wrong = ["release", "info", "nowhere"];
    let always = ["release", "info", "nowhere", "--color", "always"];
    let never = ["release", "info", "nowhere", "--color", "never"];
    assert!(!colored(&wrong, &[]), "no terminal, no colour");
    assert!(colored(&always, &[]));
    assert!(colored(&wrong, &[("CLICOLOR_FORCE", "1")]));
    assert!(!colored(&never, &[("CLICOLOR_FORCE", "1")]));
    assert!(!colored(&wrong, &[("NO_COLOR", "1")]));
    let lint = lockstep(&["release", "lint", FIRST, "--color", "always"]).stdout;
    assert!(lint.contains("\u{1b}[34minfo\u{1b}[0m: "), "{lint}");
}

#[test]
fn every_command_has_help_with_examples_and_a_manual_page() {
    let commands: [&[&str]; 10] = [
        &[],
        &["release", "info"],
        &["release", "objects"],
        &["release", "graph"],
        &["release", "lint"],
        &["rehearse"],
        &["replay"],
        &["apply"],
        &["diff"],
        &["completion"],
    ];
    for command in commands {
        let help = lockstep(&[command, &["--help"]].concat());
        assert_eq!(help.code, 0);
        assert!(help.stdout.contains("Example"), "{command:?}: {}", help.stdout);
        let page = lockstep(&[&["man"], command].concat());
        assert_eq!(page.code, 0, "{}", page.stderr);
        assert!(page.stdout.contains(".SH NAME"), "{command:?}");
    }
    assert_eq!(lockstep(&["man", "nothing"]).code, 2);
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = lockstep(&["completion", shell]);
        assert!(script.code == 0 && script.stdout.contains("rehearse"), "{shell}");
    }
}

#[test]
fn version_names_the_commit_and_the_kubernetes_it_knows() {
    let version = json(&["version", "-o", "json"]);
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert!(version["commit"].as_str().is_some_and(|commit| commit == "unknown" || commit.len() == 40));
    assert!(version["kubernetes"].as_str().is_some_and(|version| version.contains("1.36")), "{version}");
    assert!(lockstep(&["version"]).stdout.starts_with("lockstep "));
}

/// Exit code and standard error of a command whose reader closes the pipe at once.
fn without_reader(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(binary());
    command.args(arguments).current_dir(root()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_reader_that_goes_away_changes_nothing_about_the_outcome() {
    assert_eq!(without_reader(&["release", "objects", FIRST, "-o", "json"]), (Some(0), String::new()));
    assert_eq!(without_reader(&["release", "lint", FIRST, "--fail-on", "info"]), (Some(1), String::new()));
}

#[test]
fn an_error_is_told_once_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["manifests", "release-manifests"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let metadata = folder.path().join("release-manifests/release-metadata");
    std::fs::write(&metadata, r#"{"kind":"cincinnati-metadata-v0","version":"1.x.0"}"#).unwrap();
    std::fs::write(folder.path().join("release-manifests/image-references"), "").unwrap();
    let path = folder.path().display().to_string();
    let run = lockstep(&["release", "info", &path]);
    let expected = format!(
        "error: {path}: release-manifests/release-metadata: invalid Cincinnati metadata version \"1.x.0\": unexpected character 'x' while parsing minor version number\n"
    );
    assert_eq!((run.code, run.stderr), (1, expected));
}

#[test]
fn names_of_a_release_cannot_drive_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let copy = Command::new("cp").arg("-r").arg(root().join(FIRST)).arg(folder.path()).status().unwrap();
    assert!(copy.success());
    let release = folder.path().join("1.0.0");
    let object = "apiVersion: v1\nkind: \"Bad\\e]0;owned\\a\"\nmetadata:\n  name: \"x\\e[2J\\ny\"\n  annotations:\n    include.release.openshift.io/self-managed-high-availability: \"true\"\n";
    std::fs::write(release.join("release-manifests/0000_70_bad_1.yaml"), object).unwrap();
    let path = release.display().to_string();
    for command in [&["info"][..], &["objects"], &["graph", "--files"], &["lint", "--color", "always"]] {
        let run = lockstep(&[&["release"], command, &[&path]].concat());
        let text = run.stdout + &run.stderr;
        assert!(text.contains('\u{fffd}'), "{command:?}: {text}");
        let raw = text.replace("\u{1b}[", "").contains(['\u{1b}', '\u{7}']) || text.contains("\u{1b}[2J");
        assert!(!raw, "{command:?}: {text:?}");
    }
}
