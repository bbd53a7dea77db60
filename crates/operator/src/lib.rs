//! Inside a cluster: brings it to the release that its ClusterVersion asks for, keeps it there, and reports.
