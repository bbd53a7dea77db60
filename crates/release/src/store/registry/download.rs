//! Blobs from a registry, from any position on.

use std::future;

use futures::{StreamExt as _, stream};
use reqwest::{Method, header};

use super::auth::Scope;
use super::host::{Ask, Target};
use super::place::Place;
use crate::image::Descriptor;
use crate::store::{Blob, StoreError};

/// The bytes of a blob from a position on, as they come.
pub(super) async fn read(place: &Place, blob: &Descriptor, from: u64) -> Result<Blob, StoreError> {
    let what = format!("{place}: the blob {}", blob.digest);
    let path = Target::Path(format!("{}/blobs/{}", place.path(), blob.digest));
    let mut ask = Ask::new(Method::GET, path, Scope::pull(&place.path()), &what);
    if from > 0 {
        ask = ask.header(header::RANGE, &format!("bytes={from}-"));
    }
    let answer = place.ask(&ask).await?;
    let status = answer.status().as_u16();
    match status {
        200 => Ok(skip(answer.stream(what), from)),
        206 => {
            let range = answer.header("content-range").unwrap_or_default();
            match begin(&range) {
                Some(at) if at <= from => Ok(skip(answer.stream(what), from - at)),
                _ => Err(StoreError::Network {
                    what,
                    why: format!("asked for bytes from {from}, got {range:?}"),
                }),
            }
        }
        // Nothing is behind the last byte.
        416 if from >= blob.size => Ok(stream::empty().boxed()),
        404 => {
            Err(StoreError::NotFound { what: format!("the blob {}", blob.digest), store: place.to_string() })
        }
        _ => Err(answer.failed(&what).await),
    }
}

/// Where a `Content-Range: bytes 5-9/10` begins.
fn begin(range: &str) -> Option<u64> {
    range.strip_prefix("bytes")?.trim_start().split_once('-')?.0.parse().ok()
}

/// Leaves out the first bytes, for servers that begin at the beginning whatever they are asked.
fn skip(body: Blob, count: u64) -> Blob {
    if count == 0 {
        return body;
    }
    let mut left = count;
    body.map(move |piece| {
        let mut piece = piece?;
        let skipped = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        left -= skipped as u64;
        Ok(piece.split_off(skipped))
    })
    .filter(|piece| future::ready(!matches!(piece, Ok(piece) if piece.is_empty())))
    .boxed()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn the_begin_of_a_range_is_read() {
        assert_eq!(begin("bytes 5-9/10"), Some(5));
        assert_eq!(begin("bytes 0-9/*"), Some(0));
        assert_eq!(begin("bytes */10"), None);
        assert_eq!(begin("pages 5-9"), None);
    }

    #[tokio::test]
    async fn bytes_that_were_not_asked_for_are_left_out() {
        let pieces = ["abc", "def", "ghi"].map(|piece| Ok(Bytes::from(piece)));
        let rest: Vec<_> = skip(stream::iter(pieces).boxed(), 4).map(Result::unwrap).collect().await;
        assert_eq!(rest, ["ef", "ghi"]);
    }
}
