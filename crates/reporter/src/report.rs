//! What an operator knows at one moment, and the whole status that follows from it.

use jiff::Timestamp;
use lockstep_api::names::{condition, object, reason};
use lockstep_api::{
    ClusterOperatorStatus, Condition, ConditionStatus, Conditions, ObjectReference, OperandVersion,
};
use serde_json::{Map, Value};

use crate::{Inertia, Invalid, Rollout, union};

/// What an operator knows about its component at one moment.
///
/// Everything is optional but the name and the version that the operator brings.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub(crate) name: String,
    /// `operator` and what moves with it.
    pub(crate) own: Vec<(String, String)>,
    pub(crate) operands: Vec<Operand>,
    pub(crate) parts: Conditions,
    pub(crate) said: Conditions,
    pub(crate) related: Vec<ObjectReference>,
    extension: Option<Value>,
    inertia: Inertia,
    is_unmanaged: bool,
}

/// Something that the operator manages and that has a version.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Operand {
    pub(crate) name: String,
    pub(crate) version: String,
    rollout: Rollout,
}

/// The conditions of every operator, with the status of a healthy one, and whether they are always reported.
const REPORTED: [(&str, ConditionStatus, bool); 5] = [
    (condition::DEGRADED, ConditionStatus::False, true),
    (condition::PROGRESSING, ConditionStatus::False, true),
    (condition::AVAILABLE, ConditionStatus::True, true),
    (condition::UPGRADEABLE, ConditionStatus::True, false),
    (condition::EVALUATION_CONDITIONS_DETECTED, ConditionStatus::False, false),
];

/// An entry of a list of versions.
pub fn version(name: impl Into<String>, version: impl Into<String>) -> OperandVersion {
    OperandVersion { name: name.into(), version: version.into(), other: Map::new() }
}

// === impl Report ===

impl Report {
    /// The report of an operator that brings this version of its component.
    ///
    /// The version is reported once every operand has moved; until then the one before stays.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            own: vec![(object::OPERATOR_VERSION.to_owned(), version.into())],
            operands: Vec::new(),
            parts: Conditions::default(),
            said: Conditions::default(),
            related: Vec::new(),
            extension: None,
            inertia: Inertia::default(),
            is_unmanaged: false,
        }
    }

    /// The ClusterOperator that is reported.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Another version that moves together with that of the operator, such as `operator-image`.
    #[must_use]
    pub fn with_version(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.own.push((name.into(), version.into()));
        self
    }

    /// An operand, the version that it shall reach, and how far it is.
    ///
    /// It is a part of Progressing as well: `server` is told as `ServerProgressing`.
    #[must_use]
    pub fn operand(mut self, name: impl Into<String>, version: impl Into<String>, rollout: Rollout) -> Self {
        self.operands.push(Operand { name: name.into(), version: version.into(), rollout });
        self
    }

    /// What the parts say: conditions whose types end with the one that they are a part of, such as `NodeDegraded`.
    ///
    /// Their times count: a bad part of Degraded is told once it has been bad for longer than the [`Inertia`].
    #[must_use]
    pub fn parts(mut self, parts: &Conditions) -> Self {
        self.parts = parts.clone();
        self
    }

    /// Says a condition as it is, whatever the parts say.
    #[must_use]
    pub fn say(mut self, condition: Condition) -> Self {
        self.said.set(condition, Timestamp::UNIX_EPOCH);
        self
    }

    /// Says that the cluster must not move to the next minor version; the message tells an administrator what to do.
    #[must_use]
    pub fn not_upgradeable(self, reason: impl Into<String>, message: impl Into<String>) -> Self {
        self.say(Condition::new(condition::UPGRADEABLE, ConditionStatus::False).because(reason, message))
    }

    /// Says that the cluster may move to the next minor version.
    #[must_use]
    pub fn upgradeable(self) -> Self {
        let said = Condition::new(condition::UPGRADEABLE, ConditionStatus::True);
        self.say(said.because(reason::AS_EXPECTED, crate::ALL_IS_WELL))
    }

    /// An object to look at when the component is in trouble; an empty name stands for all of the namespace.
    #[must_use]
    pub fn related(mut self, group: &str, resource: &str, namespace: &str, name: &str) -> Self {
        let [group, resource, namespace, name] = [group, resource, namespace, name].map(str::to_owned);
        let object = ObjectReference { group, resource, namespace, name, other: Map::new() };
        if !self.related.contains(&object) {
            self.related.push(object);
        }
        self
    }

    /// Whatever else the operator wants to say.
    #[must_use]
    pub fn extension(mut self, extension: Value) -> Self {
        self.extension = Some(extension);
        self
    }

    /// Sets how long bad parts of Degraded are borne.
    #[must_use]
    pub fn inertia(mut self, inertia: Inertia) -> Self {
        self.inertia = inertia;
        self
    }

    /// Says that the operator was told to leave its operands alone: nothing is known, and versions stay as they are.
    #[must_use]
    pub fn unmanaged(mut self) -> Self {
        self.is_unmanaged = true;
        self
    }

    /// The whole status that follows from this report and the live status; the same status when nothing changed.
    ///
    /// Conditions, versions and fields that this report does not know stay as they are.
    ///
    /// *Errors*: a report whose fields are not valid together gives no status at all.
    pub fn over(
        &self,
        live: &ClusterOperatorStatus,
        now: Timestamp,
    ) -> Result<ClusterOperatorStatus, Invalid> {
        self.check()?;
        let mut status = live.clone();
        status.conditions.merge(self.conditions(live, now), now);
        if self.is_unmanaged {
            return Ok(status);
        }
        self.set_versions(&mut status.versions, live);
        if !self.related.is_empty() {
            status.related_objects = related(&self.related, &live.related_objects);
        }
        if self.extension.is_some() {
            status.extension.clone_from(&self.extension);
        }
        Ok(status)
    }

    fn conditions(&self, live: &ClusterOperatorStatus, now: Timestamp) -> Vec<Condition> {
        let all = REPORTED.iter().filter_map(|(kind, good, is_core)| {
            let is_reported = *is_core || live.conditions.find(kind).is_some();
            if self.is_unmanaged {
                let unknown = Condition::new(*kind, ConditionStatus::Unknown);
                return is_reported.then(|| unknown.because(reason::UNMANAGED, ""));
            }
            if let Some(said) = self.said.find(kind) {
                return Some(Condition { last_transition_time: None, ..said.clone() });
            }
            let mut parts: Vec<Condition> =
                self.parts.iter().filter(|part| part.kind.ends_with(kind)).cloned().collect();
            if *kind == condition::PROGRESSING {
                parts.extend(self.operands.iter().map(|operand| operand.part(live)));
            }
            let inertia =
                (*kind == condition::DEGRADED && !live.conditions.is_true(kind)).then_some(&self.inertia);
            (is_reported || !parts.is_empty()).then(|| union(kind, good, &parts, inertia, now))
        });
        let others = self.said.iter().filter(|said| REPORTED.iter().all(|(kind, ..)| said.kind != *kind));
        let others = others.map(|said| Condition { last_transition_time: None, ..said.clone() });
        all.chain(others).collect()
    }

    fn set_versions(&self, versions: &mut Vec<OperandVersion>, live: &ClusterOperatorStatus) {
        if self.operands.iter().all(|operand| operand.has_moved(live)) {
            for (name, version) in &self.own {
                set_version(versions, name, version);
            }
        }
        for operand in self.operands.iter().filter(|operand| operand.has_moved(live)) {
            set_version(versions, &operand.name, &operand.version);
        }
    }
}

// === impl Operand ===

impl Operand {
    /// Whether its version may be reported. One that was reported before does not go back because a machine restarts.
    fn has_moved(&self, live: &ClusterOperatorStatus) -> bool {
        match self.rollout {
            Rollout::Done => true,
            Rollout::Unready(_) => live.version(&self.name) == Some(self.version.as_str()),
            Rollout::Underway(_) => false,
        }
    }

    /// What it says about Progressing.
    fn part(&self, live: &ClusterOperatorStatus) -> Condition {
        let mut letters = self.name.split(['-', '.', '_', '/']).map(capitalised).collect::<String>();
        letters.push_str(condition::PROGRESSING);
        match &self.rollout {
            Rollout::Underway(text) => moving(letters, text),
            Rollout::Unready(text) if !self.has_moved(live) => moving(letters, text),
            _ => Condition::new(letters, ConditionStatus::False),
        }
    }
}

fn moving(kind: String, text: &str) -> Condition {
    Condition::new(kind, ConditionStatus::True).because(reason::ROLLING_OUT, text)
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Sets the first entry of a name; further ones of the same name, which the API does not forbid, go.
fn set_version(versions: &mut Vec<OperandVersion>, name: &str, wanted: &str) {
    let mut is_first = true;
    versions.retain(|entry| entry.name != name || std::mem::take(&mut is_first));
    match versions.iter_mut().find(|entry| entry.name == name) {
        Some(entry) => wanted.clone_into(&mut entry.version),
        None => versions.push(version(name, wanted)),
    }
}

/// The objects of the report, each as it stands in the cluster where it does.
fn related(own: &[ObjectReference], live: &[ObjectReference]) -> Vec<ObjectReference> {
    let is_same = |one: &ObjectReference, other: &ObjectReference| {
        (&one.group, &one.resource, &one.namespace, &one.name)
            == (&other.group, &other.resource, &other.namespace, &other.name)
    };
    let as_live = |own: &ObjectReference| live.iter().find(|live| is_same(own, live)).unwrap_or(own).clone();
    own.iter().map(as_live).collect()
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
