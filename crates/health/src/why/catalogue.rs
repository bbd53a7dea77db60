//! All rules, in the order of their layers and ids.

use std::sync::LazyLock;

use super::layers::TABLES;
use super::rule::Rule;

static ALL: LazyLock<Vec<&'static Rule>> = LazyLock::new(|| TABLES.iter().copied().flatten().collect());

/// Every rule.
pub fn catalogue() -> &'static [&'static Rule] {
    &ALL
}
