//! Many parts, one condition: the union that operators of the platform report.

use jiff::Timestamp;
use lockstep_api::names::reason;
use lockstep_api::{Condition, ConditionStatus};

use crate::Inertia;

/// What is said when there is nothing to say.
pub const ALL_IS_WELL: &str = "All is well";

/// The condition of type `kind` that follows from the parts whose types end with it.
///
/// `good` is the status that a healthy part has. With `inertia` a bad part counts only once it has been bad for a while;
/// when one counts, those that are younger are told, too. The result has no time: the list that it enters sets it.
///
/// *Compatibility*: reasons and messages are those of the reference. Parts are always told in the order of their types,
/// so that another order of the same parts is no change; the reference sorts the bad ones only.
pub fn union<'a>(
    kind: &str,
    good: &ConditionStatus,
    parts: impl IntoIterator<Item = &'a Condition>,
    inertia: Option<&Inertia>,
    now: Timestamp,
) -> Condition {
    let mut parts: Vec<&Condition> = parts.into_iter().filter(|part| part.kind.ends_with(kind)).collect();
    if parts.is_empty() {
        return Condition::new(kind, ConditionStatus::Unknown).because(reason::NO_DATA, "");
    }
    parts.sort_by(|one, other| one.kind.cmp(&other.kind));
    let bad: Vec<&Condition> = parts.iter().copied().filter(|part| part.status != *good).collect();
    if !bad.iter().any(|part| is_elder(part, inertia, now)) {
        let message = messages(&parts);
        let message = if message.is_empty() { ALL_IS_WELL.to_owned() } else { message };
        return Condition::new(kind, good.clone()).because(reason::AS_EXPECTED, message);
    }
    let opposite = opposite(good);
    let status =
        if bad.iter().any(|part| part.status == opposite) { opposite } else { ConditionStatus::Unknown };
    Condition::new(kind, status).because(reasons(kind, &bad), messages(&bad))
}

fn opposite(status: &ConditionStatus) -> ConditionStatus {
    ConditionStatus::of(*status != ConditionStatus::True)
}

/// Whether a bad part has been bad for longer than it is borne; one without a time has been so for ever.
fn is_elder(part: &Condition, inertia: Option<&Inertia>, now: Timestamp) -> bool {
    let (Some(inertia), Some(since)) = (inertia, part.last_transition_time) else { return true };
    let age = now.duration_since(since.timestamp()).unsigned_abs();
    now > since.timestamp() && age > inertia.with(part)
}

fn reasons(kind: &str, bad: &[&Condition]) -> String {
    let token = |part: &&Condition| {
        let prefix = part.kind.strip_suffix(kind).unwrap_or_default();
        if part.reason.is_empty() { prefix.to_owned() } else { format!("{prefix}_{}", part.reason) }
    };
    let mut tokens: Vec<String> = bad.iter().map(token).collect();
    tokens.sort();
    tokens.join("::")
}

/// Every line of every message once, with the type of its part before it.
fn messages(parts: &[&Condition]) -> String {
    let mut told = Vec::new();
    for part in parts.iter().filter(|part| !part.message.is_empty()) {
        for line in part.message.split('\n') {
            let line = format!("{}: {line}", part.kind);
            if !told.contains(&line) {
                told.push(line);
            }
        }
    }
    told.join("\n")
}

#[cfg(test)]
#[path = "union_tests.rs"]
mod tests;
