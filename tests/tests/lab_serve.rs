//! `lockstep lab up` as a user has it: kubeconfig, `kubectl`, credentials, signals, mistakes.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use lockstep_tests::cli::binary;
use serde_json::Value;
use tempfile::TempDir;

/// A running lab in a folder of its own.
struct Lab {
    child: Child,
    stdout: BufReader<ChildStdout>,
    announcement: String,
    folder: TempDir,
}

/// What a command left behind.
struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Lab {
    fn up(arguments: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let mut child = command(folder.path(), arguments).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut announcement = String::new();
        while !announcement.contains("Ctrl-C") {
            assert_ne!(stdout.read_line(&mut announcement).unwrap(), 0, "it ended: {announcement}");
        }
        Self { child, stdout, announcement, folder }
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("lab.kubeconfig")
    }

    fn kubectl(&self, arguments: &[&str]) -> Run {
        self.kubectl_with(&self.kubeconfig(), arguments)
    }

    fn kubectl_with(&self, kubeconfig: &Path, arguments: &[&str]) -> Run {
        let mut command = Command::new(xtask::kube::assets().unwrap().join("kubectl"));
        run(command.args(arguments).env("KUBECONFIG", kubeconfig).env("HOME", self.folder.path()))
    }

    /// Sends a signal and waits for the end: exit code and everything that was still said.
    fn end(mut self, signal: &str) -> (i32, String, TempDir) {
        let status = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let folder = std::mem::replace(&mut self.folder, TempDir::new().unwrap());
        (code, rest + &stderr, folder)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // A test that failed leaves none behind; one that was ended is ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command
        .args(["lab", "up"])
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run(command: &mut Command) -> Run {
    let output = command.output().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn a_lab_comes_up_serves_kubectl_and_goes_without_a_trace() {
    let lab = Lab::up(&["--seed", "7", "--speed", "60"]);
    for part in ["https://127.0.0.1:", "seed 7", "60 times as fast", "export KUBECONFIG=", "kubectl get"] {
        assert!(lab.announcement.contains(part), "{part}: {}", lab.announcement);
    }
    let named = lab.announcement.lines().find_map(|line| line.split_once("KUBECONFIG=")).unwrap().1;
    assert_eq!(fs::canonicalize(named).unwrap(), fs::canonicalize(lab.kubeconfig()).unwrap());
    assert_eq!(fs::metadata(lab.kubeconfig()).unwrap().permissions().mode() & 0o777, 0o600);

    let version = lab.kubectl(&["get", "--raw", "/version"]);
    assert_eq!((version.code, version.stderr.as_str()), (0, ""));
    assert_eq!(serde_json::from_str::<Value>(&version.stdout).unwrap()["major"], "1");
    let resources = lab.kubectl(&["api-resources", "--api-group=apps", "-o", "name"]);
    assert!(resources.stdout.contains("deployments.apps\n"), "{}{}", resources.stdout, resources.stderr);
    assert_eq!(lab.kubectl(&["get", "--raw", "/readyz"]).stdout, "ok");

    let (code, rest, folder) = lab.end("-INT");
    assert_eq!((code, rest.as_str()), (0, ""));
    assert_eq!(fs::read_dir(folder.path()).unwrap().filter(|it| is_visible(it.as_ref().unwrap())).count(), 0);
}

/// The cache of `kubectl` is not ours.
fn is_visible(entry: &fs::DirEntry) -> bool {
    !entry.file_name().to_string_lossy().starts_with('.')
}

#[test]
fn a_wrong_token_is_a_401_and_a_termination_is_a_clean_end() {
    let lab = Lab::up(&[]);
    let text = fs::read_to_string(lab.kubeconfig()).unwrap();
    let token = text.lines().find(|line| line.contains("token: ")).unwrap();
    let wrong = lab.folder.path().join("wrong");
    fs::write(&wrong, text.replace(token.trim(), "token: wrong")).unwrap();
    let refused = lab.kubectl_with(&wrong, &["get", "--raw", "/api"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("Unauthorized"), "{}", refused.stderr);
    let kubeconfig = lab.kubeconfig();
    let (code, ..) = lab.end("-TERM");
    assert_eq!(code, 0);
    assert!(!kubeconfig.exists());
}

#[test]
fn faults_are_made_and_removed_with_kubectl() {
    let lab = Lab::up(&[]);
    let rule = lab.folder.path().join("fault.yaml");
    fs::write(&rule, "name: down\neffect: {refuse: {code: 503}}\n").unwrap();
    let made = lab.kubectl(&["create", "--raw", "/lab/v1/faults", "-f", rule.to_str().unwrap()]);
    assert_eq!((made.code, made.stderr.as_str()), (0, ""));
    let refused = lab.kubectl(&["get", "--raw", "/version"]);
    assert!(refused.stderr.contains("currently unable to handle the request"), "{}", refused.stderr);
    let list = lab.kubectl(&["get", "--raw", "/lab/v1/faults"]);
    assert_eq!(serde_json::from_str::<Value>(&list.stdout).unwrap()["items"][0]["rule"]["name"], "down");
    assert_eq!(lab.kubectl(&["delete", "--raw", "/lab/v1/faults/down"]).code, 0);
    assert_eq!(lab.kubectl(&["get", "--raw", "/version"]).code, 0);
}

#[test]
fn a_scenario_brings_its_faults_and_its_workloads() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("scenario.yaml");
    let text = "apiVersion: lab.lockstep.dev/v1\nkind: Scenario\n\
                nodes: [{roles: [worker], readyAfter: 1s}]\n\
                workloads: [{name: web, readyAfter: 2s}]\n\
                faults: [{name: secret, match: {resources: [secrets]}, effect: {refuse: {code: 403}}}]\n";
    fs::write(&file, text).unwrap();
    let lab = Lab::up(&["--scenario", file.to_str().unwrap(), "--speed", "10"]);
    let refused = lab.kubectl(&["get", "secrets"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("secrets is forbidden"), "{}", refused.stderr);
    let made = lab.kubectl(&["create", "deployment", "web", "--image=example.com/web:1"]);
    assert_eq!((made.code, made.stderr.as_str()), (0, ""));
    let ready = lab.kubectl(&["wait", "--for=condition=Available", "--timeout=60s", "deployment/web"]);
    assert_eq!((ready.code, ready.stderr.as_str()), (0, ""));
    let (code, rest, _) = lab.end("-INT");
    assert_eq!((code, rest.as_str()), (0, ""));

    fs::write(&file, text.replace("403", "418")).unwrap();
    let wrong = run(&mut command(folder.path(), &["--scenario", file.to_str().unwrap()]));
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("scenario.yaml: faults[0]: effect.refuse.code: 418"), "{}", wrong.stderr);
}

#[test]
fn another_address_of_this_machine_is_in_the_certificate() {
    let lab = Lab::up(&["--bare", "--listen", "127.0.0.2:0"]);
    let version = lab.kubectl(&["get", "--raw", "/version"]);
    assert_eq!((version.code, version.stderr.as_str()), (0, ""));
}

#[test]
fn operators_are_played_only_where_a_kubeconfig_was_named() {
    let folder = TempDir::new().unwrap();
    let mut command = Command::new(binary());
    command.args(["lab", "operators", "examples/releases/1.0.0"]).current_dir(lockstep_tests::cli::root());
    let refused = run(command.env_remove("KUBECONFIG").env("HOME", folder.path()));
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("--kubeconfig"), "{}", refused.stderr);
}

#[test]
fn a_client_certificate_lets_kubectl_in() {
    // The command writes the variant with a token; the library has both.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("kubeconfig");
    runtime.block_on(async {
        let options = lockstep_lab::ServeOptions::new("127.0.0.1:0".parse().unwrap());
        let lab = lockstep_lab::Lab::new(lockstep_lab::LabOptions::default());
        let serving = lockstep_lab::serve(lab.router(), options).await.unwrap();
        serving.write_kubeconfig(&file, lockstep_lab::Login::Certificate).unwrap();
        let (path, home) = (file.clone(), folder.path().to_owned());
        let answer = tokio::task::spawn_blocking(move || {
            let mut command = Command::new(xtask::kube::assets().unwrap().join("kubectl"));
            run(command.args(["get", "--raw", "/api"]).env("KUBECONFIG", path).env("HOME", home))
        });
        let answer = answer.await.unwrap();
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
        assert!(answer.stdout.contains("APIVersions"), "{}", answer.stdout);
        serving.shutdown().await;
    });
}

#[test]
fn mistakes_are_told_with_what_to_do() {
    let folder = TempDir::new().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    fs::write(folder.path().join("config"), "apiVersion: v1\nkind: Config\n").unwrap();
    for (arguments, code, part) in [
        (&["--listen", taken.as_str()][..], 1, "choose another port"),
        (&["--listen", "0.0.0.0:0"], 2, "only on this machine"),
        (&["--listen", "6443"], 2, "such as 127.0.0.1:6443"),
        (&["--speed", "0"], 2, "a number from 0.01 to 100000"),
        (&["--kubeconfig", "config"], 2, "is left alone"),
        (&["--kubeconfig", "missing/config"], 1, "writing `missing/config`"),
    ] {
        let run = run(&mut command(folder.path(), arguments));
        assert_eq!(run.code, code, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(part), "{arguments:?}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{arguments:?}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("config")).unwrap(), "apiVersion: v1\nkind: Config\n");
    assert!(!folder.path().join("lab.kubeconfig").exists());
}

#[test]
fn a_second_lab_says_that_it_takes_over_the_kubeconfig_and_the_first_leaves_it_alone() {
    let first = Lab::up(&[]);
    let file = first.kubeconfig();
    let second = Lab::up(&["--kubeconfig", file.to_str().unwrap()]);
    let (code, rest, kept) = first.end("-INT");
    assert_eq!((code, rest.as_str()), (0, ""));
    assert!(file.exists(), "the first leaves alone what is not its own any more");
    let (code, rest, _) = second.end("-INT");
    assert_eq!(code, 0);
    assert!(rest.contains("was that of a lab at https://127.0.0.1:"), "{rest}");
    assert!(!file.exists());
    drop(kept);
}
