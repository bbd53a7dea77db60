//! Layer 3, first part: etcd.

use lockstep_api::names::object as well_known;

use super::super::Phase;
use super::super::concerns::Concerns;
use super::super::facts::Facts;
use super::super::phase::{B, BI, IU, IUS};
use super::super::resource::{CLUSTER_OPERATORS, ETCDS};
use super::super::rule::{Confidence, Hit, Layer, Level, Rule};
use super::super::snapshot::Probe;
use super::super::words::line_that_says;
use super::with;
use crate::facts::Condition;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "E01",
        layer: Layer::Etcd,
        title: "etcd refuses its own certificate",
        phases: B,
        level: Level::Critical,
        confidence: Confidence::Sure,
        signals: "`certificate specifies an incompatible key usage` in etcd's log, or its certificate lacks clientAuth",
        why: "etcd's gateway and health check use the serving certificate as a client certificate too.",
        remedy: "issue it with serverAuth and clientAuth",
        hides: &["B02", "A09", "E02", "A02"],
        check: wrong_usage,
    },
    Rule {
        id: "E02",
        layer: Layer::Etcd,
        title: "etcd members unhealthy",
        phases: IUS,
        level: Level::Critical,
        confidence: Confidence::Sure,
        signals: "operator etcd says EtcdMembers_UnhealthyMembers, or the alerts etcdMembersDown and etcdInsufficientMembers",
        why: "Every write of the cluster goes through etcd, and one more lost member stops them all.",
        remedy: "look at the member's node and Pod; replace the member",
        hides: &["A09", "A10", "K", "E05", "E04"],
        check: members,
    },
    Rule {
        id: "E03",
        layer: Layer::Etcd,
        title: "Bootstrap etcd member not removed",
        phases: BI,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "etcds/cluster says EtcdRunningInCluster=False with NotEnoughEtcdMembers, or EtcdBootstrapMemberRemoved stays not True",
        why: "The bootstrap member goes only when three members on masters are healthy.",
        remedy: "find the master without a running etcd Pod; do not delete the bootstrap machine",
        hides: &["B02", "B18"],
        check: bootstrap_member,
    },
    Rule {
        id: "E04",
        layer: Layer::Etcd,
        title: "etcd too slow",
        phases: IUS,
        level: Level::Warning,
        confidence: Confidence::Likely,
        signals: "alerts etcdHighFsyncDurations or etcdGRPCRequestsSlow, or operator etcd says FSyncController",
        why: "etcd waits for its disk before every write.",
        remedy: "faster disks, and one of its own for /var/lib/etcd",
        hides: &["A10"],
        check: slow,
    },
    Rule {
        id: "E05",
        layer: Layer::Etcd,
        title: "Safety of etcd's quorum unknown",
        phases: IU,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "operator etcd says EtcdEndpoints_ErrorUpdatingEtcdEndpoints, or that quorum cannot be judged",
        why: "The etcd operator changes nothing while fewer than three members are healthy.",
        remedy: "wait for the third master; else as for unhealthy members",
        hides: &["K0"],
        check: quorum,
    },
];

/// Operators whose work is static pods on masters.
pub(super) const STATIC: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

const LOOK: &str = "kubectl -n openshift-etcd get pods -l k8s-app=etcd -o wide";

fn wrong_usage(facts: &Facts<'_>) -> Vec<Hit> {
    let words = ["certificate specifies an incompatible key usage"];
    let logs =
        facts.snapshot.logs.iter().filter_map(|(name, log)| Some((name, line_that_says(log, &words)?)));
    let from_logs = logs.map(|(name, line)| Hit::outside("Log", name).line(line));
    let from_probes = facts.snapshot.probes.iter().filter_map(|probe| {
        let Probe::Tls { address, chain, .. } = probe else { return None };
        let own = chain.first().filter(|_| address.ends_with(":2379") || address.ends_with(":2380"))?;
        let lacks = !own.usages.is_empty() && !own.usages.iter().any(|usage| usage == "clientAuth");
        lacks.then(|| {
            let usages = own.usages.join(", ");
            Hit::outside("Certificate", address)
                .line(format!("{address} shows {}, for {usages} only", own.subject))
        })
    });
    let fix = "openssl x509 -in <serving certificate> -noout -ext extendedKeyUsage   # must have serverAuth and clientAuth";
    let hits = from_logs.chain(from_probes);
    hits.map(|hit| {
        hit.concerning(Concerns::whole())
            .together()
            .fix(fix)
            .fix("issue it again with both usages and restart etcd")
    })
    .collect()
}

fn members(facts: &Facts<'_>) -> Vec<Hit> {
    let concerns = STATIC.into_iter().fold(Concerns::default(), Concerns::operator);
    let complaint =
        facts.operators.get("etcd").and_then(|it| it.complains(&["EtcdMembers_UnhealthyMembers"]));
    let alert = facts.alert(&["etcdMembersDown", "etcdInsufficientMembers"]);
    let hit = Hit::named(CLUSTER_OPERATORS, "", "etcd").concerning(concerns).fix(LOOK);
    let hit = hit.fix(
        "kubectl -n openshift-etcd exec <running etcd pod> -c etcdctl -- etcdctl endpoint health --cluster",
    );
    match (complaint, alert) {
        (Some(complaint), _) => vec![with(hit, &complaint)],
        (None, Some(alert)) => {
            vec![hit.since(alert.since).line(format!("alert {}: {}", alert.name, alert.summary))]
        }
        (None, None) => Vec::new(),
    }
}

fn bootstrap_member(facts: &Facts<'_>) -> Vec<Hit> {
    let Some(found) = facts.get(ETCDS, "", well_known::CLUSTER) else { return Vec::new() };
    let running = Condition::find(found, "EtcdRunningInCluster")
        .filter(|it| it.is_false() && it.reason == "NotEnoughEtcdMembers" && facts.is_older(it.since, 600));
    let removed = Condition::find(found, "EtcdBootstrapMemberRemoved")
        .filter(|it| !it.is_true() && facts.is_older(it.since, 600));
    let Some(condition) = running.or(removed) else { return Vec::new() };
    let whole = if facts.phase == Phase::Bootstrap { Concerns::whole() } else { Concerns::version() };
    vec![
        with(Hit::on(ETCDS, found), &condition)
            .concerning(Concerns::of_operator("etcd").and(whole))
            .fix(LOOK)
            .fix("kubectl get nodes -l node-role.kubernetes.io/master   # three must be Ready; keep the bootstrap machine until then"),
    ]
}

fn slow(facts: &Facts<'_>) -> Vec<Hit> {
    let complaint = facts.operators.get("etcd").and_then(|it| it.complains(&["FSyncController"]));
    let alert =
        facts.alert(&["etcdHighFsyncDurations", "etcdGRPCRequestsSlow", "etcdHighNumberOfLeaderChanges"]);
    let hit = Hit::named(CLUSTER_OPERATORS, "", "etcd")
        .concerning(Concerns::of_operator("etcd"))
        .fix("kubectl -n openshift-etcd logs -l k8s-app=etcd -c etcd --tail=100 | grep -i 'slow fdatasync\\|took too long'")
        .fix("move /var/lib/etcd to a faster disk of its own");
    match (complaint, alert) {
        (Some(complaint), _) => vec![with(hit, &complaint)],
        (None, Some(alert)) => {
            vec![hit.since(alert.since).line(format!("alert {}: {}", alert.name, alert.summary))]
        }
        (None, None) => Vec::new(),
    }
}

fn quorum(facts: &Facts<'_>) -> Vec<Hit> {
    let words =
        ["ErrorUpdatingEtcdEndpoints", "can't evaluate whether quorum is safe", "out of the 3 required"];
    let complaint = facts.operators.get("etcd").and_then(|it| it.complains(&words));
    let hit = |it: Condition<'_>| {
        with(Hit::named(CLUSTER_OPERATORS, "", "etcd"), &it)
            .concerning(Concerns::of_operator("etcd"))
            .fix(LOOK)
    };
    let hit = |it: Condition<'_>| hit(it).fix("kubectl get nodes -l node-role.kubernetes.io/master");
    complaint.map(hit).into_iter().collect()
}
