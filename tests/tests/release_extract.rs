//! Manifests and programs out of a release: from a folder and from an OCI layout, byte for byte, and nowhere else.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lockstep_api::names::profile;
use lockstep_release::store::{Access, Registries};
use lockstep_release::{Digest, PullSpec, Store};
use lockstep_tests::cli::{Run, lockstep, lockstep_with, root};
use lockstep_tests::corpus::corpus;
use lockstep_tests::fault_proxy::{FaultProxy, Kind, Plan};
use lockstep_tests::lab_up::LabUp;
use lockstep_tests::layouts::{Content, EXAMPLE, a_layout, a_layout_of, files, programs, write_release};
use serde_json::{Value, json};
use xtask::registry::{Options, Registry};

fn extract(release: &str, arguments: &[&str]) -> Run {
    let all: Vec<&str> = ["release", "extract", release].iter().chain(arguments).copied().collect();
    lockstep(&all)
}

fn good(release: &str, arguments: &[&str]) -> String {
    let run = extract(release, arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.stdout
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_folder_and_a_layout_give_their_files_byte_for_byte() {
    let (folder, layout) = a_layout();
    let original = files(&root().join(EXAMPLE).join("release-manifests"));
    for (release, name) in [(EXAMPLE, "from-folder"), (layout.as_str(), "from-layout")] {
        let to = folder.path().join(name);
        let said = good(release, &["--to", text(&to)]);
        let mut found = files(&to);
        assert!(said.ends_with(&format!("{} files\n", original.len())), "{said}");
        if release != EXAMPLE {
            assert!(said.starts_with("Extracted release payload from digest sha256:"), "{said}");
            found.insert("image-references".to_owned(), original["image-references"].clone());
        }
        assert!(found == original, "{release}");
    }
}

#[test]
fn a_folder_with_content_is_kept_unless_confirmed() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine"), "x").unwrap();
    let to = text(folder.path());
    let refused = extract(EXAMPLE, &["--to", to]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("must be empty, pass --confirm to overwrite contents of directory"),
        "{}",
        refused.stderr
    );
    assert_eq!(files(folder.path()).len(), 1, "nothing was written");
    good(EXAMPLE, &["--to", to, "--confirm"]);
    assert!(files(folder.path()).len() > 50);
    assert_eq!(files(folder.path())["mine"], b"x");
}

#[test]
fn one_file_goes_to_standard_output_and_a_missing_one_is_an_error() {
    let (_folder, layout) = a_layout();
    let original =
        fs::read_to_string(root().join(EXAMPLE).join("release-manifests/release-metadata")).unwrap();
    for release in [EXAMPLE, &layout] {
        assert_eq!(good(release, &["--file", "release-metadata"]), original);
        let missing = extract(release, &["--file", "../manifests/x"]);
        assert_eq!(missing.code, 1);
        assert_eq!(missing.stderr, "error: image did not contain ../manifests/x\n");
    }
}

#[test]
fn included_gives_what_info_counts() {
    let folder = tempfile::tempdir().unwrap();
    let info = lockstep(&["release", "info", EXAMPLE, "-o", "json", "--capability-set", "None"]);
    let selected = serde_json::from_str::<Value>(&info.stdout).unwrap()["selected"].as_u64().unwrap();
    let own = lockstep(&[
        "release",
        "objects",
        EXAMPLE,
        "--folder",
        "manifests",
        "--selected",
        "--capability-set",
        "None",
    ]);
    let own = own.stdout.lines().count() as u64 - 1;
    let to = folder.path().join("to");
    good(EXAMPLE, &["--included", "--capability-set", "None", "--to", text(&to)]);
    let mut documents = 0;
    for (name, bytes) in files(&to) {
        if lockstep_payload::file_name::is_manifest(&name) {
            documents += lockstep_payload::yaml::documents(&bytes).unwrap().len() as u64;
        }
    }
    assert_eq!(documents, selected - own);
}

#[test]
fn an_install_config_chooses_and_contradictions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("install-config.yaml");
    fs::write(&config, "apiVersion: v1\nplatform: {none: {}}\ncapabilities: {baselineCapabilitySet: None}\n")
        .unwrap();
    let to = folder.path().join("to");
    let run = extract(EXAMPLE, &["--included", "--install-config", text(&config), "--to", text(&to)]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(files(&to).len() > 10);
    let to = folder.path().join("requests");
    let none = ["--included", "--credentials-requests", "--install-config", text(&config), "--to", text(&to)];
    good(EXAMPLE, &none);
    assert_eq!(files(&to).len(), 0, "a platform without credentials asks for none");
    let contradiction: Vec<&str> = none.iter().chain(&["--cloud", "aws"]).copied().collect();
    let run = extract(EXAMPLE, &contradiction);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("--cloud \"aws\" set, but the install-config has \"none\""),
        "{}",
        run.stderr
    );
    for wrong in [
        &["--cloud", "aws"][..],
        &["--cloud", "mainframe", "--credentials-requests"],
        &["--tools", "--file", "x"],
        &["--install-config", "x"],
        &["--command-os", "linux"],
        &["--command", "oc", "--command-os", "a/b/c"],
    ] {
        assert_eq!(extract(EXAMPLE, wrong).code, 2, "{wrong:?}");
    }
}

/// Runs `kubectl` in a lab with a document on its input.
fn kubectl(lab: &LabUp, arguments: &[&str], input: &str) {
    let mut child = Command::new(xtask::kube::assets().unwrap().join("kubectl"))
        .args(arguments)
        .env("KUBECONFIG", lab.kubeconfig())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "kubectl {arguments:?}");
}

#[test]
fn a_cluster_chooses_by_the_profile_of_its_operator_unless_one_is_given() {
    const OTHER: &str = profile::SINGLE_NODE_DEVELOPER;
    let lab = LabUp::start();
    let definition = "manifests/0000_00_cluster-version-operator_01_clusterversions.crd.yaml";
    kubectl(&lab, &["create", "-f", text(&root().join(EXAMPLE).join(definition))], "");
    kubectl(&lab, &["wait", "--for=condition=Established", "crd/clusterversions.config.openshift.io"], "");
    let version = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {"clusterID": "00000000-0000-4000-8000-000000000000"}});
    kubectl(&lab, &["create", "-f", "-"], &version.to_string());
    let status = json!({"status": {"desired": {"version": "1.0.0", "image": "registry.example.com/release:1.0.0"},
        "observedGeneration": 1, "versionHash": "x", "availableUpdates": []}});
    let patch = ["patch", "clusterversion", "version", "--type=merge", "--subresource=status", "-p"];
    kubectl(&lab, &[&patch[..], &[&status.to_string()]].concat(), "");
    let take = |more: &[&str]| {
        let arguments = ["release", "extract", EXAMPLE, "--included", "--from-cluster", "--to", "-"];
        let environment = [("KUBECONFIG", text(lab.kubeconfig())), (profile::VARIABLE, "of-the-shell")];
        let run = lockstep_with(&[&arguments[..], more].concat(), &environment);
        assert_eq!(run.code, 0, "{}", run.stderr);
        (run.stdout, run.stderr)
    };
    let (default, _) = take(&["--profile", profile::SELF_MANAGED_HIGH_AVAILABILITY]);
    let (other, quiet) = take(&["--profile", OTHER]);
    assert!(other.len() > 1000 && default != other && quiet.is_empty(), "{quiet}");

    let (of_shell, told) = take(&[]);
    assert!(of_shell != default && of_shell != other);
    assert!(
        told.contains("the profile of the cluster cannot be read, of-the-shell is taken")
            && told.contains("Deployment openshift-cluster-version/cluster-version-operator"),
        "{told}"
    );
    let labels = json!({"app": "cvo"});
    let container = json!({"name": "operator", "image": "registry.example.com/cvo", "env": [{"name": profile::VARIABLE, "value": OTHER}]});
    let operator = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "cluster-version-operator", "namespace": "openshift-cluster-version"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}}});
    kubectl(&lab, &["create", "namespace", "openshift-cluster-version"], "");
    kubectl(&lab, &["create", "-f", "-"], &operator.to_string());
    assert_eq!(take(&[]), (other, String::new()));
    assert_eq!(take(&["--profile", profile::SELF_MANAGED_HIGH_AVAILABILITY]).0, default);
}

#[test]
fn a_file_that_cannot_be_understood_is_told_and_the_exit_code_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let release = folder.path().join("release");
    for part in ["manifests", "release-manifests"] {
        fs::create_dir_all(release.join(part)).unwrap();
        for (name, bytes) in files(&root().join(EXAMPLE).join(part)) {
            fs::write(release.join(part).join(name), bytes).unwrap();
        }
    }
    fs::write(release.join("release-manifests/0000_99_bad_1.yaml"), "kind: [").unwrap();
    let run = extract(text(&release), &["--included", "--to", text(&folder.path().join("to"))]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("error parsing 0000_99_bad_1.yaml: "), "{}", run.stderr);
    assert!(files(&folder.path().join("to")).len() > 50, "the others are there");
}

#[test]
fn files_without_a_last_line_break_stay_apart_on_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let release = folder.path().join("release");
    for part in ["manifests", "release-manifests"] {
        fs::create_dir_all(release.join(part)).unwrap();
        for (name, bytes) in files(&root().join(EXAMPLE).join(part)) {
            fs::write(release.join(part).join(name), bytes.trim_ascii_end()).unwrap();
        }
    }
    let documents = |bytes: &[u8]| lockstep_payload::yaml::documents(bytes).unwrap();
    let printed = documents(good(text(&release), &["--to", "-"]).as_bytes());
    let mut original = Vec::new();
    for (name, bytes) in files(&root().join(EXAMPLE).join("release-manifests")) {
        if lockstep_payload::file_name::is_manifest(&name) {
            original.extend(documents(&bytes));
        }
    }
    assert!(original.len() > 50);
    assert_eq!(printed.len(), original.len());
    assert!(printed.iter().zip(&original).all(|(one, other)| one.value == other.value), "in the same order");
}

#[test]
fn the_credentials_requests_of_the_real_release_are_those_of_one_cloud() {
    let Some(corpus) = corpus("credentials requests of a real release") else { return };
    let folder = tempfile::tempdir().unwrap();
    let release = corpus.join("4.20.0").display().to_string();
    let to = folder.path().join("to");
    good(&release, &["--credentials-requests", "--included", "--cloud", "aws", "--to", text(&to)]);
    let found = files(&to);
    assert!(found.len() >= 5, "{:?}", found.keys());
    for (name, bytes) in found {
        for document in lockstep_payload::yaml::documents(&bytes).unwrap() {
            assert_eq!(document.value["kind"], "CredentialsRequest", "{name}");
            assert_eq!(document.value["spec"]["providerSpec"]["kind"], "AWSProviderSpec", "{name}");
        }
    }
    let all = good(&release, &["--credentials-requests", "--to", "-"]);
    assert!(all.matches("kind: CredentialsRequest").count() > 20, "to standard output");
}

#[test]
fn a_program_comes_out_of_its_image_and_knows_its_release() {
    let (folder, layout) = a_layout();
    let bin = folder.path().join("bin");
    let image = "registry.example.com/release@sha256:0";
    for (command, system, file) in [
        ("oc", "linux/amd64", "oc"),
        ("oc", "windows", "oc.exe"),
        ("openshift-install", "linux", "openshift-install"),
    ] {
        good(
            &layout,
            &["--command", command, "--command-os", system, "--to", text(&bin), "--release-image", image],
        );
        let bytes = fs::read(bin.join(file)).unwrap();
        let holds = |value: &str| bytes.windows(value.len()).any(|part| part == value.as_bytes());
        assert!(holds("1.0.0\0"), "{command}");
        assert_eq!(holds(&format!("{image}\0")), command == "openshift-install");
        assert_eq!(holds("linux/amd64\0"), command == "openshift-install");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_ne!(fs::metadata(bin.join("oc")).unwrap().permissions().mode() & 0o100, 0, "it can be run");
    }
    let missing = extract(&layout, &["--command", "ccoctl", "--command-os", "linux", "--to", text(&bin)]);
    assert!(
        missing.code == 1
            && missing.stderr.contains(
                "the image \"cloud-credential-operator\" containing the desired command is not available"
            ),
        "{}",
        missing.stderr
    );
    let absent = extract(&layout, &["--command", "oc.rhel8", "--command-os", "linux", "--to", text(&bin)]);
    assert!(
        absent.code == 1
            && absent.stderr.contains("image did not contain usr/share/openshift/linux_amd64/oc.rhel8"),
        "{}",
        absent.stderr
    );
    let unknown = extract(&layout, &["--command", "vi", "--command-os", "linux", "--to", text(&bin)]);
    assert!(
        unknown.code == 2 && unknown.stderr.contains("command \"vi\" does not exist in targets"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn all_tools_of_a_command_come_in_archives_with_their_checksums() {
    let (folder, layout) = a_layout();
    let to: PathBuf = folder.path().join("tools");
    good(&layout, &["--command", "oc", "--command-os", "*", "--to", text(&to)]);
    let found = files(&to);
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "openshift-client-linux-1.0.0.tar.gz",
            "openshift-client-linux-arm64-1.0.0.tar.gz",
            "openshift-client-linux-ppc64le-1.0.0.tar.gz",
            "openshift-client-mac-1.0.0.tar.gz",
            "openshift-client-mac-arm64-1.0.0.tar.gz",
            "openshift-client-windows-1.0.0.zip",
            "release.txt",
            "sha256sum.txt",
        ]
    );
    let sums = String::from_utf8(found["sha256sum.txt"].clone()).unwrap();
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").unwrap();
        assert_eq!(sum, Digest::of(&found[name]).hex(), "{name}");
    }
    assert_eq!(sums.lines().count(), 7);
    assert!(String::from_utf8_lossy(&found["release.txt"]).contains("PULL SPEC"));
    // The tool that people have reads it.
    let listing = Command::new("tar").args(["-tvzf", text(&to.join(names[0]))]).output().unwrap();
    let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
    assert!(listing.contains("kubectl link to oc") && listing.contains("README.md"), "{listing}");
    let zip = &found["openshift-client-windows-1.0.0.zip"];
    assert!(zip.windows(6).any(|part| part == b"oc.exe") && zip.windows(2).any(|part| part == b"\r\n"));
    let again = extract(&layout, &["--command", "oc", "--command-os", "*", "--to", text(&to)]);
    assert!(again.code == 1 && again.stderr.contains("--confirm"), "{}", again.stderr);
}

#[test]
fn a_tool_that_its_image_lacks_is_told_and_the_others_come() {
    let mac = "usr/share/openshift/mac/oc";
    let (folder, layout) = a_layout_of(&[
        ("cli", vec![programs(&["usr/bin/oc"])]),
        ("cli-artifacts", vec![programs(&[mac])]),
        ("installer", vec![programs(&["usr/bin/other"])]),
    ]);
    let to = folder.path().join("tools");
    let run = extract(&layout, &["--tools", "--to", text(&to)]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let found = files(&to);
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "openshift-client-linux-1.0.0.tar.gz",
            "openshift-client-mac-1.0.0.tar.gz",
            "release.txt",
            "sha256sum.txt"
        ]
    );
    for expected in [
        "cli-artifacts: image did not contain usr/share/openshift/windows/oc.exe",
        "installer: image did not contain usr/bin/openshift-install",
        "missing images: cloud-credential-operator, installer-artifacts",
    ] {
        assert!(run.stderr.contains(expected), "{expected}: {}", run.stderr);
    }
    assert!(!run.stderr.contains("rhel9"), "builds for one edition are not missed: {}", run.stderr);

    let (folder, layout) = a_layout_of(&[("cli", vec![programs(&["usr/bin/other"])])]);
    let to = folder.path().join("tools");
    let run = extract(&layout, &["--tools", "--to", text(&to)]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("hold none of the programs that are wanted"), "{}", run.stderr);
    assert!(!to.exists(), "nothing is written");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_tools_of_a_registry_are_fetched_layer_by_layer_once_and_the_given_pull_spec_counts() {
    // The first suite to ask for it is the only one that gets to choose.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let registry = Registry::start(&Options::default()).unwrap();
    let proxy = FaultProxy::start(registry.address(), Plan::default()).await.unwrap();
    let registries = Registries::new(Access { plain_http: true, ..Access::default() }).unwrap();
    let spec = PullSpec::parse(&format!("{}/release", registry.address())).unwrap();
    let store = Store::Registry(registries.repository(&spec).unwrap());
    let repository = format!("{}/release", proxy.address);
    let share = |name: &str| programs(&[&format!("usr/share/openshift/{name}")]);
    let layers: Vec<Content> =
        ["mac/oc", "mac_arm64/oc", "linux_arm64/oc", "windows/oc.exe"].map(share).into();
    let images = [
        ("cli", vec![programs(&["usr/bin/oc"])]),
        ("cli-artifacts", layers),
        ("installer", vec![programs(&["usr/bin/openshift-install"])]),
    ];
    write_release(&store, &repository, &images).await;

    let folder = tempfile::tempdir().unwrap();
    let (home, to) = (text(folder.path()), folder.path().join("tools"));
    let environment =
        [("HOME", home), ("XDG_RUNTIME_DIR", home), ("REGISTRY_AUTH_FILE", ""), ("NO_PROXY", "127.0.0.1")];
    let release = format!("{repository}:1.0.0");
    let extract = |more: &[&str]| {
        let arguments = [&["release", "extract", &release, "--plain-http", "--to"][..], more].concat();
        let run = lockstep_with(&arguments, &environment);
        assert_eq!(run.code, 0, "{}", run.stderr);
    };
    extract(&[text(&to), "--tools"]);
    assert_eq!(files(&to).len(), 8, "six archives: {:?}", files(&to).keys());
    // Four configurations; the upper layer of the release, and the six layers of its three images.
    assert_eq!(proxy.counters().of(Kind::BlobGet), 4 + 1 + 6);

    let given = "registry.example.com/mirror@sha256:0";
    for (more, expected) in
        [(&[][..], format!("{repository}@sha256:")), (&["--release-image", given], format!("{given}\0"))]
    {
        let bin = folder.path().join(format!("bin{}", more.len()));
        extract(
            &[&[text(&bin), "--command", "openshift-install", "--command-os", "linux"][..], more].concat(),
        );
        let bytes = fs::read(bin.join("openshift-install")).unwrap();
        assert!(bytes.windows(expected.len()).any(|part| part == expected.as_bytes()), "{expected}");
    }
}
