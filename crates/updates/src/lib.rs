//! Where a cluster may go next: what is asked for, what speaks against it, and what was accepted.
//!
//! [`request::resolve`] tells which release the ClusterVersion asks for, [`precondition::check`] what speaks against going
//! there, and [`upgradeable::risks`] what speaks against leaving the minor version at all. Everything is a function of
//! values: no clock, no network. [`ask`], [`follow`] and [`state`] are for the person at the keyboard: what is asked for, what
//! became of it, and how things are.

pub mod ask;
pub mod follow;
pub mod precondition;
pub mod request;
pub mod state;
pub mod upgradeable;
mod version;
