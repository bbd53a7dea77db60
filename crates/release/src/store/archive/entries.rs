//! The tar format as far as an archive of images needs it: where the content is, and headers that are always the same.
//!
//! Bodies are passed over, and a size is believed only as far as the file goes. What is neither a blob nor a file of the layout
//! is passed over too, whatever its name or kind.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};

use tar::{EntryType, Header};

use crate::digest::Digest;
use crate::store::layout::{INDEX, MARKER};

/// Everything in a tar is a multiple of this, in bytes.
pub(super) const BLOCK: u64 = 512;
/// Longest name in a header, in bytes.
const NAME: usize = 100;
/// Largest header extension that is read, in bytes.
const MAX_EXTENSION: u64 = 64 * 1024;
/// Most bytes behind the end that are looked at; other programs fill up to 10 KiB.
const MAX_FILL: u64 = 1024 * 1024;

/// A part of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) offset: u64,
    pub(super) size: u64,
}

/// What a file holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Contents {
    pub(super) blobs: HashMap<Digest, Span>,
    /// The last list of images.
    pub(super) index: Option<Span>,
    pub(super) has_marker: bool,
    /// Whether it is what `docker save` writes.
    pub(super) is_docker: bool,
    /// Where the last whole entry ends.
    pub(super) end: u64,
    /// Whether the end is marked as such, and nothing but zeros follows.
    pub(super) is_closed: bool,
}

/// Why a file is no tar.
#[derive(Debug)]
pub(super) enum ScanError {
    Io(io::Error),
    /// What is wrong, and where.
    Format(String),
}

/// What the headers before an entry say about it.
#[derive(Debug, Default)]
struct Extensions {
    path: Option<String>,
    size: Option<u64>,
}

// === impl Contents ===

impl Contents {
    /// Looks through a file. An entry that the file ends in the middle of is left out.
    pub(super) fn scan(file: &mut (impl Read + Seek)) -> Result<Self, ScanError> {
        let length = file.seek(SeekFrom::End(0))?;
        file.rewind()?;
        let mut contents = Self::default();
        let mut extensions = Extensions::default();
        let mut at = 0;
        while at + BLOCK <= length {
            let mut block = [0; 512];
            file.read_exact(&mut block)?;
            if block == [0; 512] {
                contents.is_closed = is_all_zero(file, length - at - BLOCK)?;
                break;
            }
            let header = Header::from_byte_slice(&block);
            let size = checked_size(&block, header).map_err(|why| {
                ScanError::Format(if at == 0 { why } else { format!("at byte {at}: {why}") })
            })?;
            let kind = header.entry_type();
            let size = extensions.size.take().filter(|_| !is_extension(kind)).unwrap_or(size);
            let body = Span { offset: at + BLOCK, size };
            let Some(next) = padded(size).and_then(|size| body.offset.checked_add(size)) else { break };
            if next > length {
                break;
            }
            if is_extension(kind) {
                extensions.read(file, kind, size)?;
            } else {
                let path = extensions.path.take();
                let path = path.unwrap_or_else(|| String::from_utf8_lossy(&header.path_bytes()).into_owned());
                if kind.is_file() {
                    contents.enter(&path, body);
                }
                // An extension without its entry is not whole.
                contents.end = next;
            }
            file.seek(SeekFrom::Start(next))?;
            at = next;
        }
        Ok(contents)
    }

    fn enter(&mut self, path: &str, body: Span) {
        let path = path.strip_prefix("./").unwrap_or(path);
        match path {
            MARKER => self.has_marker = true,
            INDEX => self.index = Some(body),
            "manifest.json" => self.is_docker = true,
            _ => {
                let digest = path.strip_prefix("blobs/").and_then(|rest| rest.split_once('/'));
                let digest = digest.and_then(|(kind, hex)| Digest::parse(&format!("{kind}:{hex}")).ok());
                if let Some(digest) = digest {
                    self.blobs.insert(digest, body);
                }
            }
        }
    }
}

// === impl Extensions ===

impl Extensions {
    /// Reads a name that was too long or a size that was too large for the header.
    fn read(&mut self, file: &mut impl Read, kind: EntryType, size: u64) -> Result<(), ScanError> {
        if kind.is_pax_global_extensions() {
            return Ok(());
        }
        if size > MAX_EXTENSION {
            return Err(ScanError::Format(format!("a header extension of {size} bytes")));
        }
        let mut bytes = Vec::new();
        file.take(size).read_to_end(&mut bytes)?;
        if kind.is_gnu_longname() {
            let text = String::from_utf8_lossy(&bytes);
            self.path = Some(text.trim_end_matches('\0').to_owned());
            return Ok(());
        }
        for record in tar::PaxExtensions::new(&bytes).flatten() {
            match (record.key(), record.value()) {
                (Ok("path"), Ok(path)) => self.path = Some(path.to_owned()),
                (Ok("size"), Ok(size)) => {
                    let wrong = |_| ScanError::Format(format!("the size {size:?} is no number"));
                    self.size = Some(size.parse().map_err(wrong)?);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn is_extension(kind: EntryType) -> bool {
    kind.is_pax_local_extensions() || kind.is_pax_global_extensions() || kind.is_gnu_longname()
}

/// The size that a header says, if the header is one.
fn checked_size(block: &[u8; 512], header: &Header) -> Result<u64, String> {
    match block {
        [0x1f, 0x8b, ..] => return Err("it is compressed with gzip; unpack it with gunzip first".to_owned()),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            return Err("it is compressed with zstd; unpack it with unzstd first".to_owned());
        }
        _ => {}
    }
    let sum: u32 = block
        .iter()
        .enumerate()
        .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u32::from(*byte) })
        .sum();
    if header.cksum().ok() != Some(sum) {
        return Err("it is no tar archive".to_owned());
    }
    header.entry_size().map_err(|error| error.to_string())
}

/// A size with what fills the last block.
pub(super) fn padded(size: u64) -> Option<u64> {
    size.checked_next_multiple_of(BLOCK)
}

fn is_all_zero(file: &mut impl Read, left: u64) -> io::Result<bool> {
    if left > MAX_FILL {
        return Ok(false);
    }
    let mut rest = Vec::new();
    file.take(left).read_to_end(&mut rest)?;
    Ok(rest.iter().all(|byte| *byte == 0))
}

/// The path of a blob.
pub(super) fn blob_path(digest: &Digest) -> String {
    format!("blobs/{}/{}", digest.algorithm(), digest.hex())
}

/// The header of a regular file; always the same for the same path and size.
pub(super) fn header(path: &str, size: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if path.len() > NAME {
        // A name that is too long is an entry of its own before the file.
        let long = plain("././@LongLink", path.len() as u64 + 1, EntryType::GNULongName);
        bytes.extend_from_slice(long.as_bytes());
        bytes.extend_from_slice(path.as_bytes());
        let filled = bytes.len() + 1;
        bytes.resize(filled.next_multiple_of(512), 0);
    }
    bytes.extend_from_slice(plain(path, size, EntryType::Regular).as_bytes());
    bytes
}

fn plain(path: &str, size: u64, kind: EntryType) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    for (to, from) in header.as_old_mut().name.iter_mut().zip(path.bytes()) {
        *to = from;
    }
    header.set_cksum();
    header
}

/// A whole entry of few bytes.
pub(super) fn entry(path: &str, content: &[u8]) -> Vec<u8> {
    let mut bytes = header(path, content.len() as u64);
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn scan(bytes: &[u8]) -> Result<Contents, String> {
        Contents::scan(&mut Cursor::new(bytes)).map_err(|error| match error {
            ScanError::Io(error) => error.to_string(),
            ScanError::Format(why) => why,
        })
    }

    #[test]
    fn what_is_written_is_found_and_the_last_list_counts() {
        let digest = Digest::of(b"abc");
        let long = Digest::parse(&format!("sha512:{}", "0".repeat(128))).unwrap();
        let bytes = [
            entry(MARKER, b"{}"),
            entry(INDEX, b"1"),
            entry(&blob_path(&digest), b"abc"),
            entry(&blob_path(&long), b"long"),
            entry("./index.json", b"22"),
            vec![0; 1024],
        ]
        .concat();
        let contents = scan(&bytes).unwrap();
        assert_eq!(contents.blobs[&digest], Span { offset: 5 * 512, size: 3 });
        assert_eq!(contents.blobs[&long].size, 4);
        assert_eq!(contents.index.map(|span| span.size), Some(2));
        assert!(contents.has_marker && contents.is_closed);
        assert_eq!(contents.end, bytes.len() as u64 - 1024);
    }

    #[test]
    fn links_odd_names_and_folders_are_passed_over() {
        let digest = Digest::of(b"abc");
        let mut link = Header::new_gnu();
        link.set_entry_type(EntryType::Symlink);
        link.set_size(0);
        link.set_path(blob_path(&digest)).unwrap();
        link.set_link_name("/etc/passwd").unwrap();
        link.set_cksum();
        let bytes =
            [link.as_bytes().to_vec(), entry("blobs/sha256/../../x", b"x"), entry("blobs/sha256/zz", b"x")]
                .concat();
        let contents = scan(&bytes).unwrap();
        assert!(contents.blobs.is_empty());
        assert_eq!(contents.end, bytes.len() as u64);
    }

    #[test]
    fn a_size_beyond_the_file_ends_the_search() {
        let digest = Digest::of(b"abc");
        for size in [600, 1 << 40, u64::MAX] {
            let bytes = [entry(MARKER, b"{}"), header(&blob_path(&digest), size), vec![1; 512]].concat();
            let contents = scan(&bytes).unwrap();
            assert!(contents.blobs.is_empty() && contents.end == 1024 && !contents.is_closed, "{size}");
        }
    }

    #[test]
    fn sizes_of_more_than_eight_gigabytes_are_written_and_read() {
        let block: [u8; 512] = header("a", 9 << 30).try_into().unwrap();
        assert_eq!(checked_size(&block, Header::from_byte_slice(&block)), Ok(9 << 30));
    }

    #[test]
    fn what_is_no_tar_says_what_it_is() {
        let gzip = [&[0x1f, 0x8b][..], &[7; 600]].concat();
        assert!(scan(&gzip).unwrap_err().contains("gunzip"));
        assert!(scan(&[b'x'; 600]).unwrap_err().contains("no tar archive"));
        let broken = [entry(MARKER, b"{}"), vec![b'x'; 512]].concat();
        assert!(scan(&broken).unwrap_err().contains("at byte 1024"));
    }
}
