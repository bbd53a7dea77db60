//! A snapshot, indexed once: rules ask by name, by namespace and by subject, and never search.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use lockstep_api::names::object as well_known;
use lockstep_api::object;
use serde_json::Value;

use super::operator::Operator;
use super::resource::{self, CLUSTER_OPERATORS, CLUSTER_VERSIONS, EVENTS, NODES, PODS, Resource};
use super::{Phase, Snapshot};
use crate::facts::{Condition, list, text};
use crate::pod;

/// What rules may ask.
pub(super) struct Facts<'a> {
    pub(super) snapshot: &'a Snapshot,
    /// The time by the cluster's clock.
    pub(super) now: Timestamp,
    pub(super) phase: Phase,
    /// The ClusterOperators by name.
    pub(super) operators: BTreeMap<&'a str, Operator<'a>>,
    /// Pods that are not well.
    pub(super) sick: Vec<Sick<'a>>,
    named: HashMap<(&'static str, &'a str, &'a str), &'a Value>,
    events: HashMap<(&'a str, &'a str, &'a str), Vec<&'a Value>>,
    warnings: HashMap<&'a str, Vec<&'a Value>>,
    sick_on: HashMap<&'a str, Vec<usize>>,
    sick_in: HashMap<&'a str, Vec<usize>>,
    owners: HashMap<&'a str, Vec<&'a str>>,
}

/// A Pod that is not well.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sick<'a> {
    pub(super) pod: &'a Value,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) node: &'a str,
}

/// Why a container waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting<'a> {
    pub(super) container: &'a str,
    pub(super) reason: &'a str,
    pub(super) message: &'a str,
}

// === impl Facts ===

impl<'a> Facts<'a> {
    pub(super) fn of(snapshot: &'a Snapshot) -> Self {
        let skew = jiff::SignedDuration::from_secs(snapshot.skew_seconds);
        let mut facts = Self {
            snapshot,
            now: snapshot.now.checked_sub(skew).unwrap_or(snapshot.now),
            phase: Phase::Steady,
            operators: BTreeMap::new(),
            sick: Vec::new(),
            named: HashMap::new(),
            events: HashMap::new(),
            warnings: HashMap::new(),
            sick_on: HashMap::new(),
            sick_in: HashMap::new(),
            owners: HashMap::new(),
        };
        facts.index_names();
        facts.index_events();
        facts.index_pods();
        facts.index_operators();
        facts.phase = Phase::of(&facts);
        facts
    }

    fn index_names(&mut self) {
        for resource in resource::ALL.iter().filter(|resource| **resource != EVENTS) {
            for object in self.all(*resource) {
                self.named.insert((resource.key, object::namespace(object), object::name(object)), object);
            }
        }
    }

    fn index_events(&mut self) {
        for event in self.all(EVENTS) {
            let subject = subject(event);
            let key = (text(&subject["kind"]), text(&subject["namespace"]), text(&subject["name"]));
            self.events.entry(key).or_default().push(event);
            if text(&event["type"]) != "Normal" {
                self.warnings.entry(object::namespace(event)).or_default().push(event);
            }
        }
    }

    fn index_pods(&mut self) {
        for pod in self.all(PODS) {
            if pod::trouble(pod).is_none() && restarts(pod) < 3 {
                continue;
            }
            let sick = Sick {
                pod,
                namespace: object::namespace(pod),
                name: object::name(pod),
                node: text(&pod["spec"]["nodeName"]),
            };
            self.sick_on.entry(sick.node).or_default().push(self.sick.len());
            self.sick_in.entry(sick.namespace).or_default().push(self.sick.len());
            self.sick.push(sick);
        }
    }

    fn index_operators(&mut self) {
        for object in self.all(CLUSTER_OPERATORS) {
            let operator = Operator::read(object, self.snapshot.payload.as_ref());
            for namespace in &operator.namespaces {
                self.owners.entry(*namespace).or_default().push(operator.name);
            }
            self.operators.insert(operator.name, operator);
        }
    }

    /// All objects of a resource; none when it is not served.
    pub(super) fn all(&self, resource: Resource) -> &'a [Value] {
        self.snapshot.objects.get(resource.key).map_or(&[], Vec::as_slice)
    }

    /// Whether a resource was listed at all: only then does a missing object say something.
    pub(super) fn has(&self, resource: Resource) -> bool {
        self.snapshot.objects.contains_key(resource.key)
    }

    pub(super) fn get(&self, resource: Resource, namespace: &'a str, name: &'a str) -> Option<&'a Value> {
        self.named.get(&(resource.key, namespace, name)).copied()
    }

    /// The ClusterVersion; null when there is none.
    pub(super) fn version(&self) -> &'a Value {
        self.get(CLUSTER_VERSIONS, "", well_known::VERSION).unwrap_or(&Value::Null)
    }

    /// A condition of the ClusterVersion.
    pub(super) fn of_version(&self, kind: &str) -> Option<Condition<'a>> {
        Condition::find(self.version(), kind)
    }

    pub(super) fn nodes(&self) -> &'a [Value] {
        self.all(NODES)
    }

    /// How many seconds ago a time was; nothing when it is none.
    pub(super) fn age(&self, time: &str) -> Option<i64> {
        Some(self.now.duration_since(parse(time)?).as_secs())
    }

    /// Whether a time is at least so many seconds ago. What has no time has been so for ever.
    pub(super) fn is_older(&self, time: &str, seconds: i64) -> bool {
        self.age(time).is_none_or(|age| age >= seconds)
    }

    /// Events about an object, in the order of the list.
    pub(super) fn events(&self, kind: &'a str, namespace: &'a str, name: &'a str) -> &[&'a Value] {
        self.events.get(&(kind, namespace, name)).map_or(&[], Vec::as_slice)
    }

    /// Events about a Pod with one of these reasons.
    pub(super) fn pod_events<'f>(
        &'f self,
        sick: &Sick<'a>,
        reasons: &'f [&'f str],
    ) -> impl Iterator<Item = &'a Value> + 'f {
        let all = self.events("Pod", sick.namespace, sick.name);
        all.iter().copied().filter(|event| reasons.contains(&text(&event["reason"])))
    }

    /// The newest warnings of a namespace, newest first.
    pub(super) fn warnings(&self, namespace: &str) -> Vec<&'a Value> {
        let mut found = self.warnings.get(namespace).cloned().unwrap_or_default();
        found.sort_by_key(|event| std::cmp::Reverse(event_time(event)));
        found
    }

    /// All warnings.
    pub(super) fn all_warnings(&self) -> impl Iterator<Item = &'a Value> + '_ {
        self.all(EVENTS).iter().filter(|event| text(&event["type"]) != "Normal")
    }

    pub(super) fn sick_on(&self, node: &str) -> impl Iterator<Item = &Sick<'a>> {
        self.sick_on.get(node).into_iter().flatten().map(|at| &self.sick[*at])
    }

    pub(super) fn sick_in(&self, namespace: &str) -> impl Iterator<Item = &Sick<'a>> {
        self.sick_in.get(namespace).into_iter().flatten().map(|at| &self.sick[*at])
    }

    /// The operators that a namespace belongs to.
    pub(super) fn owners(&self, namespace: &str) -> &[&'a str] {
        self.owners.get(namespace).map_or(&[], Vec::as_slice)
    }

    /// An alert that fires.
    pub(super) fn alert(&self, names: &[&str]) -> Option<&'a super::Alert> {
        self.snapshot.alerts.iter().find(|alert| names.contains(&alert.name.as_str()))
    }

    /// What a Pod's containers last said: the ends of their logs, and the messages with which they ended.
    pub(super) fn last_words(&self, sick: &Sick<'a>) -> Vec<&'a str> {
        let prefix = format!("{}/{}/", sick.namespace, sick.name);
        let logs = self.snapshot.logs.range(prefix.clone()..);
        let logs = logs.take_while(|(key, _)| key.starts_with(&prefix)).map(|(_, log)| log.as_str());
        logs.chain(terminated(sick.pod).map(|ended| text(&ended["message"]))).collect()
    }
}

// === impl Sick ===

impl<'a> Sick<'a> {
    /// Why its containers wait, init containers first.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Waiting<'a>> + use<'a> {
        statuses(self.pod).filter_map(|status| {
            let waiting = &status["state"]["waiting"];
            waiting.is_object().then(|| Waiting {
                container: text(&status["name"]),
                reason: text(&waiting["reason"]),
                message: text(&waiting["message"]),
            })
        })
    }

    /// Since when it has not been ready, or has existed.
    pub(super) fn since(&self) -> &'a str {
        let created = text(&self.pod["metadata"]["creationTimestamp"]);
        Condition::find(self.pod, "Ready")
            .map(|ready| ready.since)
            .filter(|t| !t.is_empty())
            .unwrap_or(created)
    }

    pub(super) fn is_pending(&self) -> bool {
        text(&self.pod["status"]["phase"]) == "Pending"
    }

    /// Why no node takes it.
    pub(super) fn unschedulable(&self) -> Option<&'a str> {
        let scheduled = Condition::find(self.pod, "PodScheduled")?;
        scheduled.is_false().then_some(scheduled.message)
    }

    pub(super) fn called(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// The statuses of all containers, init containers first.
pub(super) fn statuses(pod: &Value) -> impl Iterator<Item = &Value> {
    ["initContainerStatuses", "containerStatuses"].into_iter().flat_map(|key| list(&pod["status"][key]))
}

/// How containers ended, now and before.
pub(super) fn terminated(pod: &Value) -> impl Iterator<Item = &Value> {
    statuses(pod)
        .flat_map(|status| [&status["state"]["terminated"], &status["lastState"]["terminated"]])
        .filter(|ended| ended.is_object())
}

pub(super) fn restarts(pod: &Value) -> i64 {
    statuses(pod).filter_map(|status| status["restartCount"].as_i64()).sum()
}

pub(super) fn parse(time: &str) -> Option<Timestamp> {
    time.parse().ok()
}

/// The object that an event is about, in the old and the new form of events.
pub(super) fn subject(event: &Value) -> &Value {
    if event["involvedObject"].is_object() { &event["involvedObject"] } else { &event["regarding"] }
}

/// What an event says.
pub(super) fn said(event: &Value) -> &str {
    match text(&event["message"]) {
        "" => text(&event["note"]),
        message => message,
    }
}

/// How often an event was seen.
pub(super) fn times(event: &Value) -> i64 {
    [&event["count"], &event["series"]["count"], &event["deprecatedCount"]]
        .into_iter()
        .find_map(Value::as_i64)
        .unwrap_or(1)
}

/// When an event was last seen.
pub(super) fn event_time(event: &Value) -> &str {
    let times = [
        &event["series"]["lastObservedTime"],
        &event["lastTimestamp"],
        &event["deprecatedLastTimestamp"],
        &event["eventTime"],
        &event["metadata"]["creationTimestamp"],
    ];
    times.into_iter().map(text).find(|time| !time.is_empty()).unwrap_or_default()
}
