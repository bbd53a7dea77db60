//! Why an apply request is refused.

use serde_json::{Value, json};

use super::managers::{Id, Operation};
use super::set::FieldSet;
use crate::status::Status;

/// Why an apply request is refused.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ApplyError {
    /// Others own fields that the patch changes.
    Conflict(Vec<Conflict>),
    /// An object does not have the form of its type.
    Typed(String),
    /// The patch says what a patch must not say.
    BadRequest(String),
}

/// A field that the patch changes and somebody else owns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conflict {
    /// Who owns it, as messages say it: `"kubectl" using v1`.
    pub(crate) manager: String,
    /// The path of the field, such as `.data.a`.
    pub(crate) field: String,
}

// === impl ApplyError ===

impl ApplyError {
    /// The conflicts in the order of messages.
    pub(super) fn of_sets(sets: &[(Id, FieldSet)]) -> Self {
        let conflicts = sets.iter().flat_map(|(id, set)| {
            let manager = id.to_string();
            set.paths().into_iter().map(move |field| Conflict { manager: manager.clone(), field })
        });
        Self::Conflict(conflicts.collect())
    }
}

impl From<ApplyError> for Status {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::Typed(message) => Self::bare(message),
            ApplyError::BadRequest(message) => Self::bad_request(message),
            ApplyError::Conflict(conflicts) => {
                let causes: Vec<Value> = conflicts.iter().map(Conflict::cause).collect();
                let details = json!({"causes": causes});
                Self {
                    details: details.as_object().cloned(),
                    ..Self::new(409, "Conflict", message(&conflicts))
                }
            }
        }
    }
}

/// One conflict in one line, several below the name of each manager.
fn message(conflicts: &[Conflict]) -> String {
    if let [Conflict { manager, field }] = conflicts {
        return format!("Apply failed with 1 conflict: conflict with {manager}: {field}");
    }
    let by_manager = conflicts.chunk_by(|one, other| one.manager == other.manager);
    let lines = by_manager.flat_map(|conflicts| {
        let head = format!("conflicts with {}:", conflicts[0].manager);
        std::iter::once(head).chain(conflicts.iter().map(|conflict| format!("- {}", conflict.field)))
    });
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.collect::<Vec<_>>().join("\n"))
}

impl Conflict {
    fn cause(&self) -> Value {
        let message = format!("conflict with {}", self.manager);
        json!({"reason": "FieldManagerConflict", "message": message, "field": self.field})
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.manager)?;
        if !self.subresource.is_empty() {
            write!(f, " with subresource {:?}", self.subresource)?;
        }
        if self.operation == Operation::Update {
            write!(f, " using {}", self.api_version)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(sets: &[(Id, FieldSet)]) -> Status {
        ApplyError::of_sets(sets).into()
    }

    #[test]
    fn one_conflict_is_told_in_one_line() {
        let id = Id::new("mgr", Operation::Update, "v1", "");
        let status = error(&[(id, FieldSet::of_names(&[&["data", "a"]]))]);
        assert_eq!(status.message, "Apply failed with 1 conflict: conflict with \"mgr\" using v1: .data.a");
        assert_eq!(
            Value::Object(status.details.unwrap()),
            json!({"causes": [{"reason": "FieldManagerConflict", "message": "conflict with \"mgr\" using v1", "field": ".data.a"}]})
        );
        assert_eq!((status.code, status.reason), (409, Some("Conflict")));
    }

    #[test]
    fn several_conflicts_are_listed_by_manager() {
        let applier = Id::new("one", Operation::Apply, "v1", "");
        let updater = Id::new("two", Operation::Update, "apps/v1", "scale");
        let status = error(&[
            (applier, FieldSet::of_names(&[&["data", "a"], &["data", "b"]])),
            (updater, FieldSet::of_names(&[&["spec", "replicas"]])),
        ]);
        assert_eq!(
            status.message,
            "Apply failed with 3 conflicts: conflicts with \"one\":\n- .data.a\n- .data.b\nconflicts with \"two\" with \
             subresource \"scale\" using apps/v1:\n- .spec.replicas"
        );
    }

    #[test]
    fn an_object_without_its_form_is_an_internal_error_without_reason() {
        let status: Status = ApplyError::Typed("failed".into()).into();
        assert_eq!((status.code, status.reason), (500, None));
    }
}
