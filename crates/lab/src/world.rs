//! The scripted world: nodes, workloads, operators and people.
