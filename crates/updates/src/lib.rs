//! Where a cluster may go next: what is asked for, what speaks against it, and what was accepted.
