//! From outside the cluster: wait with an end, tell how things are, say why they are so.

pub mod conformance;
pub mod gather;
pub mod report;
pub mod sight;
pub mod status;
pub mod wait;
