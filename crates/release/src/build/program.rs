//! What a program for Linux says about itself: for which processor it is, and what it needs to start. Pure.

/// A program in the format of Linux.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The processor, as image configurations call it.
    pub architecture: &'static str,
    /// The loader that must be there to start it; none when it is linked statically.
    pub loader: Option<String>,
}

/// Offsets in the header of a program of 64 bits.
const MACHINE: usize = 18;
const HEADERS_AT: usize = 32;
const HEADER_SIZE: usize = 54;
const HEADER_COUNT: usize = 56;
/// The program header that names the loader.
const INTERPRETER: u64 = 3;

// === impl Program ===

impl Program {
    /// Reads the headers of a program.
    ///
    /// # Errors
    /// When these bytes are no program of 64 bits, or one for a processor that no image knows.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        if bytes.get(..4) != Some(b"\x7fELF") || bytes.get(4) != Some(&2) {
            return Err("this is no program for Linux with 64 bits".to_owned());
        }
        let numbers = Numbers { bytes, is_little: bytes.get(5) == Some(&1) };
        let machine = numbers.at(MACHINE, 2).ok_or("the program ends in its header")?;
        let architecture = match (machine, numbers.is_little) {
            (62, true) => "amd64",
            (183, true) => "arm64",
            (21, true) => "ppc64le",
            (22, false) => "s390x",
            (243, true) => "riscv64",
            _ => {
                return Err(format!(
                    "the program is for machine {machine}, which no image architecture is known for"
                ));
            }
        };
        Ok(Self { architecture, loader: numbers.loader() })
    }
}

/// Numbers in the byte order of a program.
struct Numbers<'a> {
    bytes: &'a [u8],
    is_little: bool,
}

// === impl Numbers ===

impl Numbers<'_> {
    fn at(&self, offset: usize, size: usize) -> Option<u64> {
        let bytes = self.bytes.get(offset..offset.checked_add(size)?)?;
        let add = |sum: u64, byte: &u8| (sum << 8) | u64::from(*byte);
        Some(if self.is_little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) })
    }

    fn index(&self, offset: usize, size: usize) -> Option<usize> {
        usize::try_from(self.at(offset, size)?).ok()
    }

    fn loader(&self) -> Option<String> {
        let (start, size) = (self.index(HEADERS_AT, 8)?, self.index(HEADER_SIZE, 2)?);
        for number in 0..self.index(HEADER_COUNT, 2)? {
            let header = start.checked_add(number.checked_mul(size)?)?;
            if self.at(header, 4)? == INTERPRETER {
                let (from, length) = (self.index(header + 8, 8)?, self.index(header + 32, 8)?);
                let name = self.bytes.get(from..from.checked_add(length)?)?;
                let name = String::from_utf8_lossy(name);
                return Some(name.trim_end_matches('\0').to_owned());
            }
        }
        None
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The smallest bytes that are read as a program.
    pub(crate) fn a_program(loader: Option<&str>) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[MACHINE] = 62;
        bytes[HEADERS_AT] = 64;
        bytes[HEADER_SIZE] = 56;
        if let Some(loader) = loader {
            bytes[HEADER_COUNT] = 1;
            let mut header = vec![0; 56];
            header[0] = 3;
            header[8] = 120;
            header[32] = u8::try_from(loader.len() + 1).unwrap();
            bytes.extend(header);
            bytes.extend(loader.as_bytes());
            bytes.push(0);
        }
        bytes
    }

    #[test]
    fn a_static_program_names_no_loader_and_a_dynamic_one_does() {
        let fixed = Program::read(&a_program(None)).unwrap();
        assert_eq!(fixed, Program { architecture: "amd64", loader: None });
        let loaded = Program::read(&a_program(Some("/lib64/ld-linux-x86-64.so.2"))).unwrap();
        assert_eq!(loaded.loader.as_deref(), Some("/lib64/ld-linux-x86-64.so.2"));
    }

    #[test]
    fn this_very_program_is_read() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(Program::read(&own).is_ok());
    }

    #[test]
    fn what_is_no_program_or_is_cut_off_is_refused_or_has_no_loader() {
        assert!(Program::read(b"#!/bin/sh").is_err());
        assert!(Program::read(b"\x7fELF\x01\x01").is_err());
        assert!(Program::read(b"\x7fELF\x02\x01").is_err());
        let whole = a_program(Some("/lib/x"));
        for length in 0..whole.len() {
            let read = Program::read(&whole[..length]);
            assert!(read.is_err() || read.is_ok_and(|it| it.loader.is_none()));
        }
    }
}
