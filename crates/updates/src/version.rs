//! Versions of releases as numbers.

use std::cmp::Ordering;

use semver::Version;

/// A release's version, if it is a semantic one.
pub(crate) fn parse(text: &str) -> Option<Version> {
    Version::parse(text).ok()
}

/// Which of two versions is older; what stands behind a `+` does not count.
pub(crate) fn compare(one: &Version, other: &Version) -> Ordering {
    one.cmp_precedence(other)
}

/// Major and minor, which decide whether an update is more than a patch.
pub(crate) fn minor(version: &Version) -> (u64, u64) {
    (version.major, version.minor)
}
