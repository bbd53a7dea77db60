//! Layer 8, second part: ingress, authentication, console, registry and monitoring.

use lockstep_api::names::condition::AVAILABLE;
use lockstep_api::object;

use super::super::concerns::Concerns;
use super::super::facts::{Facts, parse};
use super::super::phase::{I, IUS};
use super::super::resource::{CLAIMS, CLUSTER_OPERATORS, INGRESS_CONTROLLERS};
use super::super::rule::{Confidence, Hit, Layer, Level, Rule};
use super::super::words::says;
use super::with;
use crate::facts::{Condition, text};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "G01",
        layer: Layer::Operators,
        title: "Ingress has nowhere to run",
        phases: I,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "the default IngressController is unavailable and its router Pods find no node",
        why: "Routers need workers, and everything with a route needs routers.",
        remedy: "approve the workers' certificate requests, add workers, or let masters run workloads",
        hides: &["G03", "G04", "S01", "S02", "N05", "O02", "O03"],
        check: no_ingress_node,
    },
    Rule {
        id: "G02",
        layer: Layer::Operators,
        title: "Load balancer or DNS of ingress",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "the IngressController says LoadBalancerReady=False or DNSReady=False (90 s), or CanaryChecksSucceeding=False (60 s)",
        why: "Routers run, and requests from outside do not reach them.",
        remedy: "the wildcard record *.apps, and ports 80 and 443 of the load balancer to the nodes with routers",
        hides: &["G03", "G04"],
        check: ingress_path,
    },
    Rule {
        id: "G03",
        layer: Layer::Operators,
        title: "Authentication cannot reach its own route",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "operator authentication complains about OAuthServerRoute, OAuthServerService, WellKnown or ReadyIngressNodes",
        why: "It asks itself through its route or service and gets no answer.",
        remedy: "route: look at ingress; service: at the Pods of openshift-authentication; well-known: wait for kube-apiserver",
        hides: &["G04"],
        check: authentication,
    },
    Rule {
        id: "G04",
        layer: Layer::Operators,
        title: "Console cannot reach its route",
        phases: IUS,
        level: Level::Warning,
        confidence: Confidence::Likely,
        signals: "operator console complains about RouteHealth or its Deployment while ingress or authentication is bad too",
        why: "The console needs ingress and authentication.",
        remedy: "mend ingress and authentication first",
        hides: &[],
        check: console,
    },
    Rule {
        id: "G05",
        layer: Layer::Operators,
        title: "Image registry has no storage",
        phases: I,
        level: Level::Warning,
        confidence: Confidence::Sure,
        signals: "operator image-registry says StorageNotConfigured",
        why: "On platforms without object storage somebody must say where images go.",
        remedy: "configure storage, use emptyDir for tests, or set managementState Removed",
        hides: &[],
        check: registry_storage,
    },
    Rule {
        id: "G06",
        layer: Layer::Operators,
        title: "Monitoring waits for nodes or storage",
        phases: I,
        level: Level::Warning,
        confidence: Confidence::Hint,
        signals: "operator monitoring is not available and its Pods or claims wait",
        why: "Its replicas want two nodes and its claims a storage class.",
        remedy: "add workers or storage",
        hides: &["S02", "S04"],
        check: monitoring,
    },
];

fn no_ingress_node(facts: &Facts<'_>) -> Vec<Hit> {
    let Some(controller) = facts.get(INGRESS_CONTROLLERS, "openshift-ingress-operator", "default") else {
        return Vec::new();
    };
    let down = Condition::find(controller, AVAILABLE).filter(|it| !it.is_true());
    let router = facts.sick_in("openshift-ingress").find(|sick| sick.unschedulable().is_some());
    let (Some(down), Some(router)) = (down, router) else { return Vec::new() };
    let message = router.unschedulable().unwrap_or_default();
    let mut concerns = Concerns::of_operator("ingress").namespace("openshift-ingress");
    // Others wait for the same nodes, or for a route.
    for name in ["authentication", "console"] {
        let waits = facts
            .operators
            .get(name)
            .is_some_and(|it| it.complains(&["NoReadyIngressNodes", "RouteHealth", "Route"]).is_some());
        concerns = if waits { concerns.operator(name) } else { concerns };
    }
    for name in ["monitoring", "image-registry"] {
        let is_bad = facts.operators.get(name).is_some_and(|it| it.bad().next().is_some());
        let waits = facts.operators.get(name).is_some_and(|it| {
            it.namespaces.iter().any(|space| facts.sick_in(space).any(|sick| sick.unschedulable().is_some()))
        });
        concerns = if is_bad && waits { concerns.operator(name) } else { concerns };
    }
    vec![
        with(Hit::on(INGRESS_CONTROLLERS, controller), &down)
            .concerning(concerns)
            .line(format!("Pod {}: {message}", router.called()))
            .fix("kubectl get csr   # approve those of workers")
            .fix("kubectl patch schedulers.config.openshift.io cluster --type=merge -p '{\"spec\":{\"mastersSchedulable\":true}}'   # when there are no workers"),
    ]
}

fn ingress_path(facts: &Facts<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    for controller in facts.all(INGRESS_CONTROLLERS) {
        let checks = [("LoadBalancerReady", 90), ("DNSReady", 90), ("CanaryChecksSucceeding", 60)];
        for (kind, grace) in checks {
            let Some(bad) = Condition::find(controller, kind).filter(Condition::is_false) else { continue };
            if !facts.is_older(bad.since, grace) {
                continue;
            }
            let waits = |name: &str| {
                facts.operators.get(name).is_some_and(|it| it.complains(&["Route", "route"]).is_some())
            };
            let concerns = ["authentication", "console"].into_iter().filter(|name| waits(name));
            let concerns = concerns.fold(Concerns::of_operator("ingress"), Concerns::operator);
            let hit = with(Hit::on(INGRESS_CONTROLLERS, controller), &bad)
                .by(object::name(controller))
                .concerning(concerns);
            hits.push(
                hit.fix("dig +short canary-openshift-ingress-canary.apps.<domain>   # must be the address of the ingress load balancer")
                    .fix("kubectl -n openshift-ingress get pods -o wide   # the load balancer sends 80 and 443 to these nodes"),
            );
        }
    }
    hits
}

fn authentication(facts: &Facts<'_>) -> Vec<Hit> {
    let Some(operator) = facts.operators.get("authentication") else { return Vec::new() };
    let words = [
        "OAuthServerRouteEndpointAccessibleController",
        "OAuthServerService",
        "WellKnown",
        "NoReadyIngressNodes",
    ];
    let Some(condition) = operator.bad().find(|bad| says(bad.reason, &words)) else { return Vec::new() };
    let where_to_look = if says(condition.reason, &["OAuthServerService"]) {
        "kubectl -n openshift-authentication get pods,endpoints -o wide"
    } else if says(condition.reason, &["WellKnown"]) {
        "kubectl get clusteroperator kube-apiserver   # it is still rolling out"
    } else {
        "curl -kI https://oauth-openshift.apps.<domain>/healthz; kubectl -n openshift-ingress get pods -o wide"
    };
    vec![
        with(Hit::on(CLUSTER_OPERATORS, operator.object), &condition)
            .concerning(Concerns::of_operator("authentication").operator("console"))
            .fix(where_to_look)
            .fix("kubectl -n openshift-authentication-operator logs deployment/authentication-operator --tail=50"),
    ]
}

fn console(facts: &Facts<'_>) -> Vec<Hit> {
    let is_bad = |name: &str| facts.operators.get(name).is_some_and(|it| it.bad().next().is_some());
    let complaint =
        facts.operators.get("console").and_then(|it| it.complains(&["RouteHealth", "Deployment_"]));
    let Some(complaint) = complaint.filter(|_| is_bad("ingress") || is_bad("authentication")) else {
        return Vec::new();
    };
    let fix = "lockstep why ingress; lockstep why authentication";
    vec![
        with(Hit::named(CLUSTER_OPERATORS, "", "console"), &complaint)
            .concerning(Concerns::of_operator("console"))
            .fix(fix),
    ]
}

fn registry_storage(facts: &Facts<'_>) -> Vec<Hit> {
    let complaint =
        facts.operators.get("image-registry").and_then(|it| it.complains(&["StorageNotConfigured"]));
    let hit = |it: Condition<'_>| {
        with(Hit::named(CLUSTER_OPERATORS, "", "image-registry"), &it)
            .concerning(Concerns::of_operator("image-registry"))
            .fix("kubectl patch configs.imageregistry.operator.openshift.io cluster --type=merge -p '{\"spec\":{\"storage\":{\"emptyDir\":{}}}}'   # for tests: images are lost with the Pod")
            .fix("kubectl patch configs.imageregistry.operator.openshift.io cluster --type=merge -p '{\"spec\":{\"managementState\":\"Removed\"}}'   # or do without it")
    };
    complaint.map(hit).into_iter().collect()
}

fn monitoring(facts: &Facts<'_>) -> Vec<Hit> {
    let Some(operator) = facts.operators.get("monitoring").filter(|it| it.is_unavailable()) else {
        return Vec::new();
    };
    let space = "openshift-monitoring";
    let pod = facts.sick_in(space).find_map(|sick| {
        let message = sick
            .unschedulable()
            .filter(|it| says(it, &["anti-affinity", "unbound immediate PersistentVolumeClaims"]))?;
        Some(format!("Pod {}: {message}", sick.called()))
    });
    let claim = facts
        .all(CLAIMS)
        .iter()
        .find(|it| object::namespace(it) == space && text(&it["status"]["phase"]) == "Pending");
    let Some(line) = pod.or_else(|| claim.map(|it| format!("claim {space}/{} is Pending", object::name(it))))
    else {
        return Vec::new();
    };
    let since = operator.condition(AVAILABLE).and_then(|it| parse(it.since));
    vec![
        Hit::on(CLUSTER_OPERATORS, operator.object)
            .since(since)
            .concerning(Concerns::of_operator("monitoring").namespace(space))
            .line(line)
            .fix("kubectl get nodes -l node-role.kubernetes.io/worker")
            .fix(format!("kubectl -n {space} get pods,pvc -o wide")),
    ]
}
