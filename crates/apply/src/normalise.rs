//! The form of a manifest that the server stores unchanged.
