//! Make one object out of a manifest and a live object, where server-side apply cannot work.
