//! Faults on purpose: latency, refusals, lost answers, broken watches, outages.
