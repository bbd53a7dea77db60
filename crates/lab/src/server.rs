//! The API server: requests in, answers out.

pub(crate) mod discovery;
pub(crate) mod resource;
