//! What an answer that is not a success means.
