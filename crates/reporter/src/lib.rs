//! For operators: report a ClusterOperator correctly.
