//! Is it well? One verdict per object: good, not yet or bad, with a sentence that says why.
//!
//! Everything here is a function from values to values.

mod verdict;

pub use verdict::{Verdict, Why};
