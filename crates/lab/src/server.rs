//! The API server: requests in, answers out.

pub(crate) mod resource;
