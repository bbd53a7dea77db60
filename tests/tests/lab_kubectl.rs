//! Real `kubectl` against the lab and against a real API server: one script, equal output, errors and exit codes.
//!
//! There are no controllers on either side; what they would write into a status, the script writes.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic, also in the functions that tests share"
)]

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use lockstep_tests::kubectl_transcript::plain;
use lockstep_tests::lab_up::LabUp;
use xtask::kube::{Server, ServerOptions};

/// How long one step may take.
const PATIENCE: Duration = Duration::from_mins(1);
/// What the errors of a step end with that took longer.
const TIMED_OUT: &str = "(timed out)\n";

/// A server as `kubectl` sees it.
struct Target {
    kubectl: PathBuf,
    kubeconfig: PathBuf,
    /// Discovery caches of this server alone.
    home: tempfile::TempDir,
    address: String,
    _alive: Alive,
}

/// What has to live as long as the target.
#[expect(dead_code, reason = "held, not read")]
enum Alive {
    Real(Server),
    Lab(LabUp),
}

/// One step of the script.
struct Step {
    /// The command line after `kubectl`; words in single quotes are one argument.
    line: &'static str,
    /// Standard input.
    input: &'static str,
    /// Runs while a watch is open: its lines are compared instead of a result.
    watch: &'static [&'static str],
}

/// What a step left.
#[derive(Debug, PartialEq)]
struct Result {
    code: i32,
    stdout: String,
    stderr: String,
}

// === Servers ===

impl Target {
    fn new(kubeconfig: &Path, alive: Alive) -> Self {
        let kubectl = xtask::kube::assets().unwrap_or_else(|error| panic!("{error}")).join("kubectl");
        let text = std::fs::read_to_string(kubeconfig).unwrap();
        let start = text.find("https://").expect("a server in the kubeconfig");
        let address: String =
            text[start..].chars().take_while(|letter| !"\"'\n ".contains(*letter)).collect();
        let home = tempfile::tempdir().unwrap();
        Self { kubectl, kubeconfig: kubeconfig.to_owned(), home, address, _alive: alive }
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(&self.kubectl);
        command
            // A later `-n` wins.
            .arg("--namespace=demo")
            .args(words(line))
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", self.home.path())
            .env_remove("KUBECTL_APPLYSET")
            .current_dir(self.home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, line: &str, input: &str) -> Result {
        let mut child = self.command(line).spawn().unwrap();
        // A command that does not read its input may be gone already.
        drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (code, stdout, stderr) = thread::scope(|scope| {
            // Beside the waiting: a command that nobody reads stops when its pipe is full.
            let readers = (scope.spawn(|| all(stdout)), scope.spawn(|| all(stderr)));
            let code = end(&mut child, PATIENCE);
            (code, readers.0.join().unwrap(), readers.1.join().unwrap())
        });
        let text = |bytes: &[u8]| plain(&String::from_utf8_lossy(bytes), &self.address);
        let (stdout, mut stderr) = (text(&stdout), text(&stderr));
        if code.is_none() {
            stderr.push_str(TIMED_OUT);
        }
        Result { code: code.unwrap_or(-1), stdout, stderr }
    }

    /// Opens a watch, waits for its first line, runs other commands, and reads one more line for each.
    fn watch(&self, line: &str, commands: &[&str]) -> Result {
        let mut child = self.command(line).spawn().unwrap();
        let (send, lines) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        let reader = thread::spawn(move || {
            for line in output.lines().map_while(std::result::Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let mut stdout = String::new();
        let mut read = || {
            let line = lines.recv_timeout(PATIENCE).unwrap_or_else(|_| "no line in time".into());
            stdout.push_str(&line);
            stdout.push('\n');
        };
        read();
        for command in commands {
            self.run(command, "");
            read();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        reader.join().unwrap();
        Result { code: 0, stdout: plain(&stdout, &self.address), stderr: String::new() }
    }

    fn play(&self, steps: &[Step]) -> Vec<Result> {
        let one = |step: &Step| {
            if step.watch.is_empty() {
                self.run(step.line, step.input)
            } else {
                self.watch(step.line, step.watch)
            }
        };
        steps.iter().map(one).collect()
    }
}

/// The exit code of a command; one that takes too long is ended and has none.
fn end(child: &mut Child, patience: Duration) -> Option<i32> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.code().unwrap_or(-1));
        }
        if start.elapsed() > patience {
            // It may end in this very moment.
            let _ = child.kill();
            child.wait().unwrap();
            return None;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn all(mut pipe: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What came before a broken pipe counts.
    let _ = pipe.read_to_end(&mut bytes);
    bytes
}

/// Splits at blanks, except inside single quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().expect("never empty").push(other),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn real_server() -> Target {
    let server = Server::start(&ServerOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let kubeconfig = server.kubeconfig().to_owned();
    Target::new(&kubeconfig, Alive::Real(server))
}

fn lab_server() -> Target {
    let lab = LabUp::start();
    let kubeconfig = lab.kubeconfig().to_owned();
    Target::new(&kubeconfig, Alive::Lab(lab))
}

// === The script ===

const fn step(line: &'static str) -> Step {
    Step { line, input: "", watch: &[] }
}

const fn with(line: &'static str, input: &'static str) -> Step {
    Step { line, input, watch: &[] }
}

const fn watch(line: &'static str, watch: &'static [&'static str]) -> Step {
    Step { line, input: "", watch }
}

const CONFIG_MAP: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, labels: {team: x}}\ndata: {k: v}\n";
const CHANGED: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, labels: {team: x}}\ndata: {k: w}\n";
const UNKNOWN_FIELD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: u}\nspec: {k: v}\n";
const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {app: web}}\n\
    spec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    \
    spec: {containers: [{name: c, image: \"example.com/c:1\"}]}\n";
const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
    metadata: {name: widgets.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n  \
    names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd]}\n  \
    versions:\n  - name: v1\n    served: true\n    storage: true\n    \
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer, maximum: 9}}}}}}\n";
const WIDGET: &str = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n";
const LARGE_WIDGET: &str =
    "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: l}\nspec: {size: 30}\n";

const READY: &str = "patch deployment web --subresource=status --type=merge -p \
    '{\"status\":{\"observedGeneration\":1,\"replicas\":2,\"updatedReplicas\":2,\"readyReplicas\":2,\"availableReplicas\":2,\
    \"conditions\":[{\"type\":\"Available\",\"status\":\"True\",\"reason\":\"MinimumReplicasAvailable\",\"message\":\"ok\"}]}}'";

/// Each line is run on both servers.
const SCRIPT: &[Step] = &[
    // Objects from words.
    step("create namespace demo"),
    step("create namespace demo"),
    step("create configmap a --from-literal=k=v --from-literal=l=w"),
    step("create deployment plain --image=example.com/p:1 --replicas=3"),
    step("create serviceaccount robot"),
    step("create secret generic s --from-literal=k=v"),
    step("create role reader --verb=get,list --resource=pods"),
    step("create rolebinding readers --role=reader --serviceaccount=demo:robot"),
    step("create configmap a --from-literal=k=v"),
    step("create configmap dry --from-literal=k=v --dry-run=server -o yaml"),
    step("get configmap dry"),
    // Every output.
    step("get configmap a -o yaml"),
    step("get configmap a -o json"),
    step("get configmap a -o name"),
    step("get configmap a -o jsonpath='{.data.k}'"),
    step("get configmap a -o jsonpath='{.data.k}{\"\\n\"}{.metadata.labels}'"),
    step("get configmap a -o go-template='{{.data.l}}'"),
    step("get configmaps -o name"),
    step("get configmaps -o jsonpath='{range .items[*]}{.metadata.name}{\" \"}{end}'"),
    step("get configmap,secret -o name"),
    step("get deployment plain -o yaml"),
    step("get role reader -o yaml"),
    step("get rolebinding readers -o json"),
    step("get secret s -o jsonpath='{.data.k}'"),
    step("get --raw /readyz"),
    // Files.
    with("create -f -", CONFIG_MAP),
    with("create -f -", CONFIG_MAP),
    with("create -f -", UNKNOWN_FIELD),
    with("create --validate=false -f -", UNKNOWN_FIELD),
    with("create -f -", "not: [an object"),
    with("create -f -", "apiVersion: v1\nkind: Nothing\nmetadata: {name: a}\n"),
    with("replace -f -", CHANGED),
    with("replace -f -", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: none}\n"),
    step("get configmap b -o yaml"),
    // Apply.
    with("apply --server-side --field-manager=one -f -", CONFIG_MAP),
    with("apply --server-side --field-manager=one --force-conflicts -f -", CONFIG_MAP),
    with("apply --server-side --field-manager=two -f -", CHANGED),
    with("apply --server-side --field-manager=two --force-conflicts -f -", CHANGED),
    with("apply --server-side --field-manager=two --force-conflicts -o yaml -f -", CHANGED),
    with(
        "apply --server-side --dry-run=server --field-manager=one --force-conflicts -o jsonpath='{.data.k}' -f -",
        CONFIG_MAP,
    ),
    with("apply --server-side --field-manager=two -f -", UNKNOWN_FIELD),
    with("apply --server-side --field-manager=one -f -", DEPLOYMENT),
    // Patch, label, annotate.
    step("patch configmap b --type=merge -p '{\"data\":{\"m\":\"n\"}}'"),
    step("patch configmap b --type=merge -p '{\"data\":{\"m\":\"n\"}}'"),
    step("patch configmap b --type=json -p '[{\"op\":\"remove\",\"path\":\"/data/m\"}]'"),
    step("patch configmap b --type=json -p '[{\"op\":\"remove\",\"path\":\"/data/none\"}]'"),
    step("patch configmap none --type=merge -p '{}'"),
    step("patch configmap b --type=merge -p '{\"data\":{\"m\":\"o\"}}' -o yaml"),
    step("label configmap b color=red"),
    step("label configmap b color=blue"),
    step("label configmap b color=blue --overwrite"),
    step("label configmap b color-"),
    step("label configmap b color-"),
    step("label configmap b 'bad key=x'"),
    step("label configmaps --all stage=test"),
    step("annotate configmap b note='some text'"),
    step("annotate configmap b note-"),
    step("get configmaps -l team=x -o name"),
    step("get configmaps -l 'team notin (x),stage=test' -o name"),
    step("get configmaps -l 'a b' -o name"),
    step("get configmaps --field-selector metadata.name=b -o name"),
    step("get configmaps --field-selector data.k=v -o name"),
    step("get configmaps --chunk-size=1 -o name"),
    step("get deployments -A -o name"),
    // Workloads.
    step("wait --for=condition=Available deployment/web --timeout=1s"),
    step(READY),
    step("get deployment web -o jsonpath='{.status}'"),
    step("wait --for=condition=Available deployment/web --timeout=10s"),
    step("wait --for=jsonpath='{.status.readyReplicas}'=2 deployment/web --timeout=10s"),
    step("rollout status deployment/web --timeout=10s"),
    step("rollout status deployment/plain --timeout=1s"),
    step("scale deployment web --replicas=5"),
    step("scale deployment web --replicas=6 --current-replicas=9"),
    step("get deployment web -o jsonpath='{.spec.replicas}'"),
    step("rollout status deployment/web --timeout=1s"),
    step("scale deployment none --replicas=1"),
    // Custom kinds.
    with("create -f -", WIDGET),
    with("apply --server-side -f -", DEFINITION),
    step("wait --for=condition=Established crd/widgets.example.com --timeout=30s"),
    step("api-resources --api-group=example.com -o name"),
    with("create -f -", WIDGET),
    with("create -f -", LARGE_WIDGET),
    with("apply --server-side -f -", WIDGET),
    step("get widgets -o name"),
    step("get wd w -o jsonpath='{.spec.size}'"),
    step("get widget.v1.example.com w -o yaml"),
    step("patch widget w --type=merge -p '{\"spec\":{\"size\":4}}'"),
    step("delete widget w"),
    step("delete crd widgets.example.com"),
    step("wait --for=delete crd/widgets.example.com --timeout=30s"),
    // Watches.
    watch(
        "get configmap b -w -o jsonpath='{.metadata.name}={.data.k}{\"\\n\"}'",
        &[
            "patch configmap b --type=merge -p '{\"data\":{\"k\":\"one\"}}'",
            "patch configmap b --type=merge -p '{\"data\":{\"k\":\"two\"}}'",
        ],
    ),
    step("label configmap b stage=watched --overwrite"),
    watch(
        "get configmaps -l stage=watched -w -o name",
        &["label configmap a stage=watched --overwrite", "annotate configmap a seen=yes"],
    ),
    // Discovery.
    step("api-resources --api-group=apps --namespaced=true --no-headers -o name"),
    step("api-resources --api-group=rbac.authorization.k8s.io -o name"),
    step("api-resources --api-group=batch -o name"),
    // Errors.
    step("get configmap none"),
    step("get nothings"),
    step("get configmap none --ignore-not-found"),
    step("get configmap a -n none"),
    step("delete configmap none"),
    step("delete configmap none --ignore-not-found"),
    step("create configmap 'Bad_Name'"),
    step("create configmap x -n missing"),
    // The end.
    step("delete configmap a --wait=false"),
    step("delete configmaps -l team=x"),
    step("delete deployment web --cascade=background"),
    step("get deployment web -o name"),
    step("delete deployment plain --dry-run=server"),
    step("delete deployments --all"),
    step("delete secret s"),
    step("wait --for=delete secret/s --timeout=10s"),
    step("get all -o name"),
];

#[test]
fn one_script_has_equal_results_on_both_servers() {
    let (real, second) = thread::scope(|scope| {
        let other = scope.spawn(lab_server);
        (real_server(), other.join().unwrap())
    });
    let (left, right) = thread::scope(|scope| {
        let other = scope.spawn(|| second.play(SCRIPT));
        (real.play(SCRIPT), other.join().unwrap())
    });
    let mut different = 0;
    for ((step, one), two) in SCRIPT.iter().zip(&left).zip(&right) {
        if one != two {
            different += 1;
            println!("DIFFERENT kubectl {}\n--- real {one:#?}\n--- second {two:#?}", step.line);
        }
    }
    if let Some(file) = std::env::var_os("LOCKSTEP_TRACE") {
        let text = |(step, result): (&Step, &Result)| {
            format!("$ kubectl {}\n{}{}(exit {})\n\n", step.line, result.stdout, result.stderr, result.code)
        };
        std::fs::write(file, SCRIPT.iter().zip(&left).map(text).collect::<String>()).unwrap();
    }
    let failed = left.iter().filter(|result| result.code != 0).count();
    println!("{} commands, {failed} of them refused, {different} different", SCRIPT.len());
    assert!(left.iter().all(|result| !result.stdout.contains("no line in time")), "a watch was silent");
    assert!(left.iter().all(|result| !result.stderr.ends_with(TIMED_OUT)), "a step took too long");
    assert_eq!(different, 0);
    assert!(failed >= 15 && SCRIPT.len() - failed >= 60, "{failed} of {}", SCRIPT.len());
}

#[test]
fn words_in_quotes_are_one_argument() {
    assert_eq!(words("a 'b c' --x='{\"d\": 1}'"), ["a", "b c", "--x={\"d\": 1}"]);
}

#[test]
fn a_command_that_takes_too_long_is_ended() {
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    assert_eq!(end(&mut child, Duration::from_millis(20)), None);
    assert!(child.try_wait().unwrap().is_some(), "it is gone");
    let mut child = Command::new("false").spawn().unwrap();
    assert_eq!(end(&mut child, PATIENCE), Some(1));
}
