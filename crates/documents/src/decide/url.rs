//! External documents that the provider fetches itself.

use std::net::IpAddr;

use attache_core::capability::Place;
use attache_core::{Document, DocumentSource, MediaType};

use crate::decide::decider::Decider;
use crate::decide::treatment::{Shown, Treatment};
use crate::decide::words::{media_name, name};
use crate::options::ExternalDocuments;
use crate::report::{DocumentOutcome, Reason, ReasonKind};

impl Decider<'_> {
    /// The treatment of an external document that may go to the provider as its address: it stands in the first place
    /// that takes it so.
    pub(crate) fn passed(&self, document: &Document, places: &[Place]) -> Option<Treatment> {
        let DocumentSource::External { url } = document.source() else { return None };
        let media = document.media_type();
        if self.options.external != ExternalDocuments::PassUrl
            || *media == MediaType::octet_stream()
            || !looks_public(url)
        {
            return None;
        }
        let (at, place) = places.iter().copied().enumerate().find(|(_, place)| {
            let limit = self.capabilities.place(*place).byte_limit(media);
            let too_large = document.size().zip(limit).is_some_and(|(size, limit)| size > limit);
            !too_large && self.capabilities.takes_url(*place, media)
        })?;
        let outcome = if at == 0 { DocumentOutcome::Native } else { DocumentOutcome::Synthetic };
        let text =
            format!("passed as its address: this model takes {} so in {}", media_name(document), name(place));
        let reason = Reason::new(ReasonKind::PassedUrl, text);
        let treatment = Treatment::new(outcome, Some(place), reason, Shown::Native(document.clone()));
        Some(treatment.costing(self.cost(document, None), None))
    }
}

/// True if an address is `https` and names a host that others can reach by its looks: no credentials, no number, no
/// name of an intranet. A provider that cannot fetch it refuses the whole request.
fn looks_public(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host).to_ascii_lowercase();
    let host = host.strip_suffix('.').unwrap_or(&host);
    let last = host.rsplit('.').next().unwrap_or_default();
    let inside = ["local", "localhost", "internal", "intranet", "lan", "home", "corp", "test", "invalid"];
    scheme.eq_ignore_ascii_case("https")
        && url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
        && host.contains('.')
        && !host.starts_with('.')
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
        && host.parse::<IpAddr>().is_err()
        && !last.bytes().all(|byte| byte.is_ascii_digit())
        && !inside.contains(&last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_looks_public_is_passed() {
        for url in [
            "https://files.example/a.pdf?sig=1",
            "HTTPS://A.B.Example.:8443/x",
            "https://xn--bcher-kva.example",
        ] {
            assert!(looks_public(url), "{url}");
        }
        for url in [
            "http://files.example/a.pdf",
            "https://localhost/a",
            "https://files/a",
            "https://10.0.0.1/a",
            "https://127.1/a",
            "https://[2606:4700::1111]/a",
            "https://user@files.example/a",
            "https://files.example@10.0.0.1/a",
            "https://printer.local/a",
            "https://metadata.google.internal/a",
            "https://files.example\\@10.0.0.1/",
            "https://files.example/a b",
            "https:files.example",
            "gs://bucket.example/a",
            "",
        ] {
            assert!(!looks_public(url), "{url}");
        }
    }
}
