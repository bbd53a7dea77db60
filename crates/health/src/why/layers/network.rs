//! Layer 5: pod network, service network and names inside of the cluster.

use lockstep_api::names::condition::{PROGRESSING, READY};
use lockstep_api::names::object as well_known;
use lockstep_api::object;
use serde_json::Value;

use super::super::concerns::Concerns;
use super::super::facts::{Facts, event_time, parse, said, subject, times};
use super::super::phase::{B, BI, IUS};
use super::super::resource::{CLUSTER_OPERATORS, EVENTS, PODS, PROXIES, SERVICES, SLICES};
use super::super::rule::{Confidence, Hit, Layer, Level, Rule};
use super::super::words::{line_that_says, says};
use super::images::failing_pulls;
use super::with;
use crate::facts::{Condition, list, text};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "T01",
        layer: Layer::Network,
        title: "Configuration of the pod network is invalid",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "operator network is degraded with InvalidOperatorConfig, MergeClusterConfig, MTUProbeFailed, BootstrapError, RenderError or ApplyOperatorConfig",
        why: "The network operator cannot make manifests of its configuration, so it changes nothing.",
        remedy: "the message names the field; MTUProbeFailed usually means that no node is ready to probe on",
        hides: &["N02", "T02", "T05"],
        check: invalid_configuration,
    },
    Rule {
        id: "T02",
        layer: Layer::Network,
        title: "Pod network roll-out hangs or crashes",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "operator network is degraded with RolloutHung or CrashLoopBackOff, or says Deploying for 10 minutes",
        why: "A node without its network Pods stays not ready and gets no other Pods.",
        remedy: "look at the network Pods and at Open vSwitch on the node",
        hides: &["N02", "T05", "T06", "T03"],
        check: rollout_hangs,
    },
    Rule {
        id: "T03",
        layer: Layer::Network,
        title: "Service address unreachable",
        phases: BI,
        level: Level::Critical,
        confidence: Confidence::Likely,
        signals: "Pods of two namespaces crash with `dial tcp <service address>:443` and the operator network is not available",
        why: "Nothing programs the rules for service addresses yet: no kube-proxy runs and the pod network is not up.",
        remedy: "run kube-proxy on the masters until the pod network takes over, or let early operators use the internal API address",
        hides: &["P0", "O0"],
        check: service_address,
    },
    Rule {
        id: "T04",
        layer: Layer::Network,
        title: "kube-proxy cannot read the API",
        phases: B,
        level: Level::Error,
        confidence: Confidence::Likely,
        signals: "the log of kube-proxy says that it cannot list services, endpointslices or nodes",
        why: "kube-proxy knows no services and programs no rules for them.",
        remedy: "bind the ClusterRole system:node-proxier to its user; use the kube-proxy image, privileged",
        hides: &["T03", "P01"],
        check: proxy_forbidden,
    },
    Rule {
        id: "T05",
        layer: Layer::Dns,
        title: "Cluster DNS down",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "operator dns says DNSUnavailable, DNSDegraded or DNSDoesNotExist, or Service openshift-dns/dns-default has no ready endpoint",
        why: "Pods cannot look up names, so operators cannot find what they connect to.",
        remedy: "look at the DNS Pods and at the upstream resolver",
        hides: &["P01", "P03"],
        check: dns_down,
    },
    Rule {
        id: "T06",
        layer: Layer::Network,
        title: "Pod sandboxes cannot be created",
        phases: IUS,
        level: Level::Warning,
        confidence: Confidence::Sure,
        signals: "more than 5 FailedCreatePodSandBox events for one Pod",
        why: "The node cannot set up the Pod's network or its pause container.",
        remedy: "by the text: CNI or multus, addresses used up, SELinux, pause image",
        hides: &["P03", "S04"],
        check: sandboxes,
    },
    Rule {
        id: "T07",
        layer: Layer::Network,
        title: "Proxy misconfigured",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Likely,
        signals: "operator network says InvalidProxyConfig or TrustBundleValidationFailure, pulls fail at the proxy, or noProxy lacks cluster names",
        why: "Requests that should stay inside go to the proxy, or the proxy refuses those that should go out.",
        remedy: "correct spec.noProxy and the trusted authorities of proxies/cluster",
        hides: &["I04", "I05", "I01"],
        check: proxy,
    },
];

/// Nodes that are not ready because they have no pod network.
pub(super) fn nodes_without_network(facts: &Facts<'_>) -> Concerns {
    let is_it = |node: &&Value| {
        Condition::find(node, READY).is_some_and(|it| {
            it.is_false() && says(it.message, &["NetworkPluginNotReady", "No CNI configuration file"])
        })
    };
    facts.nodes().iter().filter(is_it).fold(Concerns::default(), |all, node| all.down(object::name(node)))
}

fn on_network(facts: &Facts<'_>, condition: &Condition<'_>) -> Hit {
    with(Hit::named(CLUSTER_OPERATORS, "", "network"), condition)
        .concerning(Concerns::of_operator("network").and(nodes_without_network(facts)))
}

fn invalid_configuration(facts: &Facts<'_>) -> Vec<Hit> {
    let reasons = [
        "InvalidOperatorConfig",
        "MergeClusterConfig",
        "MTUProbeFailed",
        "BootstrapError",
        "RenderError",
        "ApplyOperatorConfig",
    ];
    let found =
        facts.operators.get("network").and_then(|it| it.bad().find(|bad| reasons.contains(&bad.reason)));
    let fix = "kubectl get networks.operator.openshift.io cluster -o yaml   # correct the field that the message names";
    found.map(|it| on_network(facts, &it).fix(fix)).into_iter().collect()
}

fn rollout_hangs(facts: &Facts<'_>) -> Vec<Hit> {
    let Some(network) = facts.operators.get("network") else { return Vec::new() };
    let bad = network.bad().find(|bad| ["RolloutHung", "CrashLoopBackOff"].contains(&bad.reason));
    let deploying = network.condition(PROGRESSING).filter(|it| {
        it.is_true()
            && it.reason == "Deploying"
            && it.message.contains("is not available (awaiting")
            && facts.is_older(it.since, 600)
    });
    let Some(condition) = bad.or(deploying) else { return Vec::new() };
    let confidence = if bad.is_some() { Confidence::Sure } else { Confidence::Likely };
    vec![
        on_network(facts, &condition)
            .confidence(confidence)
            .concerning(
                Concerns::default().namespace("openshift-ovn-kubernetes").namespace("openshift-multus"),
            )
            .fix("kubectl -n openshift-ovn-kubernetes get pods -o wide")
            .fix("kubectl -n openshift-ovn-kubernetes logs ds/ovnkube-node --all-containers --tail=30")
            .fix("oc debug node/<node> -- chroot /host systemctl status ovs-vswitchd ovsdb-server"),
    ]
}

/// Whether a line says that a service address cannot be reached: `dial tcp 172.30.0.1:443: i/o timeout`.
fn is_service_dial(line: &str) -> bool {
    let is_address = |rest: &str| {
        let address = rest.split(':').next().unwrap_or_default();
        rest[address.len()..].starts_with(":443")
            && address.split('.').filter(|part| part.parse::<u8>().is_ok()).count() == 4
    };
    line.split("dial tcp ").skip(1).any(is_address)
        && says(line, &["i/o timeout", "no route to host", "connection refused"])
}

fn service_address(facts: &Facts<'_>) -> Vec<Hit> {
    let is_up = facts.operators.get("network").is_some_and(|it| !it.is_unavailable() && !it.is_silent());
    let mut found = Vec::new();
    for sick in &facts.sick {
        let line =
            facts.last_words(sick).into_iter().find_map(|log| log.lines().find(|line| is_service_dial(line)));
        if let Some(line) = line {
            found.push((sick, line));
        }
    }
    let mut namespaces: Vec<&str> = found.iter().map(|(sick, _)| sick.namespace).collect();
    namespaces.sort_unstable();
    namespaces.dedup();
    if is_up || namespaces.len() < 2 {
        return Vec::new();
    }
    let address = found
        .first()
        .and_then(|(_, line)| line.split("dial tcp ").nth(1))
        .and_then(|it| it.split(':').next());
    let address = address.unwrap_or("172.30.0.1");
    let concerns = namespaces.iter().fold(Concerns::of_operator("network"), |all, it| all.namespace(it));
    let hit = Hit::named(SERVICES, "default", "kubernetes").concerning(concerns);
    let hit = hit.since(found.iter().filter_map(|(sick, _)| parse(sick.since())).min());
    let hit = found
        .iter()
        .take(2)
        .fold(hit, |hit, (sick, line)| hit.line(format!("Pod {}: {line}", sick.called())));
    vec![
        hit.line(format!("Pods of {} namespaces cannot reach {address}", namespaces.len()))
            .fix(format!("kubectl run net-test --rm -it --restart=Never --image=registry.access.redhat.com/ubi9/ubi -- curl -k -m 5 https://{address}:443/readyz"))
            .fix("kubectl run net-test --rm -it --restart=Never --image=busybox -- nslookup kubernetes.default")
            .fix("run kube-proxy as a static pod on the masters until the pod network is up, or give early operators /etc/kubernetes/apiserver-url.env"),
    ]
}

fn proxy_forbidden(facts: &Facts<'_>) -> Vec<Hit> {
    let words = [
        "cannot list resource \"services\"",
        "cannot list resource \"endpointslices\"",
        "cannot list resource \"nodes\"",
    ];
    let logs = facts.snapshot.logs.iter().filter(|(name, _)| name.contains("kube-proxy"));
    logs.filter_map(|(name, log)| Some((name, line_that_says(log, &words)?)))
        .map(|(name, line)| {
            let mut parts = name.split('/');
            let (namespace, pod) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            Hit::named(PODS, namespace, if pod.is_empty() { namespace } else { pod })
                .together()
                .line(line)
                .concerning(Concerns::whole())
                .fix("kubectl create clusterrolebinding kube-proxy --clusterrole=system:node-proxier --user=system:kube-proxy")
                .fix("kubectl run net-test --rm -it --restart=Never --image=busybox -- nslookup kubernetes.default")
        })
        .collect()
}

/// The Service that Pods ask for names.
const DNS: (&str, &str) = ("openshift-dns", "dns-default");

fn dns_down(facts: &Facts<'_>) -> Vec<Hit> {
    let reasons = ["DNSUnavailable", "DNSDegraded", "DNSDoesNotExist"];
    let complaint = facts.operators.get("dns").and_then(|it| it.complains(&reasons));
    let mut slices = facts
        .all(SLICES)
        .iter()
        .filter(|it| {
            object::namespace(it) == DNS.0
                && text(&it["metadata"]["labels"]["kubernetes.io/service-name"]) == DNS.1
        })
        .peekable();
    let has_slices = slices.peek().is_some();
    let is_ready = |it: &Value| it["conditions"]["ready"] != false;
    let is_empty = has_slices && !slices.any(|slice| list(&slice["endpoints"]).iter().any(is_ready));
    if complaint.is_none() && !is_empty {
        return Vec::new();
    }
    let lost = facts.sick.iter().filter(|sick| {
        facts
            .last_words(sick)
            .into_iter()
            .any(|log| says(log, &[":53: ", "server misbehaving", "no such host"]))
    });
    let concerns =
        lost.fold(Concerns::of_operator("dns").namespace(DNS.0), |all, sick| all.namespace(sick.namespace));
    let hit = Hit::named(SERVICES, DNS.0, DNS.1).concerning(concerns);
    let hit = match complaint {
        Some(complaint) => with(hit, &complaint),
        None => hit,
    };
    let hit =
        if is_empty { hit.line("Service openshift-dns/dns-default has no ready endpoint") } else { hit };
    vec![
        hit.fix("kubectl -n openshift-dns get pods -o wide")
            .fix("kubectl run dns-test --rm -it --restart=Never --image=busybox -- nslookup kubernetes.default")
            .fix("kubectl run dns-test --rm -it --restart=Never --image=busybox -- nc -zv 172.30.0.10 53   # the service address of dns-default"),
    ]
}

fn sandboxes(facts: &Facts<'_>) -> Vec<Hit> {
    let failed = facts
        .all(EVENTS)
        .iter()
        .filter(|event| text(&event["reason"]) == "FailedCreatePodSandBox" && times(event) > 5);
    failed
        .map(|event| {
            let (about, message) = (subject(event), said(event));
            let (namespace, name) = (text(&about["namespace"]), text(&about["name"]));
            let class = if says(message, &["no IP addresses", "range set is full", "no available IP", "out of IP"]) {
                "the node has no address left for Pods"
            } else if says(message, &["selinux", "avc:", "permission denied"]) {
                "SELinux or file permissions are in the way"
            } else if says(message, &["cni", "multus", "network plugin", "ovn"]) {
                "the network plugin does not answer on that node"
            } else {
                "the runtime of the node says why"
            };
            let node = facts.get(PODS, namespace, name).map_or("", |pod| text(&pod["spec"]["nodeName"]));
            Hit::named(PODS, namespace, name)
                .since(parse(text(&event["firstTimestamp"])).or_else(|| parse(event_time(event))))
                .concerning(Concerns::of_node(node))
                .line(format!("{} times: {message}", times(event)))
                .line(class)
                .fix(format!("kubectl -n {namespace} describe pod {name}"))
                .fix("kubectl -n openshift-multus get pods -o wide; kubectl -n openshift-ovn-kubernetes get pods -o wide")
        })
        .collect()
}

/// What must never go to a proxy.
const INSIDE: [&str; 2] = [".svc", ".cluster.local"];

fn proxy(facts: &Facts<'_>) -> Vec<Hit> {
    let found = facts.get(PROXIES, "", well_known::CLUSTER);
    let is_set = found
        .is_some_and(|it| ["httpProxy", "httpsProxy"].iter().any(|key| !text(&it["spec"][key]).is_empty()));
    let reasons = ["InvalidProxyConfig", "TrustBundleValidationFailure"];
    let complaint = facts.operators.get("network").and_then(|it| it.complains(&reasons));
    let mut hit = Hit::named(PROXIES, "", well_known::CLUSTER)
        .fix("kubectl get proxy cluster -o yaml")
        .fix("kubectl patch proxy cluster --type=merge -p '{\"spec\":{\"noProxy\":\"<service, pod and machine networks>,.svc,.cluster.local,api-int.<domain>\"}}'");
    if let Some(complaint) = complaint {
        return vec![with(hit, &complaint).concerning(Concerns::of_operator("network"))];
    }
    let (Some(found), true) = (found, is_set) else { return Vec::new() };
    for pull in failing_pulls(facts)
        .filter(|pull| says(pull.message, &["proxyconnect", "proxy authentication", "via proxy"]))
    {
        hit = hit
            .line(pull.message)
            .concerning(Concerns::of_node(pull.sick.node).namespace(pull.sick.namespace));
    }
    let no_proxy = text(&found["status"]["noProxy"]);
    let lacks: Vec<&str> =
        INSIDE.into_iter().filter(|it| !no_proxy.split(',').any(|entry| entry.trim() == *it)).collect();
    if !no_proxy.is_empty() && !lacks.is_empty() {
        hit = hit.line(format!("status.noProxy lacks {}", lacks.join(", "))).concerning(Concerns::version());
    }
    if hit.evidence.is_empty() { Vec::new() } else { vec![hit] }
}
