//! Digests of content: `sha256:…` and, where somebody uses it, `sha512:…`.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::Digest as _;

/// The digest of some content, checked for its form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

/// Why a text is no digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// Not of the form `algorithm:hex`.
    #[error("invalid digest {0:?}: wanted `sha256:` and 64 hexadecimal digits")]
    Form(String),
    /// An algorithm that cannot be checked here.
    #[error("unsupported digest algorithm in {0:?}: only sha256 and sha512 can be checked")]
    Algorithm(String),
    /// The wrong number of digits.
    #[error("invalid checksum digest length in {0:?}")]
    Length(String),
}

/// Computes a digest piece by piece.
#[derive(Debug, Clone)]
pub struct Hasher {
    state: State,
    bytes: u64,
}

#[derive(Debug, Clone)]
enum State {
    Sha256(sha2::Sha256),
    Sha512(sha2::Sha512),
}

// === impl Digest ===

impl Digest {
    /// Reads `algorithm:hex`.
    pub fn parse(text: &str) -> Result<Self, DigestError> {
        let form = || DigestError::Form(text.to_owned());
        let (algorithm, hex) = text.split_once(':').ok_or_else(form)?;
        let length = match algorithm {
            "sha256" => 64,
            "sha512" => 128,
            "" => return Err(form()),
            _ => return Err(DigestError::Algorithm(text.to_owned())),
        };
        if !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(form());
        }
        if hex.len() != length {
            return Err(DigestError::Length(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }

    /// The SHA-256 of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::default();
        hasher.update(bytes);
        hasher.finish()
    }

    /// Whether it is the digest of these bytes, whatever its algorithm.
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        let mut hasher = Hasher::like(self);
        hasher.update(bytes);
        hasher.finish() == *self
    }

    /// `sha256:…` as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the colon.
    pub fn algorithm(&self) -> &str {
        self.0.split_once(':').map_or("", |(algorithm, _)| algorithm)
    }

    /// The part behind the colon.
    pub fn hex(&self) -> &str {
        self.0.split_once(':').map_or("", |(_, hex)| hex)
    }

    /// `algorithm-hex`, the form that tags and `ConfigMap`s use.
    pub fn dashed(&self) -> String {
        self.0.replace(':', "-")
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, DigestError> {
        Self::parse(&text)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

// === impl Hasher ===

impl Default for Hasher {
    fn default() -> Self {
        Self { state: State::Sha256(sha2::Sha256::new()), bytes: 0 }
    }
}

impl Hasher {
    /// Computes with the algorithm of a digest that the result will be compared with.
    pub fn like(digest: &Digest) -> Self {
        match digest.algorithm() {
            "sha512" => Self { state: State::Sha512(sha2::Sha512::new()), bytes: 0 },
            _ => Self::default(),
        }
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        match &mut self.state {
            State::Sha256(state) => state.update(bytes),
            State::Sha512(state) => state.update(bytes),
        }
    }

    /// How many bytes were added.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The digest of all bytes that were added.
    pub fn finish(self) -> Digest {
        match self.state {
            State::Sha256(state) => Digest(format!("sha256:{}", hex(&state.finalize()))),
            State::Sha512(state) => Digest(format!("sha512:{}", hex(&state.finalize()))),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|half| char::from(DIGITS[usize::from(half)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn known_digests() {
        assert_eq!(Digest::of(b"").as_str(), EMPTY);
        let parsed = Digest::parse(EMPTY).unwrap();
        assert_eq!((parsed.algorithm(), &parsed.hex()[..4]), ("sha256", "e3b0"));
        assert!(parsed.dashed().starts_with("sha256-e3b0"));
        let long = format!("sha512:{}", "0".repeat(128));
        let mut hasher = Hasher::like(&Digest::parse(&long).unwrap());
        hasher.update(b"abc");
        assert_eq!(hasher.bytes(), 3);
        let found = hasher.finish();
        assert!(found.as_str().starts_with("sha512:ddaf35a193617aba"));
        assert!(found.is_of(b"abc") && !found.is_of(b"abd") && parsed.is_of(b""));
    }

    #[test]
    fn what_is_no_digest_is_refused_with_its_reason() {
        for (text, reason) in [
            ("sha256", "invalid digest"),
            (":abc", "invalid digest"),
            ("md5:abc", "unsupported digest algorithm"),
            ("sha256:abc", "invalid checksum digest length"),
            (&EMPTY.to_uppercase(), "unsupported digest algorithm"),
            (&format!("sha256:{}", "g".repeat(64)), "invalid digest"),
            ("sha256:../../../etc/passwd", "invalid digest"),
        ] {
            let error = Digest::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(reason), "{text}: {error}");
        }
    }
}
