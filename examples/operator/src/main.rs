//! A whole operator that reports with `lockstep-reporter`.

fn main() {}
