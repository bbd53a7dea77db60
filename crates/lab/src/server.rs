//! The API server: requests in, answers out.
