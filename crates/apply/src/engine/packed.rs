//! Objects at rest: a release of a thousand manifests is kept as one megabyte.

use std::io::{Read as _, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde_json::Value;

/// An object as deflated JSON with sorted keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packed(Box<[u8]>);

// === impl Packed ===

impl Packed {
    /// Packs an object.
    pub(crate) fn of(object: &Value) -> Self {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(object.to_string().as_bytes()).expect("invariant: a vector takes everything");
        Self(encoder.finish().expect("invariant: a vector takes everything").into_boxed_slice())
    }

    /// The JSON text.
    pub(crate) fn text(&self) -> Bytes {
        let mut text = Vec::new();
        DeflateDecoder::new(&*self.0).read_to_end(&mut text).expect("invariant: it was packed here");
        text.into()
    }

    /// The object.
    pub(crate) fn object(&self) -> Value {
        serde_json::from_slice(&self.text()).expect("invariant: it was packed here")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_packed_comes_out_unchanged_and_smaller() {
        let object =
            json!({"kind": "ConfigMap", "data": {"a": "x".repeat(10_000), "number": "1.0"}, "n": 1.5});
        let packed = Packed::of(&object);
        assert_eq!(packed.object(), object);
        assert!(packed.0.len() < 200);
    }
}
