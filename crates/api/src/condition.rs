//! Conditions and their algebra: find, set, remove, and what a missing one means.

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::Time;
use crate::text_enum::text_enum;

text_enum! {
    /// The status of a condition. Whoever asks treats [`Other`](Self::Other) like `Unknown`.
    ConditionStatus {
        /// The condition holds.
        True = "True",
        /// The condition does not hold.
        False = "False",
        /// Nobody can tell, which is also what a missing condition means.
        Unknown = "Unknown",
    }
}

/// One statement about an object, with the time since when its status holds.
///
/// Equality compares everything, also the time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What the statement is about; unique in a list.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Since when the status is what it is. The API requires it; [`Conditions::set`] fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// Why, as one word that tools match on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why, for a person; may have several lines.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The generation that was judged; only conditional updates and their risks have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A list of conditions, at most one per type, in the order in which they first appeared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Conditions(Vec<Condition>);

// === impl ConditionStatus ===

impl ConditionStatus {
    /// `True` or `False` for an answer to a question.
    pub fn of(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

// === impl Condition ===

impl Condition {
    /// A condition without reason and message; its time is set when it enters a list.
    pub fn new(kind: impl Into<String>, status: ConditionStatus) -> Self {
        Self {
            kind: kind.into(),
            status,
            last_transition_time: None,
            reason: String::new(),
            message: String::new(),
            observed_generation: None,
            other: Map::new(),
        }
    }

    /// The same condition with a reason and a message.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>, message: impl Into<String>) -> Self {
        self.reason = reason.into();
        self.message = message.into();
        self
    }

    /// Whether the status is exactly `True`.
    pub fn is_true(&self) -> bool {
        self.status == ConditionStatus::True
    }

    /// Whether the status is exactly `False`.
    pub fn is_false(&self) -> bool {
        self.status == ConditionStatus::False
    }
}

// === impl Conditions ===

impl Conditions {
    /// The condition of a type; the first one, should there be several.
    pub fn find(&self, kind: &str) -> Option<&Condition> {
        self.0.iter().find(|condition| condition.kind == kind)
    }

    /// The status of a type; a missing condition is `Unknown`.
    pub fn status(&self, kind: &str) -> &ConditionStatus {
        self.find(kind).map_or(&ConditionStatus::Unknown, |condition| &condition.status)
    }

    /// Whether the type is present and `True`.
    pub fn is_true(&self, kind: &str) -> bool {
        self.find(kind).is_some_and(Condition::is_true)
    }

    /// Whether the type is present and `False`.
    pub fn is_false(&self, kind: &str) -> bool {
        self.find(kind).is_some_and(Condition::is_false)
    }

    /// Writes one condition into the list.
    ///
    /// *Order*: a new type goes to the end, with the time `now`. A known one keeps its place; its time becomes `now`
    /// only when the status changes; reason and message are always those of the new one. The time that the new
    /// condition brings is ignored, so that nobody can move a transition by accident.
    pub fn set(&mut self, new: Condition, now: Timestamp) {
        let Some(old) = self.0.iter_mut().find(|old| old.kind == new.kind) else {
            self.0.push(Condition { last_transition_time: Some(now.into()), ..new });
            return;
        };
        if old.status != new.status || old.last_transition_time.is_none() {
            old.last_transition_time = Some(now.into());
        }
        old.status = new.status;
        old.reason = new.reason;
        old.message = new.message;
        old.observed_generation = new.observed_generation.or(old.observed_generation);
        old.other.extend(new.other);
    }

    /// Takes a type out of the list, and returns what stood there.
    pub fn remove(&mut self, kind: &str) -> Option<Condition> {
        let at = self.0.iter().position(|condition| condition.kind == kind)?;
        let removed = self.0.remove(at);
        self.0.retain(|condition| condition.kind != kind);
        Some(removed)
    }

    /// Sets every one of `new`; conditions of other types stay as they are.
    pub fn merge(&mut self, new: impl IntoIterator<Item = Condition>, now: Timestamp) {
        for condition in new {
            self.set(condition, now);
        }
    }

    /// Sets every one of `new` and drops all other types; the order of those that stay does not change.
    pub fn replace(&mut self, new: impl IntoIterator<Item = Condition>, now: Timestamp) {
        let new: Vec<Condition> = new.into_iter().collect();
        self.0.retain(|old| new.iter().any(|new| new.kind == old.kind));
        self.merge(new, now);
    }

    /// All conditions in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Condition> {
        self.0.iter()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl<'a> IntoIterator for &'a Conditions {
    type Item = &'a Condition;
    type IntoIter = std::slice::Iter<'a, Condition>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Takes the conditions as they are, with their times; for data that was read.
impl FromIterator<Condition> for Conditions {
    fn from_iter<T: IntoIterator<Item = Condition>>(conditions: T) -> Self {
        Self(conditions.into_iter().collect())
    }
}

/// Writes conditions where the schema requires reason and message even when they are empty.
pub(crate) fn serialize_complete<S: Serializer>(list: &Conditions, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Complete<'a> {
        reason: &'a str,
        message: &'a str,
        #[serde(flatten)]
        rest: Condition,
    }
    to.collect_seq(list.iter().map(|condition| Complete {
        reason: &condition.reason,
        message: &condition.message,
        rest: condition.clone().because("", ""),
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ConditionStatus::{False, True, Unknown};
    use super::*;
    use crate::names::condition::{AVAILABLE, DEGRADED, PROGRESSING};

    fn at(second: i64) -> Timestamp {
        Timestamp::new(second, 123_456_789).unwrap()
    }

    fn since(conditions: &Conditions, kind: &str) -> i64 {
        conditions.find(kind).unwrap().last_transition_time.unwrap().timestamp().as_second()
    }

    fn some() -> Conditions {
        let mut conditions = Conditions::default();
        conditions.set(Condition::new(AVAILABLE, True).because("AsExpected", "All is well"), at(10));
        conditions.set(Condition::new(DEGRADED, False), at(10));
        conditions
    }

    fn kinds(conditions: &Conditions) -> Vec<&str> {
        conditions.iter().map(|condition| condition.kind.as_str()).collect()
    }

    #[test]
    fn new_type_is_appended_with_the_time_now_whatever_it_brings() {
        let mut conditions = some();
        let mut new = Condition::new(PROGRESSING, True);
        new.last_transition_time = Some(at(1).into());
        conditions.set(new, at(20));
        assert_eq!(kinds(&conditions), [AVAILABLE, DEGRADED, PROGRESSING]);
        assert_eq!(since(&conditions, PROGRESSING), 20);
    }

    #[test]
    fn changed_status_moves_the_time_and_keeps_the_place() {
        let mut conditions = some();
        conditions.set(Condition::new(AVAILABLE, False), at(20));
        assert_eq!(kinds(&conditions), [AVAILABLE, DEGRADED]);
        assert_eq!(since(&conditions, AVAILABLE), 20);
    }

    #[test]
    fn changed_reason_and_message_do_not_move_the_time() {
        let mut conditions = some();
        conditions.set(Condition::new(AVAILABLE, True).because("Other", "Other words"), at(20));
        let found = conditions.find(AVAILABLE).unwrap();
        assert_eq!((found.reason.as_str(), found.message.as_str()), ("Other", "Other words"));
        assert_eq!(since(&conditions, AVAILABLE), 10);
    }

    #[test]
    fn reason_and_message_are_cleared_when_the_new_one_has_none() {
        let mut conditions = some();
        conditions.set(Condition::new(AVAILABLE, True), at(20));
        let found = conditions.find(AVAILABLE).unwrap();
        assert_eq!((found.reason.as_str(), found.message.as_str()), ("", ""));
    }

    #[test]
    fn setting_the_same_again_changes_nothing() {
        let mut conditions = some();
        conditions.set(Condition::new(AVAILABLE, True).because("AsExpected", "All is well"), at(99));
        assert_eq!(conditions, some());
    }

    #[test]
    fn condition_without_a_time_gets_one_when_set() {
        let mut conditions: Conditions = [Condition::new(AVAILABLE, True)].into_iter().collect();
        conditions.set(Condition::new(AVAILABLE, True), at(5));
        assert_eq!(since(&conditions, AVAILABLE), 5);
    }

    #[test]
    fn missing_condition_is_unknown_and_neither_true_nor_false() {
        let conditions = some();
        assert_eq!(conditions.status(PROGRESSING), &Unknown);
        assert!(!conditions.is_true(PROGRESSING) && !conditions.is_false(PROGRESSING));
        assert!(conditions.is_true(AVAILABLE) && conditions.is_false(DEGRADED));
    }

    #[test]
    fn removed_type_is_gone_and_the_rest_stays() {
        let mut conditions = some();
        assert_eq!(conditions.remove(AVAILABLE).unwrap().reason, "AsExpected");
        assert_eq!(kinds(&conditions), [DEGRADED]);
        assert_eq!(conditions.remove(AVAILABLE), None);
    }

    #[test]
    fn merge_keeps_what_it_does_not_name_and_replace_drops_it() {
        let new = [Condition::new(PROGRESSING, False), Condition::new(DEGRADED, True)];
        let mut merged = some();
        merged.merge(new.clone(), at(20));
        assert_eq!(kinds(&merged), [AVAILABLE, DEGRADED, PROGRESSING]);
        let mut replaced = some();
        replaced.replace(new, at(20));
        assert_eq!(kinds(&replaced), [DEGRADED, PROGRESSING]);
        assert_eq!(since(&replaced, DEGRADED), 20);
    }

    #[test]
    fn unknown_fields_and_odd_statuses_survive() {
        let json = json!([{"type": "Available", "status": "Perhaps", "future": {"a": [1]}}]);
        let conditions: Conditions = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(conditions.status(AVAILABLE), &ConditionStatus::Other("Perhaps".into()));
        assert!(!conditions.is_true(AVAILABLE) && !conditions.is_false(AVAILABLE));
        assert_eq!(serde_json::to_value(conditions).unwrap(), json);
    }

    #[test]
    fn unknown_fields_stay_when_the_condition_is_set() {
        let json = json!([{"type": "Available", "status": "True", "future": 1}]);
        let mut conditions: Conditions = serde_json::from_value(json).unwrap();
        conditions.set(Condition::new(AVAILABLE, False), at(7));
        assert_eq!(conditions.find(AVAILABLE).unwrap().other["future"], json!(1));
    }

    #[test]
    fn time_is_written_in_whole_seconds() {
        let written = serde_json::to_value(some()).unwrap();
        assert_eq!(written[0]["lastTransitionTime"], json!("1970-01-01T00:00:10Z"));
        assert_eq!(serde_json::from_value::<Conditions>(written).unwrap(), some());
    }
}
