//! Layer 1: reaching the API.

use super::super::concerns::Concerns;
use super::super::facts::{Facts, event_time, parse, said, times};
use super::super::phase::{B, BIUS, IUS};
use super::super::resource::{CLUSTER_OPERATORS, CLUSTER_VERSIONS, CONFIG_MAPS, NODES};
use super::super::rule::{Confidence, Hit, Layer, Level, Rule};
use super::super::services;
use super::super::snapshot::{Probe, Through};
use super::super::words::{between, line_that_says, says};
use super::{all_if_unreachable, on_pod};
use crate::facts::{list, text};
use lockstep_api::names::condition::{FAILING, PROGRESSING};
use lockstep_api::names::{namespace, object as well_known, reason};
use lockstep_api::object;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "A01",
        layer: Layer::Client,
        title: "API name does not resolve",
        phases: BIUS,
        level: Level::Critical,
        confidence: Confidence::Sure,
        signals: "a DNS probe of `api.` or `api-int.` fails, `no such host` in the API's error, or the bootstrap stages resolve-api-url and resolve-api-int-url",
        why: "The records api, api-int and *.apps must exist before anything else: clients need api, nodes need api-int.",
        remedy: "create the records to the load balancer and look them up from each node",
        hides: &["*"],
        check: name_does_not_resolve,
    },
    Rule {
        id: "A02",
        layer: Layer::Client,
        title: "API port refused or timing out",
        phases: BIUS,
        level: Level::Critical,
        confidence: Confidence::Sure,
        signals: "TCP 6443 refused or timing out at the load balancer; probes of the servers behind it tell whose fault it is",
        why: "Either the load balancer has no working server behind it, or no API server runs at all.",
        remedy: "put the bootstrap host (until bootstrap-complete) and then the masters behind the load balancer; open 6443, 22623, 80 and 443",
        hides: &["*"],
        check: port_closed,
    },
    Rule {
        id: "A03",
        layer: Layer::Client,
        title: "Load balancer marks TLS servers down",
        phases: B,
        level: Level::Error,
        confidence: Confidence::Likely,
        signals: "a server's own /readyz answers 200 while the load balancer refuses, or its statistics say `L7STS/400`",
        why: "A plain HTTP check against a TLS port gets 400, so the load balancer believes that healthy servers are down.",
        remedy: "check by TCP only, or by TLS with `check check-ssl verify none`",
        hides: &["A02"],
        check: plain_check,
    },
    Rule {
        id: "A04",
        layer: Layer::Pki,
        title: "Serving certificate does not cover the name",
        phases: BIUS,
        level: Level::Critical,
        confidence: Confidence::Sure,
        signals: "`certificate is valid for X, not Y` in a TLS error",
        why: "A name or address is missing in the certificate; clients that connect by address send no name and get the default one.",
        remedy: "issue the certificate again with all names and restart the static pod",
        hides: &["P01", "A02"],
        check: wrong_name,
    },
    Rule {
        id: "A05",
        layer: Layer::Pki,
        title: "Certificate signed by an unknown authority",
        phases: BIUS,
        level: Level::Critical,
        confidence: Confidence::Sure,
        signals: "`certificate signed by unknown authority` in a TLS error on the way to the API",
        why: "The kubeconfig lacks the signer of the certificate that the server chose for this name; there are three signers.",
        remedy: "use the complete server CA bundle (localhost, service network and load balancer signers)",
        hides: &["P01", "A02"],
        check: unknown_authority,
    },
    Rule {
        id: "A06",
        layer: Layer::Pki,
        title: "Certificate expired or not yet valid",
        phases: BIUS,
        level: Level::Critical,
        confidence: Confidence::Sure,
        signals: "`certificate has expired or is not yet valid`, or a certificate that was shown has a notAfter in the past",
        why: "Certificates of the first day live 24 hours: old ignition files were used again, or the cluster was off during its first day.",
        remedy: "make the assets anew in an empty folder; for a stopped cluster start it and approve the nodes' requests until none is left",
        hides: &["C01", "C02", "C03", "C04", "N02", "N03", "P01", "A02"],
        check: expired,
    },
    Rule {
        id: "A07",
        layer: Layer::Pki,
        title: "Clocks differ",
        phases: BIUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "measured skew above 5 s, a transition or creation time in the future, or a certificate from the future",
        why: "Every wait that counts from a time of the cluster is wrong by the difference, and young certificates are refused.",
        remedy: "run chrony on the client and on all nodes",
        hides: &["A06"],
        check: clocks_differ,
    },
    Rule {
        id: "A08",
        layer: Layer::Pki,
        title: "Client credentials refused",
        phases: BIUS,
        level: Level::Critical,
        confidence: Confidence::Sure,
        signals: "401 `Unauthorized` for the kubeconfig, or the ConfigMap openshift-config/admin-kubeconfig-client-ca is missing together with a 401",
        why: "The API server's bundle of client authorities lacks the signer of this kubeconfig.",
        remedy: "restore openshift-config/admin-kubeconfig-client-ca, or use a kubeconfig of a known signer",
        hides: &["A09"],
        check: refused_credentials,
    },
    Rule {
        id: "A09",
        layer: Layer::ApiServer,
        title: "API answers but is not ready",
        phases: BIUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "/readyz is not 200 and lists a failed check",
        why: "The server runs, and one of its own checks says that it cannot serve.",
        remedy: "look at the check that failed: etcd first, else the named start-up hook",
        hides: &[],
        check: not_ready,
    },
    Rule {
        id: "A10",
        layer: Layer::ApiServer,
        title: "API overloaded",
        phases: IUS,
        level: Level::Warning,
        confidence: Confidence::Likely,
        signals: "ClusterVersion reason UpdatePayloadClusterOverloaded, or many events with 429, `etcdserver: request timed out` or `context deadline exceeded`",
        why: "The API server or etcd cannot keep up, so writes are refused or come too late.",
        remedy: "look at etcd's disks, and find the client that sends most",
        hides: &[],
        check: overloaded,
    },
];

/// Texts that mean a request has come to the end of its patience.
const OVERLOAD: [&str; 4] = [
    "429 Too Many Requests",
    "TooManyRequests",
    "etcdserver: request timed out",
    "context deadline exceeded",
];

/// The address of an error that the API's own client has reported.
const API: &str = "API";

/// All that went wrong on the way to the API, with the address.
fn errors<'a>(facts: &'a Facts<'_>) -> impl Iterator<Item = (&'a str, &'a str)> {
    let probed = facts.snapshot.probes.iter().filter_map(|probe| match probe {
        Probe::Dns { .. } => None,
        Probe::Tcp { address, outcome, .. } | Probe::Tls { address, outcome, .. } => {
            Some((address.as_str(), outcome.error()?))
        }
        Probe::Http { url, outcome, .. } => Some((url.as_str(), outcome.error()?)),
    });
    let own = Some(facts.snapshot.api_error.as_str()).filter(|error| !error.is_empty());
    own.map(|error| (API, error)).into_iter().chain(probed)
}

fn name_does_not_resolve(facts: &Facts<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    let hit = |name: &str, from: &str, error: &str| {
        let asked = if from.is_empty() { String::new() } else { format!(" from node {from}") };
        Hit::outside("Name", name)
            .line(format!("lookup of {name}{asked}: {error}"))
            .concerning(Concerns::default().down(from))
            .concerning(all_if_unreachable(facts))
            .fix(format!("dig +short {name}"))
            .fix(format!(
                "create a record for {name} that points to the load balancer, then look it up from each node"
            ))
    };
    for probe in &facts.snapshot.probes {
        if let Probe::Dns { name, from, outcome } = probe
            && (name.starts_with("api.") || name.starts_with("api-int."))
            && let Some(error) = outcome.error()
        {
            hits.push(hit(name, from, error));
        }
    }
    let error = &facts.snapshot.api_error;
    if hits.is_empty() && error.contains("no such host") {
        let name = between(error, "lookup ", " ").or_else(|| between(error, "lookup ", ":")).unwrap_or("api");
        hits.push(hit(name.trim_end_matches(':'), "", error));
    }
    let stages = facts.snapshot.services.get("bootkube").map(|records| services::read(records));
    if let Some(service) = stages
        && hits.is_empty()
        && ["resolve-api-url", "resolve-api-int-url"].contains(&service.failing_stage)
    {
        let name = if service.failing_stage == "resolve-api-url" { "api" } else { "api-int" };
        let hit = hit(name, "", service.last_error).since(parse(service.at)).concerning(Concerns::whole());
        hits.push(hit.line(format!("bootkube.service failed at stage {}", service.failing_stage)));
    }
    hits
}

fn port_closed(facts: &Facts<'_>) -> Vec<Hit> {
    let is_closed = |error: &str| says(error, &["refused", "timed out", "timeout", "no route to host"]);
    let probes = || {
        facts.snapshot.probes.iter().filter_map(|probe| match probe {
            Probe::Tcp { address, through, outcome } if address.ends_with(":6443") => {
                Some((address, *through, outcome))
            }
            _ => None,
        })
    };
    let front = probes().find_map(|(address, through, outcome)| {
        let error = outcome.error().filter(|error| is_closed(error))?;
        (through == Through::LoadBalancer).then_some((address.as_str(), error))
    });
    let error = facts.snapshot.api_error.as_str();
    let own = || (error.contains(":6443") && is_closed(error)).then_some(("the API", error));
    let Some((address, error)) = front.or_else(own) else { return Vec::new() };
    let good =
        probes().find(|(_, through, outcome)| *through == Through::Backend && outcome.error().is_none());
    let tried = probes().any(|(_, through, _)| through == Through::Backend);
    let hit = Hit::outside("Port", address)
        .concerning(all_if_unreachable(facts))
        .line(format!("{address}: {error}"));
    vec![match good {
        Some((backend, ..)) => hit
            .line(format!("{backend} answers directly: the load balancer does not pass connections on"))
            .fix("put the bootstrap host (until bootstrap-complete) and the masters behind the load balancer on 6443 and 22623")
            .fix(format!("nc -zv {}", address.replace(':', " "))),
        None if tried => hit
            .line("no server behind it answers either: no API server runs")
            .fix("ssh core@<bootstrap> sudo crictl ps -a --name kube-apiserver")
            .fix("ssh core@<bootstrap> journalctl -b -u kubelet.service -u bootkube.service"),
        None => hit
            .fix(format!("nc -zv {}", address.replace(':', " ")))
            .fix("connect to each server behind the load balancer directly: if one answers, the load balancer is at fault"),
    }]
}

fn plain_check(facts: &Facts<'_>) -> Vec<Hit> {
    let mut seen = None;
    let (mut ready, mut refused) = (None, None);
    for probe in &facts.snapshot.probes {
        match probe {
            Probe::Http { url, through, status, body, outcome } => {
                if says(body, &["L7STS/400", "Client sent an HTTP request to an HTTPS server"]) {
                    seen = line_that_says(body, &["L7STS/400", "Client sent an HTTP request"]);
                }
                let is_ready = *status == Some(200) && url.ends_with("/readyz");
                match through {
                    Through::Backend if is_ready => ready = Some(url.as_str()),
                    Through::LoadBalancer if outcome.error().is_some() => refused = Some(url.as_str()),
                    _ => {}
                }
            }
            Probe::Tcp { address, through: Through::LoadBalancer, outcome } if outcome.error().is_some() => {
                refused = Some(address);
            }
            _ => {}
        }
    }
    let seen =
        seen.or_else(|| facts.snapshot.logs.values().find_map(|log| line_that_says(log, &["L7STS/400"])));
    let (line, name) = match (seen, ready, refused) {
        (Some(line), ..) => (line.to_owned(), refused.unwrap_or("load balancer")),
        (None, Some(ready), Some(refused)) => (format!("{ready} answers 200 and {refused} refuses"), refused),
        _ => return Vec::new(),
    };
    vec![
        Hit::outside("LoadBalancer", name)
            .line(line)
            .concerning(Concerns::whole())
            .fix("in haproxy.cfg: `option httpchk GET /readyz HTTP/1.0` with `check check-ssl verify none inter 5s fall 3 rise 1` on each server, or no httpchk at all")
            .fix("systemctl reload haproxy"),
    ]
}

/// Whether an address is one of the API's own: certificates of others are others' trouble.
fn is_api_address(address: &str) -> bool {
    address == API || says(address, &[":6443", ":22623", "api.", "api-int."])
}

/// Hits on a TLS error: on the way to the API, and of Pods that crash on that way.
fn tls(facts: &Facts<'_>, words: &[&str], fix: &[&str]) -> Vec<Hit> {
    let own = errors(facts).filter(|(address, error)| is_api_address(address) && says(error, words)).map(
        |(address, error)| {
            let hit = Hit::outside("Certificate", address).line(format!("{address}: {error}"));
            hit.concerning(all_if_unreachable(facts)).together()
        },
    );
    let is_api = |line: &str| says(line, &[":6443", "api-int", "kubernetes.default", "172.30.0.1:443"]);
    let of_pods = facts.sick.iter().filter_map(|sick| {
        let words = facts.last_words(sick).into_iter().find_map(|log| line_that_says(log, words))?;
        is_api(words).then(|| on_pod(sick).line(words).confidence(Confidence::Likely).together())
    });
    let of_nodes = facts.snapshot.logs.iter().filter_map(|(unit, log)| {
        let line = line_that_says(log, words).filter(|line| is_api(line))?;
        (!unit.contains('/'))
            .then(|| Hit::outside("Unit", unit).line(line).concerning(Concerns::whole()).together())
    });
    let hits = own.chain(of_pods).chain(of_nodes);
    hits.map(|hit| fix.iter().fold(hit, |hit, fix| hit.fix(*fix))).collect()
}

fn wrong_name(facts: &Facts<'_>) -> Vec<Hit> {
    let fix = [
        "openssl s_client -connect <api>:6443 -servername <name> </dev/null | openssl x509 -noout -ext subjectAltName",
        "issue the certificate again with localhost, 127.0.0.1, the bootstrap address, api, api-int, kubernetes.default.svc and the first service address",
    ];
    tls(facts, &["certificate is valid for"], &fix)
}

fn unknown_authority(facts: &Facts<'_>) -> Vec<Hit> {
    let fix = [
        "openssl s_client -connect <api>:6443 -servername <name> </dev/null | openssl x509 -noout -issuer",
        "put all three signers (localhost, service network, load balancer) into certificate-authority-data of the kubeconfig",
    ];
    tls(facts, &["certificate signed by unknown authority"], &fix)
}

fn expired(facts: &Facts<'_>) -> Vec<Hit> {
    let fix = [
        "kubectl get csr",
        "make the assets anew in an empty folder; for a cluster that was off, start it and approve the nodes' requests until none is left",
    ];
    let mut hits = tls(facts, &["certificate has expired or is not yet valid"], &fix);
    for probe in &facts.snapshot.probes {
        let Probe::Tls { address, chain, .. } = probe else { continue };
        if !is_api_address(address) {
            continue;
        }
        for shown in chain.iter().filter(|shown| shown.not_after.is_some_and(|end| end < facts.now)) {
            let end = shown.not_after.map_or_else(String::new, |end| end.to_string());
            let hit = Hit::outside("Certificate", address).since(shown.not_after).together();
            let hit = hit.line(format!("{address} shows {}, which ended {end}", shown.subject));
            let hit = hit.concerning(all_if_unreachable(facts));
            hits.push(fix.iter().fold(hit, |hit, fix| hit.fix(*fix)));
        }
    }
    hits
}

fn clocks_differ(facts: &Facts<'_>) -> Vec<Hit> {
    let mut lines = Vec::new();
    let skew = facts.snapshot.skew_seconds;
    if skew.abs() > 5 {
        let way = if skew > 0 { "ahead of" } else { "behind" };
        lines.push(format!("this machine's clock is {} s {way} the cluster's", skew.abs()));
    }
    let is_future = |time: &str| facts.age(time).is_some_and(|age| age < -5);
    for (resource, objects) in [
        (CLUSTER_VERSIONS, facts.all(CLUSTER_VERSIONS)),
        (CLUSTER_OPERATORS, facts.all(CLUSTER_OPERATORS)),
        (NODES, facts.nodes()),
    ] {
        for it in objects {
            let changed =
                list(&it["status"]["conditions"]).iter().map(|entry| text(&entry["lastTransitionTime"]));
            let mut all = changed.chain([text(&it["metadata"]["creationTimestamp"])]);
            if let Some(time) = all.find(|time| is_future(time)) {
                lines.push(format!(
                    "{} {} has a time in the future: {time}",
                    resource.kind,
                    object::name(it)
                ));
            }
        }
    }
    let mut is_young = false;
    for probe in &facts.snapshot.probes {
        let Probe::Tls { address, chain, .. } = probe else { continue };
        for shown in chain.iter().filter(|shown| shown.not_before.is_some_and(|begin| begin > facts.now)) {
            is_young = true;
            lines.push(format!("{address} shows {}, which is not valid yet", shown.subject));
        }
    }
    if lines.is_empty() {
        return Vec::new();
    }
    let concerns = if is_young { all_if_unreachable(facts) } else { Concerns::default() };
    let hit = Hit::outside("Clock", "client and nodes")
        .concerning(concerns)
        .fix("chronyc tracking")
        .fix("for n in $(kubectl get nodes -o name); do oc debug $n -- chroot /host chronyc tracking; done");
    vec![lines.into_iter().fold(hit, Hit::line)]
}

fn refused_credentials(facts: &Facts<'_>) -> Vec<Hit> {
    let error = &facts.snapshot.api_error;
    let by_probe = facts.snapshot.probes.iter().any(
        |probe| matches!(probe, Probe::Http { status: Some(401), url, .. } if !url.contains("/healthz")),
    );
    if !says(error, &["Unauthorized", "401"]) && !by_probe {
        return Vec::new();
    }
    let hit = Hit::named(CONFIG_MAPS, namespace::CONFIG, "admin-kubeconfig-client-ca");
    let line = if error.is_empty() { "a request with this kubeconfig was answered with 401" } else { error };
    let hit = hit.line(line).concerning(all_if_unreachable(facts));
    vec![
        hit.fix("kubectl --kubeconfig <another kubeconfig> -n openshift-config get configmap admin-kubeconfig-client-ca -o yaml")
            .fix("put the signer of the refused kubeconfig back into its ca-bundle.crt"),
    ]
}

fn not_ready(facts: &Facts<'_>) -> Vec<Hit> {
    let failed = facts.snapshot.probes.iter().filter_map(|probe| match probe {
        Probe::Http { url, status: Some(status), body, .. } if *status != 200 && url.contains("/readyz") => {
            Some((url, status, body.lines().find(|line| line.starts_with("[-]"))?))
        }
        _ => None,
    });
    failed
        .map(|(url, status, check)| {
            let name = check.trim_start_matches("[-]").split(' ').next().unwrap_or_default();
            let look = if name.starts_with("etcd") {
                "kubectl -n openshift-etcd get pods -o wide".to_owned()
            } else {
                format!("kubectl get --raw '/readyz/{name}'")
            };
            Hit::outside("Endpoint", url)
                .together()
                .line(format!("{url} answers {status}: {check}"))
                .concerning(Concerns::of_operator("kube-apiserver"))
                .concerning(all_if_unreachable(facts))
                .fix(look)
                .fix("kubectl get --raw '/livez?verbose&exclude=etcd'")
        })
        .collect()
}

fn overloaded(facts: &Facts<'_>) -> Vec<Hit> {
    let told = [FAILING, PROGRESSING].into_iter().filter_map(|kind| facts.of_version(kind));
    let of_version = told.clone().find(|it| it.reason == reason::UPDATE_PAYLOAD_CLUSTER_OVERLOADED);
    let hit = Hit::named(CLUSTER_VERSIONS, "", well_known::VERSION)
        .fix("kubectl get --raw /metrics | grep apiserver_flowcontrol_rejected_requests_total")
        .fix("kubectl -n openshift-etcd logs -l k8s-app=etcd -c etcd --tail=50 | grep -i 'took too long'");
    if let Some(it) = of_version {
        return vec![super::with(hit, &it).concerning(Concerns::version())];
    }
    let mut seen: Vec<_> = facts.all_warnings().filter(|event| says(said(event), &OVERLOAD)).collect();
    let count: i64 = seen.iter().map(|event| times(event)).sum();
    if count < 10 {
        return Vec::new();
    }
    seen.sort_by_key(|event| event_time(event));
    let hit = seen.iter().rev().take(2).fold(hit, |hit, event| hit.line(said(event)));
    let hit = hit
        .line(format!("{count} events of this kind"))
        .since(seen.first().and_then(|it| parse(event_time(it))));
    vec![hit]
}
