//! From what rules saw to what is told: causes take their symptoms along, and the deepest that explains something is first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use lockstep_api::text::masked;

use super::catalogue::catalogue;
use super::concerns::Concerns;
use super::facts::{Facts, event_time, said, subject};
use super::finding::{Diagnosis, Explained, Finding, Unexplained};
use super::rule::{Hit, Rule};
use super::thing::{Thing, widened};
use super::{Confidence, Level, Phase, Snapshot, VERSION};
use crate::facts::{Condition, list, one_line, text};

/// How many lines of evidence a finding keeps; more are noise at night.
const EVIDENCE: usize = 3;
/// How many other objects a finding names.
const OTHERS: usize = 20;
/// How much of a foreign text is quoted, in characters.
const QUOTED: usize = 400;
/// How many warnings are shown for an operator without a cause.
const WARNINGS: usize = 5;

/// Symptoms by nature: whatever concerns the same operator, and is no symptom itself, explains them.
const SYMPTOMS: [&str; 9] = ["O01", "O02", "O03", "O04", "O06", "P05", "V07", "V08", "B17"];

/// Judges a snapshot.
///
/// *Order* of causes: first those that explain something that is not well; among them the deepest layer, then the
/// worst, then the oldest; mere symptoms after causes. What explains nothing comes last, and with less confidence, however bad it looks.
pub fn diagnose(snapshot: &Snapshot) -> Diagnosis {
    let facts = Facts::of(snapshot);
    let things = Thing::all(&facts);
    let drafts: Vec<Draft> = catalogue()
        .iter()
        .copied()
        .filter(|rule| rule.phases.contains(&facts.phase))
        .flat_map(|rule| grouped(rule, (rule.check)(&facts)))
        .map(|(rule, hits)| Draft::new(rule, hits, &facts, &things))
        .collect();
    let roots = roots(&drafts);
    let mut explained: BTreeMap<usize, Vec<Explained>> = BTreeMap::new();
    let mut covered: BTreeMap<usize, BTreeSet<&Thing>> = BTreeMap::new();
    for (at, root) in roots.iter().enumerate() {
        covered.entry(*root).or_default().extend(&drafts[at].covers);
        if at != *root {
            explained.entry(*root).or_default().extend(drafts[at].explained());
        }
    }
    let mut causes: Vec<(bool, Finding)> = Vec::new();
    for (at, draft) in drafts.iter().enumerate().filter(|(at, _)| roots[*at] == *at) {
        let blocked = covered.remove(&at).unwrap_or_default();
        let explains_nothing = blocked.is_empty();
        let finding = draft.finding(&facts, &blocked, explained.remove(&at).unwrap_or_default());
        causes.push((explains_nothing, finding));
    }
    causes.sort_by_key(|(explains_nothing, it)| {
        let rest = (it.since.unwrap_or(Timestamp::MAX), it.id, it.object.clone());
        (*explains_nothing, SYMPTOMS.contains(&it.id), it.layer, Reverse((it.level, it.confidence)), rest)
    });
    // What explains nothing may be true and still have nothing to do with the trouble.
    let is_alone = causes.len() < 2 && things.is_empty();
    for (explains_nothing, finding) in &mut causes {
        if *explains_nothing && !is_alone {
            finding.confidence = finding.confidence.min(Confidence::Likely);
        }
    }
    let causes: Vec<Finding> = causes.into_iter().map(|(_, finding)| finding).collect();
    Diagnosis {
        version: VERSION,
        at: facts.now.into(),
        phase: facts.phase,
        unexplained: unexplained(&facts, &things, &causes),
        unhealthy: things.iter().map(Thing::told).collect(),
        causes,
    }
}

/// Hits of one rule that are one finding.
fn grouped(rule: &'static Rule, hits: Vec<Hit>) -> Vec<(&'static Rule, Vec<Hit>)> {
    let mut groups: BTreeMap<String, Vec<Hit>> = BTreeMap::new();
    for hit in hits {
        groups.entry(hit.group.clone()).or_default().push(hit);
    }
    groups.into_values().map(|hits| (rule, hits)).collect()
}

/// A finding before it is known what follows from it.
struct Draft {
    rule: &'static Rule,
    hits: Vec<Hit>,
    level: Level,
    since: Option<Timestamp>,
    /// What the hits say they concern.
    concerns: Concerns,
    /// With what follows from that.
    wide: Concerns,
    covers: Vec<Thing>,
}

impl Draft {
    fn new(rule: &'static Rule, mut hits: Vec<Hit>, facts: &Facts<'_>, things: &[Thing]) -> Self {
        hits.sort_by_key(|hit| (hit.since.unwrap_or(Timestamp::MAX), hit.object.clone()));
        let concerns = hits.iter().fold(Concerns::default(), |all, hit| all.and(hit.concerns.clone()));
        let wide = widened(facts, &concerns);
        let covers = things.iter().filter(|thing| thing.is_covered(&wide)).cloned().collect();
        let level = hits.iter().map(|hit| hit.level.unwrap_or(rule.level)).max().unwrap_or(rule.level);
        let since = hits.iter().filter_map(|hit| hit.since).min();
        Self { rule, hits, level, since, concerns, wide, covers }
    }

    fn is_symptom(&self) -> bool {
        SYMPTOMS.contains(&self.rule.id)
    }

    /// Whether another finding follows from this one.
    fn hides(&self, other: &Self) -> bool {
        let names = |rule: &Rule, id: &str| rule.hides.iter().any(|known| id.starts_with(known));
        // What explains everything does not explain a finding that knows it better.
        let is_all = self.rule.hides.contains(&"*") && !names(other.rule, self.rule.id);
        let is_named = is_all || names(self.rule, other.rule.id);
        let is_symptom = other.is_symptom() && !self.is_symptom() && self.level >= Level::Warning;
        if is_named && self.wide.meets(&other.concerns) {
            return true;
        }
        is_symptom && (self.wide.meets(&other.wide) || other.rule.id == "V07" && !self.covers.is_empty())
    }

    fn explained(&self) -> impl Iterator<Item = Explained> {
        let (id, title) = (self.rule.id, self.rule.title);
        self.hits.iter().take(OTHERS).map(move |hit| Explained { id, title, object: hit.object.clone() })
    }

    fn finding(&self, facts: &Facts<'_>, blocked: &BTreeSet<&Thing>, explains: Vec<Explained>) -> Finding {
        let first = &self.hits[0];
        let confidence = self.hits.iter().map(|hit| hit.confidence.unwrap_or(self.rule.confidence)).max();
        let mut evidence: Vec<String> = Vec::new();
        for line in self.hits.iter().flat_map(|hit| &hit.evidence).map(|line| quoted(line)) {
            if evidence.len() < EVIDENCE && !evidence.contains(&line) {
                evidence.push(line);
            }
        }
        Finding {
            id: self.rule.id,
            level: self.level,
            confidence: confidence.unwrap_or(self.rule.confidence),
            phase: facts.phase,
            layer: self.rule.layer,
            title: self.rule.title,
            object: first.object.clone(),
            others: self.hits.iter().skip(1).take(OTHERS).map(|hit| hit.object.clone()).collect(),
            since: self.since,
            evidence,
            why: self.rule.why,
            blocks: blocks(facts, blocked),
            fix: first.fix.iter().map(|fix| quoted(fix)).collect(),
            explains,
            concerns: self.wide.clone(),
        }
    }
}

/// For each finding the one that it follows from in the end; itself when there is none.
fn roots(drafts: &[Draft]) -> Vec<usize> {
    let order = |at: usize| {
        let draft = &drafts[at];
        (draft.is_symptom(), draft.covers.is_empty(), draft.rule.layer, Reverse(draft.level), draft.since)
    };
    let above: Vec<usize> = (0..drafts.len())
        .map(|at| {
            let hiding = (0..drafts.len()).filter(|by| *by != at && drafts[*by].hides(&drafts[at]));
            hiding.min_by_key(|by| order(*by)).unwrap_or(at)
        })
        .collect();
    (0..drafts.len())
        .map(|at| {
            let mut root = at;
            // Two that hide each other would go round for ever; then the first met stays.
            let mut seen = BTreeSet::new();
            while above[root] != root && seen.insert(root) {
                root = above[root];
            }
            root
        })
        .collect()
}

/// What a finding blocks, in words; with the run levels behind it where levels wait for each other.
fn blocks(facts: &Facts<'_>, blocked: &BTreeSet<&Thing>) -> Vec<String> {
    let mut told: Vec<String> = blocked.iter().map(|thing| thing.told()).collect();
    let operators = facts.snapshot.payload.as_ref().map_or(&[][..], |payload| &payload.operators);
    let level = operators.iter().filter(|it| blocked.contains(&Thing::Operator(it.name.clone())));
    let first = level.map(|it| it.run_level).min();
    if let (Phase::Update, Some(first)) = (facts.phase, first) {
        let waiting = operators.iter().filter(|it| it.run_level > first).count();
        if waiting > 0 {
            told.push(format!(
                "everything after run level {first:02} of the update, {waiting} more operators"
            ));
        }
    }
    told
}

/// Operators that are not well and that only their own condition speaks for.
fn unexplained(facts: &Facts<'_>, things: &[Thing], causes: &[Finding]) -> Vec<Unexplained> {
    let is_explained =
        |thing: &Thing| causes.iter().any(|it| !SYMPTOMS.contains(&it.id) && thing.is_covered(&it.concerns));
    let open = things.iter().filter(|thing| !is_explained(thing));
    open.filter_map(|thing| match thing {
        Thing::Operator(name) => Some(name),
        _ => None,
    })
    .map(|name| {
        let operator = facts.operators.get(name.as_str());
        let conditions = operator.map_or(&[][..], |it| list(&it.object["status"]["conditions"]));
        let mut events: Vec<_> = operator
            .iter()
            .flat_map(|it| &it.namespaces)
            .flat_map(|namespace| facts.warnings(namespace))
            .collect();
        events.sort_by_key(|event| Reverse(event_time(event)));
        let told = events.into_iter().take(WARNINGS).map(|event| {
            let about = subject(event);
            let (kind, name) = (text(&about["kind"]), text(&about["name"]));
            quoted(&format!("{kind} {name}: {}: {}", text(&event["reason"]), said(event)))
        });
        Unexplained {
            operator: name.clone(),
            conditions: conditions.iter().map(|it| quoted(&Condition::read(it).told())).collect(),
            events: told.collect(),
        }
    })
    .collect()
}

/// A foreign text that may be shown: one line, no secrets, not too long.
pub(super) fn quoted(text: &str) -> String {
    let line = one_line(&masked(text));
    match line.char_indices().nth(QUOTED) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}
