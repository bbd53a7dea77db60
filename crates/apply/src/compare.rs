//! Whether a live object is as its manifest says, and what to send when it is not.
