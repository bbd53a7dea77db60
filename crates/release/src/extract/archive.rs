//! Packs programs, the same way each time: tar.gz for Unix, zip for Windows.

use std::io;

use flate2::{Compression, Crc, GzBuilder};

/// A file in an archive.
#[derive(Debug, Clone, Copy)]
pub struct Packed<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it is a program.
    pub executable: bool,
    /// Its content; none for a second name of the file before it.
    pub content: Option<&'a [u8]>,
}

/// A tar, compressed with gzip.
///
/// # Errors
/// A name that no tar can hold.
pub fn tar_gz(files: &[Packed<'_>], modified: u64) -> io::Result<Vec<u8>> {
    let out = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
    let mut tar = tar::Builder::new(out);
    let mut before = "";
    for file in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(if file.executable { 0o755 } else { 0o644 });
        header.set_mtime(modified);
        header.set_uid(0);
        header.set_gid(0);
        if let Some(content) = file.content {
            header.set_size(content.len() as u64);
            tar.append_data(&mut header, file.name, content)?;
            before = file.name;
        } else {
            header.set_entry_type(tar::EntryType::Link);
            header.set_size(0);
            tar.append_link(&mut header, file.name, before)?;
        }
    }
    tar.into_inner()?.finish()
}

/// A zip whose files are stored as they are; a second name of a file is the file again.
///
/// # Errors
/// More than a zip of the old form can hold: 4 GiB.
pub fn zip(files: &[Packed<'_>]) -> io::Result<Vec<u8>> {
    /// 1 January 1980, the first day of zip.
    const DATE: u16 = 0x21;
    const UTF8: u16 = 1 << 11;
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, "too large for a zip archive");
    let small = |size: usize| u32::try_from(size).map_err(|_| too_large());
    let short = |size: usize| u16::try_from(size).map_err(|_| too_large());
    let (mut out, mut list, mut before): (Vec<u8>, Vec<u8>, &[u8]) = (Vec::new(), Vec::new(), &[]);
    for file in files {
        let content = file.content.unwrap_or(before);
        before = content;
        let mut crc = Crc::new();
        crc.update(content);
        let mut common = Vec::new();
        for word in [10, UTF8, 0, 0, DATE] {
            common.extend(u16::to_le_bytes(word));
        }
        for number in [crc.sum(), small(content.len())?, small(content.len())?] {
            common.extend(number.to_le_bytes());
        }
        common.extend(short(file.name.len())?.to_le_bytes());
        common.extend(0_u16.to_le_bytes());
        let place = small(out.len())?;
        out.extend(b"PK\x03\x04");
        out.extend(&common);
        out.extend(file.name.as_bytes());
        out.extend(content);
        let mode: u32 = if file.executable { 0o100_755 } else { 0o100_644 };
        // Made by Unix (3), so that the permissions count.
        list.extend(b"PK\x01\x02\x14\x03");
        list.extend(&common);
        list.extend([0; 6]);
        list.extend((mode << 16).to_le_bytes());
        list.extend(place.to_le_bytes());
        list.extend(file.name.as_bytes());
    }
    let (place, size, count) = (small(out.len())?, small(list.len())?, short(files.len())?);
    out.extend(&list);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend(size.to_le_bytes());
    out.extend(place.to_le_bytes());
    out.extend(0_u16.to_le_bytes());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    const FILES: [Packed<'static>; 3] = [
        Packed { name: "README.md", executable: false, content: Some(b"hello\n") },
        Packed { name: "oc", executable: true, content: Some(b"program") },
        Packed { name: "kubectl", executable: true, content: None },
    ];

    #[test]
    fn a_tar_holds_the_files_and_a_link_and_is_the_same_each_time() {
        let packed = tar_gz(&FILES, 5).unwrap();
        assert_eq!(packed, tar_gz(&FILES, 5).unwrap());
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(&packed[..]));
        let found: Vec<_> = tar
            .entries()
            .unwrap()
            .map(|entry| {
                let mut entry = entry.unwrap();
                let mut text = String::new();
                entry.read_to_string(&mut text).unwrap();
                let link = entry.link_name().unwrap().map(|link| link.display().to_string());
                (entry.path().unwrap().display().to_string(), entry.header().mode().unwrap(), link, text)
            })
            .collect();
        let row = |name: &str, mode, link: Option<&str>, text: &str| {
            (name.to_owned(), mode, link.map(str::to_owned), text.to_owned())
        };
        assert_eq!(
            found,
            [
                row("README.md", 0o644, None, "hello\n"),
                row("oc", 0o755, None, "program"),
                row("kubectl", 0o755, Some("oc"), ""),
            ]
        );
    }

    #[test]
    fn a_zip_ends_with_a_list_of_its_files() {
        let packed = zip(&FILES[..2]).unwrap();
        assert!(packed.starts_with(b"PK\x03\x04"));
        let end = &packed[packed.len() - 22..];
        assert!(end.starts_with(b"PK\x05\x06"));
        assert_eq!((end[8], end[10]), (2, 2));
        let place = u32::from_le_bytes(end[16..20].try_into().unwrap()) as usize;
        assert!(packed[place..].starts_with(b"PK\x01\x02"));
    }
}
