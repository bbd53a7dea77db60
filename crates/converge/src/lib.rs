//! From outside the cluster: wait, tell, explain.

pub mod conformance;
