//! The bytes of a message as fields; what is wrong with them is said in the words of the Go decoder.

/// What is left of a message.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

/// The form of a value, which says where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wire(u8);

const EOF: &str = "unexpected EOF";
const OVERFLOW: &str = "proto: integer overflow";
const LENGTH: &str = "proto: negative length found during unmarshaling";
/// More bits than a number has.
const BITS: u32 = 64;

// === impl Wire ===

impl Wire {
    pub(super) const VARINT: Self = Self(0);
    pub(super) const FIXED64: Self = Self(1);
    pub(super) const BYTES: Self = Self(2);
    const GROUP: Self = Self(3);
    const END: Self = Self(4);
    const FIXED32: Self = Self(5);

    /// Refuses another form than the one that a field has; `field` is what the Go struct calls it.
    pub(super) fn expect(self, wanted: Self, field: impl FnOnce() -> String) -> Result<(), String> {
        if self == wanted {
            return Ok(());
        }
        Err(format!("proto: wrong wireType = {} for field {}", self.0, field()))
    }
}

// === impl Reader ===

impl<'a> Reader<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    pub(super) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// The number of the next field and the form of its value; nothing at the end.
    ///
    /// `message` is what the Go struct is called.
    pub(super) fn tag(&mut self, message: &str) -> Result<Option<(u32, Wire)>, String> {
        if self.is_done() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let wire = wire_of(tag);
        if wire == Wire::END {
            return Err(format!("proto: {message}: wiretype end group for non-group"));
        }
        // The Go decoder keeps 32 bits of the number, with a sign.
        let number = low_32(tag >> 3);
        match u32::try_from(number) {
            Ok(number) if number > 0 => Ok(Some((number, wire))),
            _ => Err(format!("proto: {message}: illegal tag {number} (wire type {tag})")),
        }
    }

    pub(super) fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0;
        let mut shift = 0;
        loop {
            if shift >= BITS {
                return Err(OVERFLOW.into());
            }
            let (&byte, rest) = self.rest.split_first().ok_or(EOF)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
            shift += 7;
        }
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], String> {
        let length = self.varint()?;
        if i64::try_from(length).is_err() {
            return Err(LENGTH.into());
        }
        self.take(usize::try_from(length).map_err(|_| LENGTH)?)
    }

    pub(super) fn double(&mut self) -> Result<f64, String> {
        let bytes = self.take(8)?;
        Ok(bytes.try_into().map(f64::from_le_bytes).unwrap_or_default())
    }

    /// Passes over a value of any form.
    pub(super) fn skip(&mut self, wire: Wire) -> Result<(), String> {
        let mut wire = wire;
        // Groups can be in groups; the depth is counted instead of descended.
        let mut depth = 0_usize;
        loop {
            match wire {
                Wire::VARINT => drop(self.varint()?),
                Wire::FIXED64 => drop(self.take(8)?),
                Wire::BYTES => drop(self.bytes()?),
                Wire::GROUP => depth += 1,
                Wire::END => {
                    depth = depth.checked_sub(1).ok_or("proto: unexpected end of group")?;
                }
                Wire::FIXED32 => drop(self.take(4)?),
                Wire(other) => return Err(format!("proto: illegal wireType {other}")),
            }
            if depth == 0 {
                return Ok(());
            }
            wire = wire_of(self.varint()?);
        }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(EOF)?;
        self.rest = rest;
        Ok(taken)
    }
}

fn wire_of(tag: u64) -> Wire {
    Wire(tag.to_le_bytes()[0] & 7)
}

/// The lower half of a number, with its sign.
pub(super) fn low_32(value: u64) -> i32 {
    let [a, b, c, d, ..] = value.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_bytes_end_where_they_say() {
        let mut reader = Reader::new(&[0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i']);
        assert_eq!(reader.tag("M"), Ok(Some((1, Wire::VARINT))));
        assert_eq!(reader.varint(), Ok(150));
        assert_eq!(reader.tag("M"), Ok(Some((2, Wire::BYTES))));
        assert_eq!(reader.bytes(), Ok(&b"hi"[..]));
        assert_eq!(reader.tag("M"), Ok(None));
    }

    #[test]
    fn wrong_bytes_are_refused_in_the_words_of_the_go_decoder() {
        let tag = |bytes: &[u8]| Reader::new(bytes).tag("Pod").unwrap_err();
        assert_eq!(tag(&[0x80]), "unexpected EOF");
        assert_eq!(tag(&[0xff; 11]), "proto: integer overflow");
        assert_eq!(tag(&[0x0c]), "proto: Pod: wiretype end group for non-group");
        assert_eq!(tag(&[0x02]), "proto: Pod: illegal tag 0 (wire type 2)");
        let negative = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Reader::new(&negative).bytes().unwrap_err(), LENGTH);
        assert_eq!(Reader::new(&[5, 1]).bytes().unwrap_err(), EOF);
        assert_eq!(Reader::new(&[]).skip(Wire(6)).unwrap_err(), "proto: illegal wireType 6");
    }

    #[test]
    fn a_group_in_a_group_is_passed_over_to_its_own_end() {
        // Two groups open, a number, both close, then another field.
        let mut reader = Reader::new(&[0x1b, 0x08, 0x01, 0x1c, 0x1c, 0x08, 0x07]);
        reader.skip(Wire::GROUP).unwrap();
        assert_eq!(reader.tag("M"), Ok(Some((1, Wire::VARINT))));
        let open = vec![0x1b; 1 << 20];
        assert_eq!(Reader::new(&open).skip(Wire::GROUP).unwrap_err(), EOF);
    }
}
