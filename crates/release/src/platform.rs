//! For which system an image is, and which one of several is wanted.

use std::fmt;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::image::{Descriptor, Index};

/// Operating system, processor and its variant, in Go's words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    /// `linux`, `darwin`, …
    #[serde(default)]
    pub os: String,
    /// `amd64`, `arm64`, …
    #[serde(default)]
    pub architecture: String,
    /// `v7`, …
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
}

/// Which images of an index are wanted.
#[derive(Debug, Clone)]
pub enum PlatformFilter {
    /// The one for this processor on Linux: releases run nowhere else.
    Host,
    /// Those whose `os/arch[/variant]` the expression finds something in.
    Matching(Regex),
}

/// Why nothing was chosen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlatformError {
    /// The expression cannot be read.
    #[error("--filter-by-os was not a valid regular expression: {0}")]
    Expression(String),
    /// Nothing is left.
    #[error("filtered all images from manifest list; it has {there}, wanted is {wanted}")]
    Nothing {
        /// What there is.
        there: String,
        /// What was asked for.
        wanted: String,
    },
}

/// This machine's processor in Go's words.
pub fn host_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64le",
        other => other,
    }
}

// === impl Platform ===

impl fmt::Display for Platform {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_unknown = |text: &str| if text.is_empty() { "unknown".to_owned() } else { text.to_owned() };
        write!(formatter, "{}/{}", or_unknown(&self.os), or_unknown(&self.architecture))?;
        if self.variant.is_empty() { Ok(()) } else { write!(formatter, "/{}", self.variant) }
    }
}

// === impl PlatformFilter ===

impl PlatformFilter {
    /// Reads `--filter-by-os`.
    pub fn parse(text: &str) -> Result<Self, PlatformError> {
        Regex::new(text).map(Self::Matching).map_err(|error| PlatformError::Expression(error.to_string()))
    }

    /// The images of a list that are wanted, in its order.
    ///
    /// # Compatibility
    /// A list with one entry is that entry, whatever the host is; an explicit expression always counts.
    pub fn choose<'a>(&self, index: &'a Index) -> Result<Vec<&'a Descriptor>, PlatformError> {
        let platform = |entry: &Descriptor| entry.platform.clone().unwrap_or_default();
        let (chosen, wanted): (Vec<_>, String) = match self {
            Self::Host => {
                let arch = host_architecture();
                let is_host = |entry: &&Descriptor| {
                    let platform = platform(entry);
                    platform.os == "linux" && platform.architecture == arch
                };
                if let [only] = index.manifests.as_slice() {
                    return Ok(vec![only]);
                }
                (index.manifests.iter().filter(is_host).collect(), format!("linux/{arch}"))
            }
            Self::Matching(expression) => {
                let matches = |entry: &&Descriptor| expression.is_match(&platform(entry).to_string());
                (index.manifests.iter().filter(matches).collect(), expression.to_string())
            }
        };
        if chosen.is_empty() {
            let there: Vec<String> =
                index.manifests.iter().map(|entry| platform(entry).to_string()).collect();
            let there = if there.is_empty() { "no image".to_owned() } else { there.join(", ") };
            return Err(PlatformError::Nothing { there, wanted });
        }
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;

    fn index(platforms: &[&str]) -> Index {
        let entry = |text: &&str| {
            let mut parts = text.split('/').map(str::to_owned);
            let mut next = || parts.next().unwrap_or_default();
            let platform = Platform { os: next(), architecture: next(), variant: next() };
            let mut entry = Descriptor::new("m", Digest::of(text.as_bytes()), 1);
            entry.platform = Some(platform);
            entry
        };
        Index {
            schema_version: 2,
            media_type: String::new(),
            manifests: platforms.iter().map(entry).collect(),
            annotations: std::collections::BTreeMap::default(),
        }
    }

    fn chosen(filter: &PlatformFilter, platforms: &[&str]) -> Result<Vec<String>, String> {
        let index = index(platforms);
        let chosen = filter.choose(&index).map_err(|error| error.to_string())?;
        Ok(chosen.into_iter().map(|entry| entry.platform.clone().unwrap_or_default().to_string()).collect())
    }

    #[test]
    fn texts_say_what_is_unknown() {
        let platform = |os: &str, architecture: &str| {
            Platform { os: os.into(), architecture: architecture.into(), variant: String::new() }.to_string()
        };
        assert_eq!(platform("", ""), "unknown/unknown");
        assert_eq!(platform("", "amd64"), "unknown/amd64");
        assert_eq!(platform("linux", ""), "linux/unknown");
    }

    #[test]
    fn an_expression_finds_variants_and_the_host_takes_a_lonely_image() {
        let arm = PlatformFilter::parse("linux/arm").unwrap();
        let all = ["linux/amd64", "linux/arm/v7", "linux/arm64", "linux/s390x"];
        assert_eq!(chosen(&arm, &all).unwrap(), ["linux/arm/v7", "linux/arm64"]);
        assert_eq!(chosen(&PlatformFilter::Host, &["linux/strange"]).unwrap(), ["linux/strange"]);
        let error = chosen(&PlatformFilter::parse("^windows").unwrap(), &all).unwrap_err();
        assert!(error.starts_with("filtered all images from manifest list; it has linux/amd64, "), "{error}");
        assert!(chosen(&PlatformFilter::Host, &[]).unwrap_err().contains("no image"));
        assert!(PlatformFilter::parse("(").unwrap_err().to_string().starts_with("--filter-by-os"));
    }
}
