//! The steps of a wait, one after the other.

use std::time::Duration;

use jiff::Timestamp;
use lockstep_apply::server::{Call, Server};
use lockstep_health::convergence::{
    bootstrap_member_removed, bootstrapped, checklist, initialized, operator_settled, operator_state,
};
use lockstep_health::stability::{Judgement, Stability, Verdict, unchanged_for};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::told::span;
use super::{Ending, Failure, Options, Stage, Told, sight};
use crate::sight::{Change, Cluster, Sight, Source};

/// How often a server that does not answer is asked; nothing tells when it begins to.
const ASK: Duration = Duration::from_secs(1);
/// What may stand in one sentence.
const MOST: usize = 3;

/// Whether a step is done; else what is missing, and when to look again although nothing happens.
pub(super) enum Now {
    Done,
    Open {
        what: String,
        look_at: Option<Instant>,
    },
    /// It cannot be done any more.
    Over {
        what: String,
    },
}

pub(super) struct Steps<'a> {
    server: &'a Server,
    options: &'a Options,
    tell: &'a mut (dyn FnMut(Told) + Send),
    /// The last that was seen of the operators, for the report.
    cluster: Cluster,
    judgement: Option<Judgement>,
    rests: Vec<lockstep_health::stability::Rest>,
}

// === impl Steps ===

impl<'a> Steps<'a> {
    pub(super) fn new(
        server: &'a Server,
        options: &'a Options,
        tell: &'a mut (dyn FnMut(Told) + Send),
    ) -> Self {
        Self { server, options, tell, cluster: Cluster::default(), judgement: None, rests: Vec::new() }
    }

    pub(super) fn end(self, failed: Option<Failure>) -> Ending {
        Ending { failure: failed, stability: self.judgement, rests: self.rests }
    }

    /// The API server answers and is ready.
    pub(super) async fn api(&mut self) -> Result<(), Failure> {
        const WHAT: &str = "the Kubernetes API";
        let (begun, limit) = (Instant::now(), self.options.api);
        let end = begun + limit;
        self.step(WHAT, limit);
        let mut last = String::new();
        loop {
            let why = match timeout_at(end, ask(self.server)).await {
                Ok(Ok(version)) => {
                    self.done(&format!("{WHAT} {version}"), begun);
                    return Ok(());
                }
                Ok(Err(why)) => why,
                Err(_) => "no answer".to_owned(),
            };
            if why != last {
                self.state(&why);
                last = why;
            }
            if Instant::now() + ASK >= end {
                let sentence =
                    format!("the API server was not ready within {}: {last}", span(limit.as_secs()));
                return Err(self.failed(
                    Stage::Bootstrap,
                    sentence,
                    &[
                        "`lockstep why` looks at names, ports and certificates from here",
                        "on the bootstrap host: `journalctl -b -u bootkube.service -u kubelet.service`",
                    ],
                ));
            }
            sleep(ASK).await;
        }
    }

    pub(super) async fn bootstrap_complete(&mut self) -> Result<(), Failure> {
        self.api().await?;
        let mut sight =
            sight(self.server, &[Source::Bootstrap, Source::Etcd, Source::Operators], self.options);
        let check = |cluster: &Cluster, _: &[Change]| match bootstrapped(
            cluster.object(Source::Bootstrap, "kube-system/bootstrap"),
        ) {
            Ok(()) => Now::Done,
            Err(what) => Now::open(what),
        };
        let limit = self.options.bootstrap;
        self.until(
            "bootstrapping to complete",
            limit,
            (&mut sight, Source::Bootstrap),
            check,
            |steps, what| {
                steps.failed(Stage::Bootstrap, what, &[
                "`lockstep why` names the operator or machine that is missing",
                "on the bootstrap host: `journalctl -b -u bootkube.service`; on a master: `crictl ps -a`",
            ])
            },
        )
        .await?;
        let check = |cluster: &Cluster, _: &[Change]| {
            if cluster.is_absent(Source::Etcd) {
                return Now::Done;
            }
            match bootstrap_member_removed(cluster.object(Source::Etcd, "cluster")) {
                Ok(()) => Now::Done,
                Err(what) => Now::open(what),
            }
        };
        let limit = self.options.etcd;
        self.until("the etcd member of the bootstrap host to be removed", limit, (&mut sight, Source::Etcd), check, |steps, what| {
            steps.failed(Stage::Bootstrap, what, &[
                "do not remove the bootstrap host: the quorum of etcd may depend on it",
                "`kubectl get etcds.operator.openshift.io cluster -o yaml` and `kubectl -n openshift-etcd get pods -o wide` show which master has no member",
            ])
        })
        .await?;
        if sight.cluster.is_absent(Source::Etcd) {
            self.note("this cluster has no etcd operator: nobody says whether a bootstrap member is left");
        }
        self.note("it is safe to remove the bootstrap host now");
        Ok(())
    }

    pub(super) async fn install_complete(&mut self) -> Result<(), Failure> {
        let mut sight =
            sight(self.server, &[Source::Version, Source::Operators, Source::Infrastructure], self.options);
        let check = |cluster: &Cluster, _: &[Change]| match initialized(cluster.version()) {
            Ok(()) => Now::Done,
            Err(what) => Now::open(what),
        };
        let limit = self.options.cluster;
        self.until(
            "the cluster to initialize",
            limit,
            (&mut sight, Source::Version),
            check,
            |steps, what| {
                steps.failed(
                    Stage::Install,
                    what,
                    &[
                        "`lockstep why` names the cause and what would mend it",
                        "the cluster goes on by itself: `lockstep wait-for install-complete` waits again",
                    ],
                )
            },
        )
        .await?;
        self.rest(&mut sight).await
    }

    pub(super) async fn stable(&mut self) -> Result<(), Failure> {
        let mut sight = sight(self.server, &[Source::Operators, Source::Infrastructure], self.options);
        self.rest(&mut sight).await
    }

    /// Until the operators have come to rest.
    async fn rest(&mut self, sight: &mut Sight) -> Result<(), Failure> {
        let (begun, limits) = (Instant::now(), self.options.stability);
        let server_time = server_time(self.server).await;
        let mut stability = Stability::new(limits);
        stability.expect(self.options.expected.iter().cloned());
        let since = |object: &serde_json::Value| {
            let elapsed = jiff::SignedDuration::try_from(begun.elapsed()).unwrap_or_default();
            unchanged_for(object, server_time.and_then(|time| time.checked_add(elapsed).ok()))
        };
        // What was seen before this step began is looked at like what comes.
        let names: Vec<String> = sight.cluster.operators().map(|(name, _)| name.to_owned()).collect();
        let mut known: Vec<Change> =
            names.into_iter().map(|name| Change::Object(Source::Operators, name)).collect();
        let mut judgement = None;
        let check = |cluster: &Cluster, changes: &[Change]| {
            let now = begun.elapsed();
            for change in std::mem::take(&mut known).iter().chain(changes) {
                match change {
                    Change::Object(Source::Operators, name) => {
                        if let Some(object) = cluster.object(Source::Operators, name) {
                            stability.see(object, since(object), now);
                        }
                    }
                    Change::Gone(Source::Operators, name) => stability.gone(name, now),
                    _ => {}
                }
            }
            let judged = stability.judge(now);
            let moving: Vec<String> = judged
                .operators
                .iter()
                .filter(|operator| !operator.is_stable)
                .map(|operator| format!("ClusterOperator {}: {}", operator.name, operator.sentence))
                .collect();
            let is_blind =
                cluster.trouble(Source::Operators).is_some() || !cluster.is_known(Source::Operators);
            let verdict = judged.verdict;
            let notes = judged.notes.clone();
            judgement = Some(judged);
            let look_at = stability.next_look(now).map(|moment| begun + moment);
            let what = if moving.is_empty() {
                notes.first().cloned().unwrap_or_else(|| "all operators rest".to_owned())
            } else {
                format!(
                    "{} of {} operators have not rested for {} yet: {}",
                    moving.len(),
                    judgement.as_ref().map_or(0, |it| it.operators.len()),
                    span(limits.quiet.as_secs()),
                    some_of(&moving)
                )
            };
            match verdict {
                Verdict::Stable if !is_blind => Now::Done,
                Verdict::Unstable => Now::Over { what },
                Verdict::Stable | Verdict::NotYet => Now::Open { what, look_at },
            }
        };
        let outcome = self
            .until("all operators to come to rest", limits.period, (sight, Source::Operators), check, |steps, what| {
                steps.failed(Stage::Stability, what, &[
                    "`lockstep why OPERATOR` names the cause",
                    "`lockstep wait-for stable --period 30m` gives slow machines more time; waiting again does no harm",
                ])
            })
            .await;
        self.rests = stability.rests().to_vec();
        for note in judgement.iter().flat_map(|it| it.notes.clone()) {
            self.note(&note);
        }
        self.judgement = judgement;
        if is_single_node(&self.cluster) {
            self.note(
                "the cluster has a single control-plane node: its API goes away while its static Pods are replaced, and \
                 operators rest later than elsewhere",
            );
        }
        outcome
    }

    pub(super) async fn converged(&mut self) -> Result<(), Failure> {
        let sources = [Source::Version, Source::Operators, Source::Pods];
        let mut sight = sight(self.server, &sources, self.options);
        let check = |cluster: &Cluster, _: &[Change]| {
            if let Some(source) = sources.iter().find(|source| !cluster.is_known(**source)) {
                return Now::open(format!("{source:?} have not been read yet"));
            }
            let operators: Vec<_> = cluster.operators().map(|(_, object)| object).collect();
            let checks =
                checklist(cluster.version(), &operators, cluster.all(Source::Pods).map(|(_, object)| object));
            if checks.iter().all(|check| check.holds) {
                return Now::Done;
            }
            let open: Vec<String> =
                checks.iter().filter(|check| !check.holds).map(|check| check.lines[0].clone()).collect();
            Now::open(format!(
                "{} of {} checks hold: {}",
                checks.len() - open.len(),
                checks.len(),
                some_of(&open)
            ))
        };
        let limit = self.options.cluster;
        let outcome = self
            .until("the cluster to converge", limit, (&mut sight, Source::Operators), check, |steps, what| {
                steps.failed(Stage::Install, what, &["`lockstep why` names the cause and what would mend it"])
            })
            .await;
        let operators: Vec<_> = sight.cluster.operators().map(|(_, object)| object).collect();
        let pods = sight.cluster.all(Source::Pods).map(|(_, object)| object);
        for check in checklist(sight.cluster.version(), &operators, pods) {
            self.note(check.told(5).trim_end());
        }
        outcome
    }

    pub(super) async fn operator(&mut self, name: &str) -> Result<(), Failure> {
        let mut sight = sight(self.server, &[Source::Operators, Source::Version], self.options);
        let check = |cluster: &Cluster, _: &[Change]| {
            let desired = cluster.version().and_then(|it| it["status"]["desired"]["version"].as_str());
            match operator_settled(name, cluster.object(Source::Operators, name), desired) {
                Ok(()) if cluster.is_known(Source::Version) => Now::Done,
                Ok(()) => Now::open("ClusterVersion version has not been read yet".to_owned()),
                Err(what) => Now::open(what),
            }
        };
        let (limit, what) = (self.options.cluster, format!("ClusterOperator {name} to settle"));
        let next = format!("`lockstep why {name}` names the cause");
        self.until(&what, limit, (&mut sight, Source::Operators), check, |steps, what| {
            steps.failed(Stage::Install, what, &[&next])
        })
        .await
    }

    /// Waits until a check says so, or the time is over.
    async fn until(
        &mut self,
        what: &str,
        limit: Duration,
        (sight, source): (&mut Sight, Source),
        mut check: impl FnMut(&Cluster, &[Change]) -> Now,
        failed: impl FnOnce(&Self, String) -> Failure,
    ) -> Result<(), Failure> {
        let begun = Instant::now();
        let end = begun + limit;
        self.step(what, limit);
        let (mut changes, mut last): (Vec<Change>, String) = (Vec::new(), String::new());
        loop {
            let now = check(&sight.cluster, &changes);
            let (open, look_at) = match now {
                Now::Done => {
                    self.cluster = sight.cluster.clone();
                    self.done(what, begun);
                    return Ok(());
                }
                Now::Open { what, look_at } => (with_trouble(what, &sight.cluster, source), look_at),
                Now::Over { what } => {
                    self.cluster = sight.cluster.clone();
                    return Err(failed(self, with_trouble(what, &sight.cluster, source)));
                }
            };
            if open != last {
                self.state(&open);
                last.clone_from(&open);
            }
            if Instant::now() >= end {
                self.cluster = sight.cluster.clone();
                return Err(failed(self, format!("not there within {}: {open}", span(limit.as_secs()))));
            }
            let wake = look_at.map_or(end, |at| at.min(end));
            changes = tokio::select! {
                biased;
                changes = sight.next() => changes,
                () = sleep_until(wake) => Vec::new(),
            };
        }
    }

    fn failed(&self, stage: Stage, sentence: String, next: &[&str]) -> Failure {
        let operators = self.cluster.operators().map(|(_, object)| operator_state(object));
        Failure {
            stage,
            sentence,
            operators: operators.filter(|state| !state.is_well()).collect(),
            next_steps: next.iter().map(|next| (*next).to_owned()).collect(),
        }
    }

    fn step(&mut self, what: &str, limit: Duration) {
        (self.tell)(Told::Step { what: what.to_owned(), limit_seconds: limit.as_secs() });
    }

    fn state(&mut self, what: &str) {
        (self.tell)(Told::State { what: what.to_owned() });
    }

    fn done(&mut self, what: &str, begun: Instant) {
        (self.tell)(Told::Done { what: what.to_owned(), seconds: begun.elapsed().as_secs() });
    }

    fn note(&mut self, what: &str) {
        (self.tell)(Told::Note { what: what.to_owned() });
    }
}

// === impl Now ===

impl Now {
    fn open(what: String) -> Self {
        Self::Open { what, look_at: None }
    }
}

/// What is missing, and that nothing is seen of it where that is so.
fn with_trouble(what: String, cluster: &Cluster, source: Source) -> String {
    match cluster.trouble(source) {
        None => what,
        Some(trouble) if cluster.is_known(source) => {
            format!(
                "{what} (nothing new is seen for {}: {})",
                span(trouble.since.elapsed().as_secs()),
                trouble.sentence
            )
        }
        Some(trouble) => trouble.sentence.clone(),
    }
}

/// Whether the API server is ready; its version.
async fn ask(server: &Server) -> Result<String, String> {
    let version = server.send(Call::raw("/version")).await;
    let version = version.map_err(|refusal| refusal.explain("the API server"))?;
    let version = version.object["gitVersion"].as_str().unwrap_or("of an unknown version").to_owned();
    match server.send(Call::raw("/readyz?verbose")).await {
        Ok(_) => Ok(version),
        Err(refusal) => Err(format!("{} (version {version})", refusal.explain("/readyz of the API server"))),
    }
}

/// The time of the server by its own clock.
async fn server_time(server: &Server) -> Option<Timestamp> {
    server.send(Call::raw("/version")).await.ok()?.date
}

fn is_single_node(cluster: &Cluster) -> bool {
    let infrastructure = cluster.object(Source::Infrastructure, "cluster");
    infrastructure.is_some_and(|it| it["status"]["controlPlaneTopology"] == "SingleReplica")
}

/// The first few, and how many there are besides.
fn some_of(lines: &[String]) -> String {
    let told = lines.iter().take(MOST).cloned().collect::<Vec<_>>().join("; ");
    if lines.len() > MOST { format!("{told}; and {} more", lines.len() - MOST) } else { told }
}
