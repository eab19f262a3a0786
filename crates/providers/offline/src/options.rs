//! Options: which ones this model honours, and what happens to the others.

use attache_core::settings::{CachePolicy, Unsupported};
use attache_core::{Degradation, ErrorKind, ModelSettings, ProviderError, Reasoning, ResponseFormat};

/// Checks the options of a request: those that cannot be honoured are an error, or recorded if the caller allows it.
///
/// # Errors
/// [`ErrorKind::Unsupported`] names them; [`ErrorKind::InvalidRequest`] for an empty stop sequence.
pub(crate) fn check(options: &ModelSettings) -> Result<Vec<Degradation>, ProviderError> {
    if options.stop.iter().flatten().any(String::is_empty) {
        return Err(ProviderError::new(ErrorKind::InvalidRequest, "a stop sequence must not be empty"));
    }
    let unsupported = unsupported(options);
    if unsupported.is_empty() || options.unsupported == Some(Unsupported::Degrade) {
        return Ok(unsupported.into_iter().map(|(option, why)| Degradation::new(option, why)).collect());
    }
    let names: Vec<&str> = unsupported.iter().map(|(option, _)| *option).collect();
    let text = format!("the offline model does not know {}", names.join(", "));
    Err(ProviderError::new(ErrorKind::Unsupported, text)
        .with_param(names.first().map(|name| (*name).to_owned())))
}

/// Top-p, top-k and a seed need no mention: the one reply that there is lies within them.
fn unsupported(options: &ModelSettings) -> Vec<(&'static str, &'static str)> {
    const SAMPLING: &str = "left out: nothing is sampled, the reply is always the same";
    const BODY: &str = "left out: no request is sent anywhere";
    let is_set = |value: Option<f64>| value.is_some_and(|value| value != 0.0);
    let is_json = |format: &ResponseFormat| *format != ResponseFormat::Text;
    let checks = [
        (is_set(options.temperature), "temperature", SAMPLING),
        (is_set(options.presence_penalty), "presence_penalty", SAMPLING),
        (is_set(options.frequency_penalty), "frequency_penalty", SAMPLING),
        (
            options.reasoning.as_ref().is_some_and(|reasoning| *reasoning != Reasoning::Off),
            "reasoning",
            "left out: it does not reason",
        ),
        (
            options.response_format.as_ref().is_some_and(is_json),
            "response_format",
            "text: it quotes and cannot write JSON",
        ),
        (
            options.cache.is_some_and(|cache| cache != CachePolicy::Off),
            "cache",
            "left out: there is no prompt cache",
        ),
        (options.citations == Some(true), "citations", "left out: it quotes, and cites nothing"),
        (!options.extra_body.is_empty(), "extra_body", BODY),
        (options.extra_headers.iter().next().is_some(), "extra_headers", BODY),
    ];
    checks.into_iter().filter(|(given, ..)| *given).map(|(_, option, why)| (option, why)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // invariant 12
    #[test]
    fn nothing_is_ignored_in_silence() {
        let options = ModelSettings::new()
            .with_temperature(0.7)
            .with_cache(CachePolicy::Short)
            .with_top_k(40)
            .with_seed(1);
        let error = check(&options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(error.message(), "the offline model does not know temperature, cache");
        let allowed = check(&options.with_unsupported(Unsupported::Degrade)).unwrap();
        assert_eq!(
            allowed.iter().map(|one| one.option.as_str()).collect::<Vec<_>>(),
            ["temperature", "cache"]
        );
        let honoured =
            ModelSettings::new().with_temperature(0.0).with_system("x").with_reasoning(Reasoning::Off);
        assert!(check(&honoured).unwrap().is_empty());
        assert!(check(&ModelSettings::new().with_stop(vec![String::new()])).is_err());
    }
}
