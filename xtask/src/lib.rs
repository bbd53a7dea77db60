//! Checks, generation, benchmarks and a real Kubernetes for the suites.
