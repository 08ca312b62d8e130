//! Protobuf on the wire: numbered fields, each a number or bytes.

/// Why bytes are no message, in the words of Kubernetes' generated decoders.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WireError {
    #[error("unexpected EOF")]
    End,
    #[error("proto: integer overflow")]
    Overflow,
    #[error("proto: illegal tag {field} (wire type {kind})")]
    IllegalTag { field: u64, kind: u64 },
    #[error("proto: illegal wireType {0}")]
    IllegalKind(u64),
    /// `field` is the name in Go.
    #[error("proto: wrong wireType = {kind} for field {field}")]
    WrongKind { kind: u64, field: String },
}

/// A field on the wire: a number, or bytes. No known field has a fixed size.
#[derive(Clone, Copy)]
pub(super) struct Wire<'a> {
    kind: u64,
    number: u64,
    bytes: &'a [u8],
}

impl<'a> Wire<'a> {
    pub(super) fn number(self, name: &str) -> Result<u64, WireError> {
        self.expect(0, name).map(|()| self.number)
    }

    pub(super) fn bytes(self, name: &str) -> Result<&'a [u8], WireError> {
        self.expect(2, name).map(|()| self.bytes)
    }

    fn expect(self, kind: u64, name: &str) -> Result<(), WireError> {
        if self.kind == kind {
            return Ok(());
        }
        let field = match name.split_at(1) {
            _ if name == "metadata" => "ObjectMeta".to_owned(),
            // Go's field names begin with a capital.
            (first, rest) => format!("{}{rest}", first.to_uppercase()),
        };
        let kind = self.kind;
        Err(WireError::WrongKind { kind, field })
    }
}

/// The unread rest of a message.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    /// Reads the number and the value of the next field, if there is one.
    pub(super) fn field(&mut self) -> Result<Option<(u64, Wire<'a>)>, WireError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let (field, kind) = (tag >> 3, tag & 7);
        if field == 0 || field > u64::from(u32::MAX) {
            return Err(WireError::IllegalTag { field, kind });
        }
        let (number, length) = match kind {
            0 => (self.varint()?, 0),
            1 => (0, 8),
            2 => (0, self.varint()?),
            5 => (0, 4),
            kind => return Err(WireError::IllegalKind(kind)),
        };
        let bytes = self.take(length)?;
        Ok(Some((field, Wire { kind, number, bytes })))
    }

    fn varint(&mut self) -> Result<u64, WireError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = *self.take(1)? else { break };
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(WireError::Overflow)
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], WireError> {
        let length = usize::try_from(length).map_err(|_| WireError::End)?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(WireError::End)?;
        self.0 = rest;
        Ok(taken)
    }
}
