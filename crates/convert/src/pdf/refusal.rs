//! Why the library does not open a file.

use hayro_syntax::{DecryptionError, LoadPdfError};

use crate::ConvertError;

/// The reasons for which the library does not open a file.
pub(super) fn refusal(error: LoadPdfError) -> ConvertError {
    match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => {
            ConvertError::Encrypted { reason: "it needs a password" }
        }
        LoadPdfError::Decryption(_) => {
            ConvertError::Encrypted { reason: "the way it is protected is not supported" }
        }
        LoadPdfError::Invalid => ConvertError::Malformed { reason: "it cannot be read as a PDF" },
    }
}
