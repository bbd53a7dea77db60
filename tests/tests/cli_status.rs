//! `lockstep status` and `lockstep report` as a person uses them, against the embedded API server and a real one.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use lockstep_tests::cli::{Run, binary, lockstep, root};
use lockstep_tests::lab_up::LabUp;
use lockstep_tests::page::check_page;
use lockstep_tests::staged::Staged;
use serde_json::Value;
use xtask::kube::{Server, ServerOptions};

const RELEASE: [&str; 2] = ["--release", "examples/releases/1.1.0"];

#[track_caller]
fn ended(run: &Run, code: i32, parts: &[&str]) {
    let all = format!("{}{}", run.stdout, run.stderr);
    assert_eq!(run.code, code, "{all}");
    for part in parts {
        assert!(all.contains(part), "{part:?} is missing: {all}");
    }
}

/// What every server shows of the staged update.
fn shows_the_update(staged: &Staged) {
    let lines = [
        "Version:      1.0.0 -> 1.1.0, for 14m",
        "Now:          Working towards 1.1.0: 30 of 96 done (31% complete), waiting on dns\n",
        "Progress:     [############----------------------------] 31%, 30 of 96 manifests\n",
        "Operators:    4: Available 4 True; Progressing 1 True, 3 False; Degraded 1 True, 3 False\n",
        "Target Version:  1.1.0 (from 1.0.0)\n",
        "Completion:      25% (1 operators updated, 1 updating, 2 waiting)\n",
        "Cluster Operator dns is degraded (Staged)\n",
    ];
    ended(&staged.lockstep(&["status"]), 0, &lines);
    ended(&staged.lockstep(&["upgrade", "status"]), 0, &lines);
    let with_levels = staged.lockstep(&[&["status"][..], &RELEASE].concat());
    let levels = [
        "Waits at:     run level 08: dns; 2 operators of later levels are blocked\n",
        "Gates ahead:  2: 20 (kube-apiserver), ",
    ];
    ended(&with_levels, 0, &levels);
}

#[test]
fn an_update_is_shown_on_one_screen_in_every_form() {
    let lab = LabUp::start();
    let staged = Staged::new(lab.kubeconfig());
    ended(
        &staged.lockstep(&["status"]),
        1,
        &["no cluster version information available", "lockstep apply RELEASE"],
    );
    staged.version("Cluster version is 1.0.0", &["C1.0.0"]);
    ended(&staged.lockstep(&["status"]), 1, &["no cluster operator information available"]);
    staged.update();
    shows_the_update(&staged);

    let wide = staged.lockstep(&[&["status", "-o", "wide"][..], &RELEASE].concat());
    ended(
        &wide,
        0,
        &["LEVEL   OPERATOR         VERSION   AVAILABLE", "07      network          1.1.0     True "],
    );
    let details = staged.lockstep(&["status", "--details=all"]);
    ended(&details, 0, &["Reference:   docs/runbooks/ClusterOperatorDegraded.md", "NAME   SINCE"]);

    let json = staged.lockstep(&["status", "-o", "json"]);
    let document: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&document["apiVersion"], &document["kind"]), (&"lockstep.dev/v1".into(), &"Status".into()));
    assert_eq!(document["summary"]["now"]["waitingOn"][0], "dns");
    ended(&staged.lockstep(&["status", "-o", "yaml"]), 0, &["apiVersion: lockstep.dev/v1\n", "waitingOn:"]);

    staged.version("Cluster version is 1.1.0", &["C1.1.0", "C1.0.0"]);
    ended(
        &staged.lockstep(&["status"]),
        0,
        &["The cluster is not updating.\n", "Version:      1.1.0, for 1m"],
    );
    ended(&lockstep(&["status", "--kubeconfig", "nowhere"]), 2, &["no kubeconfig at nowhere"]);
}

/// A `lockstep status -w` that is read line by line.
struct Watching {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

// === impl Watching ===

impl Watching {
    fn start(staged: &Staged, arguments: &[&str]) -> Self {
        let mut child = Command::new(binary())
            .args(["status", "-w"])
            .args(arguments)
            .current_dir(root())
            .env("KUBECONFIG", staged.kubeconfig())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads until a line has this part.
    fn until(&mut self, part: &str) -> String {
        let found = self.lines.by_ref().map(Result::unwrap).find(|line| line.contains(part));
        found.unwrap_or_else(|| unreachable!("it ended before {part:?}"))
    }

    fn interrupt(mut self) -> Option<i32> {
        let kill = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // It has ended already where all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn whoever_watches_is_told_each_change_when_it_happens() {
    let lab = LabUp::start();
    let staged = Staged::new(lab.kubeconfig());
    staged.update();
    let mut lines = Watching::start(&staged, &[]);
    let mut documents = Watching::start(&staged, &["-o", "json"]);
    lines.until("= Update Health =");
    documents.until("\"kind\":\"Status\"");
    staged.operator(("dns", "1.1.0", "True", "False", "False", ""));
    lines.until("operator dns: fine at 1.1.0");
    documents.until("{\"name\":\"dns\",\"level\":null,\"isPlatform\":true,\"version\":\"1.1.0\"");
    staged.kubectl(&["delete", "clusteroperator", "ingress"], None);
    lines.until("operator ingress is gone");
    staged.version("Cluster version is 1.1.0", &["C1.1.0", "C1.0.0"]);
    lines.until("Z Cluster version is 1.1.0");
    documents.until("\"isUpdating\":false");
    assert_eq!((lines.interrupt(), documents.interrupt()), (Some(130), Some(130)));
}

#[test]
fn a_real_server_shows_the_same() {
    let kube = Server::start(&ServerOptions::default()).unwrap();
    let staged = Staged::new(kube.kubeconfig());
    staged.update();
    shows_the_update(&staged);
    let mut lines = Watching::start(&staged, &[]);
    lines.until("= Update Health =");
    staged.operator(("dns", "1.1.0", "True", "False", "False", ""));
    lines.until("operator dns: fine at 1.1.0");
    assert_eq!(lines.interrupt(), Some(130));
}

#[track_caller]
fn is_a_good_page(file: &std::path::Path, parts: &[&str]) {
    let html = std::fs::read_to_string(file).unwrap();
    for part in parts {
        assert!(html.contains(part), "{part:?} is missing in {}", file.display());
    }
    let report = check_page(&html).unwrap();
    assert!(report.problems.is_empty(), "{report:?}");
    assert!(report.texts > 20, "{report:?}");
}

#[test]
fn a_report_of_a_cluster_and_one_of_a_recording_are_pages_that_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = |name: &str| path(name).display().to_string();
    let lab = LabUp::start();
    let staged = Staged::new(lab.kubeconfig());
    staged.update();
    let live = staged.lockstep(&[&["report", &text("live.html")][..], &RELEASE].concat());
    ended(&live, 0, &["Not at 1.1.0 after 14m: 1 of 4 operators are.\n"]);
    is_a_good_page(
        &path("live.html"),
        &["Update from 1.", "Critical path", "Waits", "Disruptions", "level 08"],
    );

    let (first, second) = ("examples/releases/1.0.0", "examples/releases/1.1.0");
    let run = lockstep(&["rehearse", second, "--from", first, "--record", &text("run.jsonl"), "-o", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let recorded = lockstep(&["report", &text("run.html"), "--recording", &text("run.jsonl")]);
    ended(&recorded, 0, &["Converged to 1.1.0 after "]);
    is_a_good_page(&path("run.html"), &["Run of 1.", "Critical path", "Waits"]);
    ended(
        &lockstep(&["report", &text("x.html"), "--recording", "README.md"]),
        1,
        &["not the header of a recording"],
    );
}
