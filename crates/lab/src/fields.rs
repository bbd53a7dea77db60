//! Who owns which field: server-side apply and `managedFields`.
//!
//! Everything here is a function from values to values. A [`TypeRef`] says how the values of a kind merge; [`apply`] is
//! what an apply request does to an object, [`update`] what every other write does to its `managedFields`:
//!
//! ```text
//! patch, live ──validate──▶ merge ──▶ prune ──▶ compare ──▶ settle who owns what ──▶ object with managedFields
//! ```

mod apply;
mod compare;
mod conflict;
mod element;
mod golang;
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

pub(crate) use apply::apply;
pub(crate) use conflict::{ApplyError, Conflict};
pub(crate) use managers::{Manager, keep_times};
pub(crate) use scale::{parent_to_scale, scale_to_parent};
pub(crate) use set::FieldSet;
pub(crate) use types::{TypeRef, Types, builtin_type, custom_types};
pub(crate) use update::update;
