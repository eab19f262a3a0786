//! The reasons why an encrypted file does not open.

use crate::ConvertError;

pub(crate) const LOCKED: ConvertError = ConvertError::Encrypted { reason: "it needs a password" };
pub(super) const UNSUPPORTED: ConvertError =
    ConvertError::Encrypted { reason: "the way it is protected is not supported" };
pub(super) const DAMAGED: ConvertError =
    ConvertError::Malformed { reason: "its encrypted content cannot be read" };
