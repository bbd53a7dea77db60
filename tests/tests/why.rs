//! Every rule of the diagnosis against a situation in the lab: alone, among unrelated troubles, and beside a decoy.
//!
//! The files say in words what is the matter and name no rule; which rule must come first stands here alone.
//! `docs/reference/why.md` is written from the rules: `LOCKSTEP_BLESS=1` writes the page instead of comparing it.
#![expect(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by a panic, also in the functions that tests share, and tells its figures"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use lockstep_health::why::{Confidence, Diagnosis, LEFT_OUT, Layer, Rule, catalogue, diagnose, told};
use lockstep_tests::why::{Situation, at_once, stage, through_the_lab};

/// Which rule must come first in which situation.
const EXPECTED: [(&str, &str); 111] = [
    ("api-name-unknown", "A01"),
    ("api-port-closed", "A02"),
    ("balancer-checks-plainly", "A03"),
    ("certificate-lacks-name", "A04"),
    ("authority-unknown", "A05"),
    ("certificate-ended", "A06"),
    ("clocks-apart", "A07"),
    ("kubeconfig-refused", "A08"),
    ("api-not-ready", "A09"),
    ("api-overloaded", "A10"),
    ("release-image-denied", "B01"),
    ("bootkube-render-failed", "B02"),
    ("bootkube-not-executable", "B03"),
    ("pause-image", "B04"),
    ("bootstrap-host-is-a-node", "B05"),
    ("operator-from-component-image", "B06"),
    ("operator-without-flags", "B07"),
    ("gates-not-created", "B08"),
    ("kinds-not-served", "B09"),
    ("wish-during-install", "B10"),
    ("profile-unknown", "B11"),
    ("topology-empty", "B12"),
    ("network-configuration-absent", "B13"),
    ("install-configuration-absent", "B14"),
    ("etcd-endpoints-absent", "B15"),
    ("pull-secret-lacks-registry", "B16"),
    ("nobody-leads", "B17"),
    ("bootstrap-never-reported", "B18"),
    ("etcd-certificate-usage", "E01"),
    ("etcd-member-down", "E02"),
    ("bootstrap-member-stays", "E03"),
    ("etcd-slow", "E04"),
    ("quorum-unknown", "E05"),
    ("static-pod-fails", "K01"),
    ("installer-waits", "K02"),
    ("master-lost", "K03"),
    ("revision-stuck", "K04"),
    ("revision-lacks-secret", "K05"),
    ("aggregated-api-down", "K06"),
    ("node-asks-and-nobody-answers", "C01"),
    ("serving-certificate-waits", "C02"),
    ("approved-and-nothing-came", "C03"),
    ("approver-gave-up", "C04"),
    ("no-machine-ever-asked", "C05"),
    ("third-master-missing", "N01"),
    ("node-without-network", "N02"),
    ("node-silent", "N03"),
    ("disk-full", "N04"),
    ("tainted-nodes", "N05"),
    ("node-out-of-use", "N06"),
    ("network-configuration-invalid", "T01"),
    ("network-rollout-hangs", "T02"),
    ("service-addresses-dead", "T03"),
    ("kube-proxy-forbidden", "T04"),
    ("names-unknown-in-cluster", "T05"),
    ("no-sandbox", "T06"),
    ("proxy-refuses", "T07"),
    ("image-for-other-machine", "I01"),
    ("registry-denies", "I02"),
    ("image-not-mirrored", "I03"),
    ("registry-away", "I04"),
    ("registry-not-trusted", "I05"),
    ("registry-counts", "I06"),
    ("signature-asked-for", "I07"),
    ("placeholder-left", "I08"),
    ("next-release-not-readable", "I09"),
    ("nodes-full", "S01"),
    ("no-node-fits", "S02"),
    ("no-node-at-all", "S03"),
    ("volume-missing", "S04"),
    ("program-crashes", "P01"),
    ("config-key-missing", "P02"),
    ("probe-says-no", "P03"),
    ("pods-refused", "P04"),
    ("rollout-too-late", "P05"),
    ("job-failed", "P06"),
    ("webhook-dead", "W01"),
    ("object-refused", "W02"),
    ("definition-not-served", "W03"),
    ("namespace-does-not-end", "W04"),
    ("two-write-one-object", "W05"),
    ("operator-never-spoke", "O01"),
    ("operator-unavailable", "O02"),
    ("operator-degraded", "O03"),
    ("operator-busy-for-long", "O04"),
    ("operator-to-and-fro", "O05"),
    ("old-version-stays", "O06"),
    ("manifest-without-versions", "O07"),
    ("condition-missing", "O08"),
    ("routers-homeless", "G01"),
    ("wildcard-record-missing", "G02"),
    ("login-route-dead", "G03"),
    ("console-waits-for-others", "G04"),
    ("registry-without-storage", "G05"),
    ("monitoring-wants-two", "G06"),
    ("cloud-gives-no-machine", "M01"),
    ("pool-degraded", "M02"),
    ("rendered-on-bootstrap-only", "M03"),
    ("file-changed-by-hand", "M04"),
    ("drain-hangs", "M05"),
    ("pool-paused", "M06"),
    ("release-not-signed", "V01"),
    ("release-broken", "V02"),
    ("precondition-blocks", "V03"),
    ("overrides-forgotten", "V04"),
    ("spec-invalid", "V05"),
    ("no-updates-known", "V06"),
    ("update-stands-still", "V07"),
    ("nodes-follow", "V08"),
    ("update-before-update", "V09"),
    ("capability-off", "V10"),
];

fn situations() -> Vec<(Situation, &'static str)> {
    let found = Situation::all("");
    let known = |name: &str| EXPECTED.iter().find(|(file, _)| *file == name).map(|(_, id)| *id);
    found
        .into_iter()
        .map(|it| (known(&it.name).unwrap_or_else(|| panic!("{} is not in the table", it.name)), it))
        .map(|(id, it)| (it, id))
        .collect()
}

fn rule(id: &str) -> &'static Rule {
    catalogue().iter().find(|rule| rule.id == id).unwrap()
}

fn word(layer: Layer) -> String {
    serde_json::to_value(layer).unwrap().as_str().unwrap().to_owned()
}

/// How a run over all situations ended.
#[derive(Default)]
struct Score {
    right: usize,
    wrong: Vec<String>,
    /// Those that were wrong and sure of it.
    sure: Vec<String>,
}

impl Score {
    fn count(&mut self, name: &str, id: &str, diagnosis: &Diagnosis) {
        match diagnosis.causes.first() {
            Some(first) if first.id == id => self.right += 1,
            Some(first) => {
                let line = format!(
                    "{name}: expected {id}, got {} ({})\n{}",
                    first.id,
                    first.confidence.word(),
                    told(diagnosis)
                );
                if first.confidence == Confidence::Sure {
                    self.sure.push(line.clone());
                }
                self.wrong.push(line);
            }
            None => self.wrong.push(format!("{name}: expected {id}, got nothing")),
        }
    }

    fn assert(&self, what: &str, percent: usize) {
        let all = self.right + self.wrong.len();
        println!("{what}: {} of {all} right; wrong:\n{}", self.right, self.wrong.join("\n"));
        assert!(self.sure.is_empty(), "{what}: wrong and sure:\n{}", self.sure.join("\n"));
        assert!(
            self.right * 100 >= all * percent,
            "{what}: {} of {all}:\n{}",
            self.right,
            self.wrong.join("\n")
        );
    }
}

#[test]
fn every_rule_has_a_situation_or_a_reason_why_not() {
    let built: BTreeSet<&str> = catalogue().iter().map(|rule| rule.id).collect();
    let staged: BTreeSet<&str> = EXPECTED.iter().map(|(_, id)| *id).collect();
    let left_out: BTreeSet<&str> = LEFT_OUT.iter().map(|it| it.id).collect();
    assert_eq!(built, staged);
    assert_eq!(built.len(), catalogue().len());
    assert!(left_out.len() <= 10 && left_out.is_disjoint(&built));
    assert_eq!(built.len() + left_out.len(), 111);
    for situation in Situation::all("").iter().chain(&Situation::all("noise")).chain(&Situation::all("decoy"))
    {
        let text = situation.file.to_string();
        let named: Vec<&&str> = built.iter().filter(|id| text.contains(&format!("\"{id}"))).collect();
        assert!(named.is_empty(), "{} names {named:?}", situation.name);
    }
}

#[test]
fn what_only_looks_alike_is_not_taken_for_it() {
    let mut wrong = Vec::new();
    for (situation, id) in situations() {
        let Some(almost) = situation.almost() else {
            wrong.push(format!("{} has nothing that only looks alike", situation.name));
            continue;
        };
        let seen = |it: &Situation| {
            let diagnosis = diagnose(&at_once(stage(&[it])));
            let explained =
                diagnosis.causes.iter().flat_map(|it| it.explains.iter().map(|it| it.id)).collect::<Vec<_>>();
            diagnosis.causes.iter().map(|it| it.id).chain(explained).any(|it| it == id)
        };
        if !seen(&situation) {
            wrong.push(format!("{}: {id} does not see it", situation.name));
        }
        if seen(&almost) {
            wrong.push(format!("{}: {id} also sees what only looks alike", situation.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_cluster_that_is_well_has_no_cause() {
    for world in ["steady", "installing", "updating", "bootstrapping"] {
        let file = serde_json::json!({"world": world});
        let diagnosis = diagnose(&at_once(stage(&[&Situation { name: world.to_owned(), file }])));
        assert!(diagnosis.causes.is_empty(), "{world}: {}", told(&diagnosis));
    }
}

#[test]
fn right_cause_comes_first_alone() {
    let mut score = Score::default();
    for (situation, id) in situations() {
        score.count(&situation.name, id, &diagnose(&through_the_lab(stage(&[&situation]))));
    }
    score.assert("alone", 95);
}

#[test]
fn right_cause_comes_first_among_two_unrelated_troubles() {
    let noise = Situation::all("noise");
    let mut score = Score::default();
    for (at, (situation, id)) in situations().iter().enumerate() {
        let own = word(rule(id).layer);
        let is_nowhere = situation.file["world"] == "nothing";
        let fits = |it: &&Situation| {
            let layer = it.name.split('-').next().unwrap_or_default();
            // Where there is no cluster there are no shops in it.
            layer != own
                && (!is_nowhere || it.file.get("probes").is_some() || it.file.get("skewSeconds").is_some())
        };
        let others: Vec<&Situation> = noise.iter().filter(fits).collect();
        let pick = |by: usize| others[(at + by) % others.len()];
        let mut all = vec![situation, pick(0)];
        all.extend(Some(pick(others.len() / 2)).filter(|it| it.name != pick(0).name));
        score.count(&situation.name, id, &diagnose(&through_the_lab(stage(&all))));
    }
    score.assert("with noise", 85);
}

#[test]
fn a_decoy_is_never_taken_for_the_cause_with_certainty() {
    let decoys = Situation::all("decoy");
    let mut score = Score::default();
    for (situation, id) in situations() {
        let name = match rule(id).layer {
            Layer::Client | Layer::Pki | Layer::Bootstrap => "client",
            Layer::Etcd | Layer::ApiServer => "etcd",
            Layer::Nodes => "nodes",
            Layer::Network | Layer::Dns => "network",
            Layer::Images => "images",
            Layer::Scheduling => "scheduling",
            Layer::Pods => "pods",
            Layer::Operators => "operators",
            Layer::Release => "release",
        };
        let decoy = decoys.iter().find(|it| it.name == name).unwrap();
        score.count(&situation.name, id, &diagnose(&through_the_lab(stage(&[&situation, decoy]))));
    }
    score.assert("with a decoy", 85);
}

#[test]
fn every_cause_says_what_to_do_and_what_was_seen() {
    for (situation, _) in situations() {
        for cause in diagnose(&at_once(stage(&[&situation]))).causes {
            assert!(!cause.fix.is_empty() && !cause.evidence.is_empty(), "{}: {}", situation.name, cause.id);
            assert!(
                !cause.object.name.is_empty() && !cause.object.kind.is_empty(),
                "{}: {}",
                situation.name,
                cause.id
            );
        }
    }
}

// === the page ===

const HEAD: &str = "\
# Why: the catalogue of causes

`lockstep why` looks for these causes. Each rule reads a snapshot of the cluster, live or from a folder, and nothing else. A
rule applies in some phases: B bootstrapping, I installing, U updating, S steady. Confidence says how much a signal proves: *sure*
is a field, *likely* a text, *hint* a time or a count. A cause takes the findings under *explains* along where both concern the same
operator, namespace or node; what is left is ordered by layer, and what explains nothing that is unwell comes last.

<!-- Written by the suite `why` from the rules: LOCKSTEP_BLESS=1 cargo test -p lockstep-tests --test why -->
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    let mut layers: Vec<Layer> = catalogue().iter().map(|rule| rule.layer).collect();
    layers.sort();
    layers.dedup();
    for layer in layers {
        let _ = write!(
            page,
            "\n## {}\n\n| id | cause | phases | level | signals | remedy | confidence | explains |\n|---|---|---|---|---|---|---|---|\n",
            heading(layer)
        );
        for rule in catalogue().iter().filter(|rule| rule.layer == layer) {
            let phases: String = rule.phases.iter().map(|phase| phase.letter()).collect();
            let (level, confidence) = (rule.level.word(), rule.confidence.word());
            let hides = rule
                .hides
                .iter()
                .map(|id| if *id == "*" { "everything" } else { id })
                .collect::<Vec<_>>()
                .join(" ");
            let [title, signals, why, remedy] = [rule.title, rule.signals, rule.why, rule.remedy].map(cell);
            let _ = writeln!(
                page,
                "| {} | **{title}** {why} | {phases} | {level} | {signals} | {remedy} | {confidence} | {hides} |",
                rule.id
            );
        }
    }
    if LEFT_OUT.is_empty() {
        page += "\nNo entry of the catalogue is left out.\n";
    }
    for it in LEFT_OUT {
        let _ = writeln!(page, "\nLeft out: {}, because {}.", it.id, it.reason);
    }
    page
}

fn heading(layer: Layer) -> &'static str {
    match layer {
        Layer::Client => "On the way to the API",
        Layer::Pki => "Certificates, credentials and clocks",
        Layer::Bootstrap => "The bootstrap host",
        Layer::Etcd => "etcd",
        Layer::ApiServer => "API server and static pods",
        Layer::Nodes => "Nodes and machines",
        Layer::Network => "Pod network and service network",
        Layer::Dns => "Names inside of the cluster",
        Layer::Images => "Images",
        Layer::Scheduling => "Scheduling and volumes",
        Layer::Pods => "Pods, workloads and admission",
        Layer::Operators => "Operators",
        Layer::Release => "The release",
    }
}

fn cell(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('|', "\\|").replace("*.", "\\*.")
}

#[test]
fn the_page_is_written_from_the_rules() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/why.md");
    if std::env::var_os("LOCKSTEP_BLESS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        committed,
        page(),
        "docs/reference/why.md is out of date: LOCKSTEP_BLESS=1 cargo test -p lockstep-tests --test why"
    );
}
