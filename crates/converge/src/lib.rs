//! From outside the cluster: wait, tell, explain.
