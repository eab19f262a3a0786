//! The reasons why a token does not count.

/// The reason why a token does not count. It holds nothing of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is no signed token.
    Malformed,
    /// It is signed in a way that is not taken.
    Algorithm,
    /// No key of the issuer has its name and kind.
    UnknownKey,
    Signature,
    Expired,
    NotYet,
    Issuer,
    Audience,
    /// It does not say on whose behalf it speaks.
    Principal,
    /// The keys of the issuer are not here, and cannot be asked for now.
    Unavailable,
}

impl Refusal {
    /// A sentence for the client, which has the token.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Malformed => "the token is no signed JSON Web Token",
            Self::Algorithm => "the token is signed in a way that is not taken here",
            Self::UnknownKey => "the token is signed with a key that its issuer does not have",
            Self::Signature => "the signature of the token is wrong",
            Self::Expired => "the token has expired",
            Self::NotYet => "the token does not count yet",
            Self::Issuer => "the token is of another issuer",
            Self::Audience => "the token is for another audience",
            Self::Principal => "the token does not say on whose behalf it speaks",
            Self::Unavailable => "the keys of the issuer cannot be asked for at the moment",
        }
    }
}
