//! What an apply request makes of an object.

use serde_json::Value;

use super::compare::{Comparison, compare, is_equal};
use super::conflict::ApplyError;
use super::last_applied;
use super::managers::{Entry, Id, Manager, Managers, Operation, entries_of, set_entries, strip};
use super::merge::merge;
use super::owned::owned_fields;
use super::reconcile::reconcile;
use super::remove::remove_fields;
use super::set::FieldSet;
use super::types::TypeRef;
use super::update::{empty_object, track};
use super::validate::validate;

/// The name of whoever wrote an object that has no entries before it is applied for the first time.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The object that results when a manager applies a patch, with its new `managedFields`; `live` is what is stored now.
///
/// Nulls of the patch are in the result: what a null means is for the decoder of the kind to say. `reset` is what the
/// strategy of the request puts back anyway, such as `status`.
///
/// # Errors
/// When the patch has not the form of its type, or changes what others own and `force` is off.
pub(crate) fn apply(
    ty: TypeRef<'_>,
    live: Option<&Value>,
    patch: &Value,
    manager: &Manager<'_>,
    force: bool,
    now: &str,
    reset: &FieldSet,
) -> Result<Value, ApplyError> {
    if entries_of(patch).is_some() {
        return Err(ApplyError::BadRequest("metadata.managedFields must be nil".into()));
    }
    let typed = |what: &str, object: &Value, error: String| {
        ApplyError::Typed(format!("failed to create typed {what} object ({}): {error}", name_of(object)))
    };
    validate(ty, patch, false).map_err(|error| typed("patch", patch, error))?;
    let request = Request { ty, patch, manager, now, reset, id: Id::of(manager, Operation::Apply) };
    let mut object = match live {
        None => request.create(),
        Some(live) => {
            validate(ty, live, true).map_err(|error| typed("live", live, error))?;
            request.apply(live, force)?
        }
    };
    if manager.name == last_applied::MANAGER {
        last_applied::refresh(&mut object, patch);
    }
    Ok(object)
}

struct Request<'r> {
    ty: TypeRef<'r>,
    patch: &'r Value,
    manager: &'r Manager<'r>,
    now: &'r str,
    reset: &'r FieldSet,
    id: Id,
}

// === impl Request ===

impl Request<'_> {
    fn create(&self) -> Value {
        let mut managers = Managers::default();
        self.enter(&mut managers, self.applied_set(), Some(self.now.into()));
        let mut object = self.patch.clone();
        managers.write(&mut object);
        object
    }

    fn apply(&self, live: &Value, force: bool) -> Result<Value, ApplyError> {
        let entries = entries_of(live).map_or(&[][..], Vec::as_slice);
        let decoded = Managers::decode(entries);
        let mut managers = decoded
            .map_err(|error| ApplyError::Typed(format!("failed to decode managed fields: {error}")))?;
        if managers.entries.is_empty() {
            managers = self.before_first_apply(live)?;
        }
        managers.drop_unknown(self.ty, live);
        for entry in managers.entries.values_mut() {
            reconcile(self.ty, &mut entry.set);
        }

        let last = managers.entries.remove(&self.id);
        let applied = self.applied_set();
        let mut object = merge(self.ty, live, self.patch);
        if let Some(last) = &last
            && !last.set.is_within(&applied)
        {
            prune(self.ty, &mut object, &last.set, &applied, &managers);
        }

        let is_changed = !is_equal(live, &object);
        let mut comparison = Comparison::default();
        if is_changed {
            comparison = compare(self.ty, live, &object);
            comparison.exclude(self.reset);
        }
        if let Err(conflicts) = managers.settle(&comparison, Some(&self.id), force) {
            let conflicts = match self.manager.name {
                last_applied::MANAGER => {
                    last_applied::without_allowed(self.ty, live, self.manager, conflicts)
                }
                _ => conflicts,
            };
            if !conflicts.is_empty() {
                return Err(ApplyError::of_sets(&conflicts));
            }
            managers.settle(&comparison, Some(&self.id), true).ok();
        }
        // A request that changes nothing leaves the time of the entry alone, or leaves a new entry without one.
        let time = if is_changed { Some(self.now.to_owned()) } else { last.and_then(|last| last.time) };
        self.enter(&mut managers, applied, time);
        set_entries(&mut object, managers.encode());
        Ok(object)
    }

    /// What the patch names, without what the strategy puts back.
    fn applied_set(&self) -> FieldSet {
        let mut set = owned_fields(self.ty, self.patch);
        set.subtract_trees(self.reset);
        set
    }

    /// Enters what the applier owns; who owns nothing has no entry.
    fn enter(&self, managers: &mut Managers, mut set: FieldSet, time: Option<String>) {
        strip(&mut set);
        if !set.is_empty() {
            let api_version = self.manager.api_version.to_owned();
            managers.entries.insert(self.id.clone(), Entry { set, api_version, time });
        }
    }

    /// Everything that an object without entries has belongs to nobody in particular.
    fn before_first_apply(&self, live: &Value) -> Result<Managers, ApplyError> {
        let somebody = Manager { name: BEFORE_FIRST_APPLY, ..*self.manager };
        let empty = empty_object(self.ty, live);
        track(self.ty, &empty, live, Managers::default(), &somebody, self.now, self.reset).map_err(|error| {
            ApplyError::Typed(format!("failed to create manager for existing fields: {error}"))
        })
    }
}

/// Takes out what the applier named last time, does not name now, and nobody else owns.
fn prune(ty: TypeRef<'_>, merged: &mut Value, last: &FieldSet, applied: &FieldSet, others: &Managers) {
    let named = |set: &FieldSet| set.with_named_fields(Some(ty));
    let last = named(last);
    let merged_set = named(&owned_fields(ty, merged));

    // Without all that was applied last time ...
    let mut pruned = merged.clone();
    remove_fields(ty, &mut pruned, &last);
    // ... but with what anybody owns now ...
    let mut owned = applied.clone();
    for entry in others.entries.values() {
        owned.add(&entry.set);
    }
    let mut gone = merged_set.clone();
    gone.subtract(&named(&owned_fields(ty, &pruned)));
    gone.subtract(&named(&owned));
    pruned.clone_from(merged);
    remove_fields(ty, &mut pruned, &gone);
    // ... and with what went along although it was never applied, such as defaults inside an item.
    let mut gone = merged_set;
    gone.subtract(&named(&owned_fields(ty, &pruned)));
    remove_fields(ty, merged, &gone.intersection(&last));
}

/// How messages name an object: `namespace/name; group/version, Kind=Kind`.
fn name_of(object: &Value) -> String {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let metadata = object.get("metadata");
    let meta = |name| text(metadata.and_then(|metadata| metadata.get(name)));
    let api_version = text(object.get("apiVersion"));
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{}/{}; {slash}{api_version}, Kind={}", meta("namespace"), meta("name"), text(object.get("kind")))
}

#[cfg(test)]
mod tests;
