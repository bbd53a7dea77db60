//! Layer 7, third part: what the API refuses, and what does not end.

use lockstep_api::names::condition::{ESTABLISHED, FAILING, NAMES_ACCEPTED, PROGRESSING};
use lockstep_api::names::{object as well_known, reason};
use lockstep_api::object;
use serde_json::Value;

use super::super::concerns::Concerns;
use super::super::facts::{Facts, event_time, parse, said, subject};
use super::super::phase::{IU, IUS, US};
use super::super::resource::{
    CLUSTER_VERSIONS, DEFINITIONS, DEPLOYMENTS, MUTATING, NAMESPACES, Resource, VALIDATING,
};
use super::super::rule::{Confidence, Hit, Layer, Level, Rule};
use super::super::words::{between, failed_manifest};
use super::with;
use crate::facts::{Condition, list, text};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "W01",
        layer: Layer::Pods,
        title: "Admission webhook fails",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "`failed calling webhook` in an event, a Deployment or the ClusterVersion",
        why: "The API asks the webhook before every write of that kind, and it does not answer.",
        remedy: "repair the webhook's Pods, or remove its configuration; leave platform namespaces out of it",
        hides: &["W02", "P04", "P05", "W05"],
        check: webhook,
    },
    Rule {
        id: "W02",
        layer: Layer::Pods,
        title: "Object of the release is refused",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "ClusterVersion reason UpdatePayloadResourceInvalid or UpdatePayloadResourceForbidden",
        why: "The live object differs in a field that cannot change, or a policy says no.",
        remedy: "compare the live object with the manifest; delete and create it again when the field is immutable",
        hides: &[],
        check: refused,
    },
    Rule {
        id: "W03",
        layer: Layer::Pods,
        title: "Custom resource definition not served",
        phases: IU,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "NamesAccepted=False or Established not True for 60 s",
        why: "Objects of that kind cannot be written until the definition is served.",
        remedy: "resolve the conflict of names, or migrate stored versions",
        hides: &["B09"],
        check: not_established,
    },
    Rule {
        id: "W04",
        layer: Layer::Pods,
        title: "Namespace does not end",
        phases: IUS,
        level: Level::Error,
        confidence: Confidence::Sure,
        signals: "a platform namespace with a deletionTimestamp older than 5 minutes",
        why: "Something in it has a finalizer that nobody removes, or an API that must be asked is down.",
        remedy: "by condition: repair the API, or remove the finalizer of what remains",
        hides: &["P04"],
        check: terminating,
    },
    Rule {
        id: "W05",
        layer: Layer::Release,
        title: "Somebody fights the cluster version operator",
        phases: US,
        level: Level::Warning,
        confidence: Confidence::Likely,
        signals: "ClusterVersion reason UpdatePayloadResourceConflict, or an object whose managers take turns within minutes",
        why: "Another controller writes the same fields back again and again.",
        remedy: "stop the other controller, or override the object, which blocks updates",
        hides: &[],
        check: fight,
    },
];

fn webhook(facts: &Facts<'_>) -> Vec<Hit> {
    const CALL: &str = "failed calling webhook \"";
    let mut hits: Vec<Hit> = Vec::new();
    let mut add = |message: &str, since: &str, concerns: Concerns| {
        let Some(name) = between(message, CALL, "\"") else { return };
        let has = |it: &Value| list(&it["webhooks"]).iter().any(|hook| text(&hook["name"]) == name);
        let configured = [VALIDATING, MUTATING]
            .into_iter()
            .find_map(|resource| Some((resource, facts.all(resource).iter().find(|it| has(it))?)));
        let ignores = configured.is_some_and(|(_, it)| {
            list(&it["webhooks"])
                .iter()
                .any(|hook| text(&hook["name"]) == name && text(&hook["failurePolicy"]) == "Ignore")
        });
        if ignores {
            return;
        }
        let (resource, configuration) =
            configured.map_or((VALIDATING, name), |(resource, it)| (resource, object::name(it)));
        let hit = Hit::named(resource, "", configuration)
            .by(name)
            .since(parse(since))
            .line(message)
            .concerning(concerns);
        let service = configured
            .and_then(|(_, it)| list(&it["webhooks"]).first())
            .map(|hook| &hook["clientConfig"]["service"]);
        let hit = match service.map(|it| text(&it["namespace"])).filter(|it| !it.is_empty()) {
            Some(space) => hit.fix(format!("kubectl -n {space} get pods,endpoints")),
            None => hit.fix(format!("kubectl get {} {configuration} -o yaml", resource.plural())),
        };
        hits.push(hit.fix(format!("kubectl delete {} {configuration}   # when whoever serves it is gone; its owner creates it again", resource.plural())));
    };
    for condition in [FAILING, PROGRESSING].into_iter().filter_map(|kind| facts.of_version(kind)) {
        add(condition.message, condition.since, Concerns::version());
    }
    for event in facts.all_warnings().filter(|event| said(event).contains(CALL)) {
        add(
            said(event),
            event_time(event),
            Concerns::default().namespace(text(&subject(event)["namespace"])),
        );
    }
    for deployment in facts.all(DEPLOYMENTS) {
        for condition in list(&deployment["status"]["conditions"]).iter().map(Condition::read) {
            if condition.message.contains(CALL) {
                add(
                    condition.message,
                    condition.since,
                    Concerns::default().namespace(object::namespace(deployment)),
                );
            }
        }
    }
    for operator in facts.operators.values() {
        for condition in operator.bad().filter(|it| it.message.contains(CALL)) {
            add(condition.message, condition.since, Concerns::of_operator(operator.name));
        }
    }
    hits
}

/// The condition of the ClusterVersion with one of these reasons, in its reason or in its text of several errors.
fn of_version<'a>(facts: &Facts<'a>, reasons: &[&str]) -> Option<Condition<'a>> {
    let found = [FAILING, PROGRESSING].into_iter().filter_map(|kind| facts.of_version(kind));
    found.into_iter().find(|it| reasons.contains(&it.reason))
}

/// A hit on the object that a failed manifest names, else on the ClusterVersion.
fn on_manifest(condition: &Condition<'_>) -> Hit {
    let hit = match failed_manifest(condition.message) {
        Some((kind, space, name)) => {
            let mut hit = Hit::named(Resource { key: "", kind: "" }, space, name);
            kind.clone_into(&mut hit.object.kind);
            let space = if space.is_empty() { String::new() } else { format!("-n {space} ") };
            hit.fix(format!("kubectl {space}get {kind} {name} -o yaml --show-managed-fields"))
        }
        None => Hit::named(CLUSTER_VERSIONS, "", well_known::VERSION)
            .fix("kubectl get clusterversion version -o yaml"),
    };
    with(hit, condition).concerning(Concerns::version())
}

fn refused(facts: &Facts<'_>) -> Vec<Hit> {
    let reasons = [reason::UPDATE_PAYLOAD_RESOURCE_INVALID, reason::UPDATE_PAYLOAD_RESOURCE_FORBIDDEN];
    let fix =
        "lockstep diff <release>   # shows what differs; an immutable field needs delete and create again";
    of_version(facts, &reasons).map(|it| on_manifest(&it).fix(fix)).into_iter().collect()
}

fn not_established(facts: &Facts<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    for definition in facts.all(DEFINITIONS) {
        let names = Condition::find(definition, NAMES_ACCEPTED).filter(Condition::is_false);
        let established = Condition::find(definition, ESTABLISHED).filter(|it| !it.is_true());
        let Some(bad) = names.or(established).filter(|it| facts.is_older(it.since, 60)) else { continue };
        let name = object::name(definition);
        let group = text(&definition["spec"]["group"]);
        let hit = with(Hit::on(DEFINITIONS, definition), &bad).concerning(Concerns::version());
        hits.push(
            hit.fix(format!("kubectl get crd {name} -o jsonpath='{{.status}}'"))
                .fix(format!("kubectl get crd | grep {group}   # which other definition has the name")),
        );
    }
    hits
}

fn terminating(facts: &Facts<'_>) -> Vec<Hit> {
    let ending = facts.all(NAMESPACES).iter().filter_map(|it| {
        let since = text(&it["metadata"]["deletionTimestamp"]);
        let name = object::name(it);
        let is_platform = name.starts_with("openshift-") || !facts.owners(name).is_empty();
        (!since.is_empty() && is_platform && facts.is_older(since, 300)).then_some((it, name, since))
    });
    ending
        .map(|(it, name, since)| {
            let conditions = list(&it["status"]["conditions"]).iter().map(Condition::read).filter(Condition::is_true);
            let hit = Hit::on(NAMESPACES, it).since(parse(since)).concerning(Concerns::default().namespace(name));
            let hit = conditions.take(2).fold(hit, |hit, condition| hit.line(condition.told()));
            hit.line(format!("being deleted since {since}"))
                .fix(format!("kubectl api-resources --verbs=list --namespaced -o name | xargs -n1 kubectl -n {name} get --ignore-not-found --show-kind"))
                .fix("kubectl get apiservices | grep False")
        })
        .collect()
}

fn fight(facts: &Facts<'_>) -> Vec<Hit> {
    if let Some(conflict) = of_version(facts, &[reason::UPDATE_PAYLOAD_RESOURCE_CONFLICT]) {
        return vec![on_manifest(&conflict)];
    }
    let mut hits = Vec::new();
    for deployment in
        facts.all(DEPLOYMENTS).iter().filter(|it| object::namespace(it).starts_with("openshift-"))
    {
        let managers = list(&deployment["metadata"]["managedFields"]);
        let is_ours = |name: &str| {
            [lockstep_api::names::FIELD_MANAGER, well_known::CLUSTER_VERSION_OPERATOR].contains(&name)
        };
        let lately = |it: &&Value| {
            text(&it["subresource"]).is_empty()
                && facts.age(text(&it["time"])).is_some_and(|age| (0..300).contains(&age))
        };
        let mut recent = managers.iter().filter(lately).map(|it| text(&it["manager"])).collect::<Vec<_>>();
        recent.sort_unstable();
        recent.dedup();
        // A generation that runs far ahead tells a fight from one change that was repaired once.
        let generation = deployment["metadata"]["generation"].as_i64().unwrap_or(0);
        if recent.iter().any(|it| is_ours(it)) && recent.iter().any(|it| !is_ours(it)) && generation >= 10 {
            let (space, name) = (object::namespace(deployment), object::name(deployment));
            let hit = Hit::on(DEPLOYMENTS, deployment).line(format!(
                "{} wrote it within five minutes, generation {generation}",
                recent.join(" and ")
            ));
            hits.push(
                hit.confidence(Confidence::Hint)
                    .fix(format!("kubectl -n {space} get deployment {name} -o yaml --show-managed-fields")),
            );
        }
    }
    hits
}
