//! Lines of a body that comes in pieces of any size.

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use http_body_util::BodyExt as _;
use kube::client::Body;

use crate::refusal::Refusal;

/// The longest line: an object has at most a few megabytes, so this is no object.
const LONGEST: usize = 64 << 20;

/// The lines of an answer, one after the other.
pub(super) struct Lines {
    body: BoxStream<'static, Result<Bytes, Refusal>>,
    /// What came last and was not read yet.
    chunk: Bytes,
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
}

// === impl Lines ===

impl Lines {
    pub(super) fn new(body: Body) -> Self {
        Self::of(body.into_data_stream().map(|chunk| chunk.map_err(|error| Refusal::of(&error))).boxed())
    }

    fn of(body: BoxStream<'static, Result<Bytes, Refusal>>) -> Self {
        Self { body, chunk: Bytes::new(), begun: Vec::new() }
    }

    /// The next line that is not empty; nothing at the end. What stands after the last end of a line was cut off, and is
    /// no line.
    ///
    /// It can be dropped while it waits: nothing is lost.
    pub(super) async fn next(&mut self) -> Option<Result<Bytes, Refusal>> {
        loop {
            if let Some(end) = self.chunk.iter().position(|byte| *byte == b'\n') {
                let rest = self.chunk.split_off(end + 1);
                let mut piece = std::mem::replace(&mut self.chunk, rest);
                piece.truncate(end);
                let line = if self.begun.is_empty() {
                    piece
                } else {
                    self.begun.extend_from_slice(&piece);
                    // The buffer goes with the line: one large object does not leave a large buffer behind.
                    Bytes::from(std::mem::take(&mut self.begun))
                };
                if !line.is_empty() {
                    return Some(Ok(line));
                }
                continue;
            }
            if self.begun.len() + self.chunk.len() > LONGEST {
                let message = format!("an event of the watch is longer than {} MiB", LONGEST >> 20);
                return Some(Err(Refusal::Other { code: 200, reason: String::new(), message }));
            }
            self.begun.extend_from_slice(&std::mem::take(&mut self.chunk));
            match self.body.next().await? {
                Ok(chunk) => self.chunk = chunk,
                Err(refusal) => return Some(Err(refusal)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;
    use futures::stream;
    use proptest::prelude::*;

    use super::*;

    fn read(chunks: Vec<Vec<u8>>) -> Vec<String> {
        let chunks = chunks.into_iter().map(|chunk| Ok(Bytes::from(chunk)));
        let mut lines = Lines::of(stream::iter(chunks).boxed());
        let mut read = Vec::new();
        while let Some(line) = block_on(lines.next()) {
            read.push(String::from_utf8(line.unwrap().to_vec()).unwrap());
        }
        read
    }

    #[test]
    fn a_line_that_was_cut_off_is_no_line() {
        assert_eq!(read(vec![b"one\ntw".to_vec(), b"o\n\nthr".to_vec(), b"ee".to_vec()]), ["one", "two"]);
    }

    #[test]
    fn a_line_without_end_is_an_error_and_not_all_of_the_memory() {
        let endless = stream::repeat_with(|| Ok(Bytes::from(vec![b'x'; 1 << 20]))).boxed();
        let mut lines = Lines::of(endless);
        assert!(matches!(block_on(lines.next()), Some(Err(Refusal::Other { .. }))));
    }

    proptest! {
        #[test]
        fn where_pieces_end_does_not_matter(text in "[a\n]{0,60}", cuts in prop::collection::vec(1_usize..9, 1..60)) {
            let mut rest = text.as_bytes();
            let mut chunks = Vec::new();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, other) = rest.split_at((*cut).min(rest.len()));
                chunks.push(piece.to_vec());
                rest = other;
            }
            let whole = text.rsplit_once('\n').map(|(whole, _)| whole).unwrap_or_default();
            let expected: Vec<&str> = whole.split('\n').filter(|line| !line.is_empty()).collect();
            prop_assert_eq!(read(chunks), expected);
        }
    }
}
