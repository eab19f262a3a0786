//! Regions and the addresses of the API there.

use crate::error::{self, Result};

/// The top of the addresses of regions that are not part of the common partition, by the beginnings of their names.
const SUFFIXES: [(&str, &str); 7] = [
    ("cn-", "amazonaws.com.cn"),
    ("eusc-", "amazonaws.eu"),
    ("us-isob-", "sc2s.sgov.gov"),
    ("us-isof-", "csp.hci.ic.gov"),
    ("eu-isoe-", "cloud.adc-e.uk"),
    ("us-iso-", "c2s.ic.gov"),
    ("", "amazonaws.com"),
];

/// The address of the API in a region.
///
/// # Errors
/// For what is no name of a region: it becomes part of an address.
pub(crate) fn endpoint(region: &str) -> Result<String> {
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if region.is_empty() || !region.bytes().all(legal) {
        return Err(error::configuration(format!("{region:?} is no name of an AWS region")));
    }
    let (_, suffix) =
        SUFFIXES.iter().find(|(start, _)| region.starts_with(start)).unwrap_or(&("", "amazonaws.com"));
    Ok(format!("https://bedrock-runtime.{region}.{suffix}"))
}

/// The region that an ARN names.
pub(crate) fn of_arn(model: &str) -> Option<&str> {
    let region = model.strip_prefix("arn:")?.split(':').nth(2)?;
    (!region.is_empty()).then_some(region)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        assert_eq!(endpoint("eu-central-1").unwrap(), "https://bedrock-runtime.eu-central-1.amazonaws.com");
        assert_eq!(endpoint("us-gov-west-1").unwrap(), "https://bedrock-runtime.us-gov-west-1.amazonaws.com");
        assert_eq!(endpoint("cn-north-1").unwrap(), "https://bedrock-runtime.cn-north-1.amazonaws.com.cn");
        for bad in ["", "evil.example/", "us east 1", "US-EAST-1", "a@b", "us-east-1.evil"] {
            assert!(endpoint(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn arns_name_their_region() {
        let profile = "arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:inference-profile/x";
        assert_eq!(of_arn(profile), Some("us-gov-west-1"));
        assert_eq!(of_arn("arn:aws:bedrock::123456789012:prompt/x"), None);
        assert_eq!(of_arn("amazon.nova-lite-v1:0"), None);
    }
}
