//! What a cluster adds to a manifest before it is applied: label, owner, proxy, TLS, API address.
