//! Who owns which field: server-side apply and `managedFields`.
//!
//! Everything here is a function from values to values. A [`TypeRef`] says how the values of a kind merge; [`apply()`] is
//! what an apply request does to an object, [`update()`] what every other write does to its `managedFields`:
//!
//! ```text
//! patch, live ──validate──▶ merge ──▶ prune ──▶ compare ──▶ settle who owns what ──▶ object with managedFields
//! ```

mod apply;
mod compare;
mod conflict;
mod element;
mod last_applied;
mod managers;
mod merge;
mod owned;
mod reconcile;
mod remove;
mod scale;
mod set;
mod types;
mod update;
mod validate;
mod wire;

#[allow(unused_imports, reason = "what nothing in the crate calls yet")]
pub(crate) use {
    apply::apply,
    conflict::{ApplyError, Conflict},
    managers::{Manager, keep_times},
    scale::{parent_to_scale, scale_to_parent},
    set::FieldSet,
    types::{TypeRef, Types, builtin_type, builtin_type_named, custom_types},
    update::update,
};
