//! Which resource serves a kind, and in which scope.
