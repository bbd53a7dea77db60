//! What a write changes, field by field, with secrets masked.
