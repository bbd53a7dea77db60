//! Custom resources: definitions, schemas, pruning, defaults, validation.
