//! Runs a Frontier against a cluster.
