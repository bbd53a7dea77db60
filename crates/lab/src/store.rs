//! Objects in order, their versions and the recent events.
