//! All objects of a kind, and every change to them.
