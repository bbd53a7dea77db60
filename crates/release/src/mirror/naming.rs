//! Which images a release has, and what each is called where it is mirrored to.
//!
//! All images go to one repository: `VERSION-ARCH` is the release, `VERSION-ARCH-COMPONENT` an image of it, and
//! `ALGORITHM-HEX.sig` the signature of the image with that digest.

use lockstep_payload::images::ImageReferences;

use crate::digest::{Digest, DigestError};
use crate::reference::{PullSpec, ReferenceError, check_tag};

/// The suffix of the tag that holds the signatures of an image.
pub const SIGNATURE: &str = ".sig";
/// Suffixes of what an image that is signed may have as well: attestations and a list of what it is made of.
pub const BESIDE_SIGNATURE: [&str; 2] = [".att", ".sbom"];

/// What an image is in a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// One of those that `image-references` names.
    Component,
    /// What somebody said of another image, under a tag that is made of its digest.
    Signature,
    /// The release image itself.
    Release,
}

/// An image that `image-references` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// The name of its tag in `image-references`.
    pub name: String,
    /// Where it comes from.
    pub source: PullSpec,
    /// Its digest.
    pub digest: Digest,
}

/// What the tags of a release begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    prefix: String,
}

/// Why a release cannot be mirrored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamingError {
    /// An image that can change behind its name.
    #[error("image-references should only contain pointers to images by digest: {0}")]
    NoDigest(String),
    /// A digest that is none.
    #[error("release tag {name:?} is not valid: {why}")]
    Digest {
        /// The tag of `image-references`.
        name: String,
        /// What is wrong.
        why: DigestError,
    },
    /// A pull spec that is none.
    #[error("release tag {name:?} is not valid: {why}")]
    Reference {
        /// The tag of `image-references`.
        name: String,
        /// What is wrong.
        why: ReferenceError,
    },
    /// A name that no tag can have.
    #[error("{what} cannot be mirrored: {why}")]
    Tag {
        /// What has the name.
        what: String,
        /// What is wrong.
        why: String,
    },
}

/// The images of a release, by name.
///
/// # Errors
/// The first image that is not named by a digest that can be checked.
pub fn components(references: &ImageReferences) -> Result<Vec<Component>, NamingError> {
    let mut found = Vec::new();
    for (name, text) in references.pull_specs() {
        let Some((_, digest)) = text.split_once('@') else {
            return Err(NamingError::NoDigest(text));
        };
        let digest = Digest::parse(digest).map_err(|why| NamingError::Digest { name: name.clone(), why })?;
        let source =
            PullSpec::parse(&text).map_err(|why| NamingError::Reference { name: name.clone(), why })?;
        found.push(Component { name, source, digest });
    }
    Ok(found)
}

/// How releases name a processor: `x86_64` and `aarch64`, otherwise Go's word.
pub fn architecture(go: &str) -> &str {
    match go {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        "" => "unknown",
        other => other,
    }
}

/// The tag beside an image that is about it: `sha256-….sig`.
pub fn beside(digest: &Digest, suffix: &str) -> String {
    digest.dashed() + suffix
}

// === impl Naming ===

impl Naming {
    /// Names for a version and an architecture.
    ///
    /// A plus in the version becomes an underscore: tags have none.
    pub fn new(version: &str, architecture: &str) -> Result<Self, NamingError> {
        let prefix = format!("{version}-{architecture}").replace('+', "_");
        check_tag(&prefix)
            .map_err(|why| NamingError::Tag { what: format!("the release {version:?}"), why })?;
        Ok(Self { prefix })
    }

    /// The tag of the release image.
    pub fn release(&self) -> &str {
        &self.prefix
    }

    /// The tag of one of its images.
    pub fn component(&self, name: &str) -> Result<String, NamingError> {
        let tag = format!("{}-{name}", self.prefix);
        check_tag(&tag).map_err(|why| NamingError::Tag { what: format!("release tag {name:?}"), why })?;
        Ok(tag)
    }
}

#[cfg(test)]
mod tests {
    use lockstep_payload::images::ImageTag;

    use super::*;

    fn references(tags: &[(&str, Option<&str>)]) -> ImageReferences {
        let tag = |(name, pull_spec): &(&str, Option<&str>)| ImageTag {
            name: (*name).to_owned(),
            pull_spec: pull_spec.map(str::to_owned),
            ..ImageTag::default()
        };
        ImageReferences { tags: tags.iter().map(tag).collect(), ..ImageReferences::default() }
    }

    fn problem(pull_spec: &str) -> String {
        components(&references(&[("test", Some(pull_spec))])).unwrap_err().to_string()
    }

    #[test]
    fn images_are_taken_by_digest_only() {
        let good = format!("src.example.com/ocp/art-dev@{}", Digest::of(b"a"));
        let found = components(&references(&[("b", Some(&good)), ("stream", None), ("a", Some(&good))]));
        let names: Vec<String> = found.unwrap().into_iter().map(|image| image.name).collect();
        assert_eq!(names, ["a", "b"], "what points at no image is left out");
        assert_eq!(
            problem("src.example.com/a:1"),
            "image-references should only contain pointers to images by digest: src.example.com/a:1"
        );
        let short = problem("src.example.com/a@sha256:abc");
        assert!(
            short.starts_with("release tag \"test\" is not valid: invalid checksum digest length"),
            "{short}"
        );
        let name = problem(&format!("A/B@{}", Digest::of(b"")));
        assert!(name.starts_with("release tag \"test\" is not valid: "), "{name}");
        assert!(components(&references(&[])).unwrap().is_empty());
    }

    #[test]
    fn tags_are_version_architecture_and_component() {
        let naming = Naming::new("4.16.15", architecture("amd64")).unwrap();
        assert_eq!(naming.release(), "4.16.15-x86_64");
        assert_eq!(naming.component("etcd").unwrap(), "4.16.15-x86_64-etcd");
        assert_eq!((architecture("arm64"), architecture("s390x")), ("aarch64", "s390x"));
        assert_eq!(Naming::new("4.16.15+a", "multi").unwrap().release(), "4.16.15_a-multi");
        assert!(naming.component("a/b").unwrap_err().to_string().contains("release tag \"a/b\""));
        assert!(Naming::new("../x", "multi").is_err());
        assert!(beside(&Digest::of(b""), SIGNATURE).starts_with("sha256-e3b0"));
    }
}
