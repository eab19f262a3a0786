//! Where a server is, as far as environment variables say.

use attache_transport::{Environment, percent_encoded};

use crate::profile::Profile;

/// The base URL that variables give.
pub(crate) fn from_environment(profile: &Profile, model: &str, environment: &Environment) -> Option<String> {
    environment.get(&profile.base_url_variable).or_else(|| {
        profile.addresses.iter().find_map(|template| filled(template, profile, model, environment))
    })
}

/// The variable to set where there is no address.
pub(crate) fn missing(profile: &Profile) -> Option<&str> {
    let first = |template: &'_ String| -> Option<(usize, usize)> {
        let start = template.find('{')? + 1;
        Some((start, start + template.get(start..)?.find('}')?))
    };
    let of_address = profile.addresses.first().and_then(|template| {
        let (start, end) = first(template)?;
        template.get(start..end)
    });
    of_address.or(Some(profile.base_url_variable.as_str())).filter(|name| !name.is_empty())
}

/// A template with its variables; `None` if one of them is not set.
fn filled(template: &str, profile: &Profile, model: &str, environment: &Environment) -> Option<String> {
    let mut url = String::new();
    let mut rest = template;
    while let Some((before, (name, after))) =
        rest.split_once('{').and_then(|(before, inside)| Some((before, inside.split_once('}')?)))
    {
        url.push_str(before);
        match name {
            "model" => url.push_str(&percent_encoded(model.as_bytes())),
            name if url.is_empty() => {
                let value = whole(&environment.get(name)?, &profile.base_url);
                // A parameter that the variable brings already is not said twice.
                let (path, query) = after.split_once('?').map_or((after, ""), |(path, query)| (path, query));
                let brings =
                    query.is_empty() && !path.is_empty() && !path.contains('{') && value.ends_with(path);
                url.push_str(if brings { value.strip_suffix(path).unwrap_or(&value) } else { &value });
            }
            name => url.push_str(&environment.get(name)?),
        }
        rest = after;
    }
    url.push_str(rest);
    Some(url)
}

/// An address with the scheme and port that it may have left out, without a slash at its end.
fn whole(address: &str, like: &str) -> String {
    let address = address.trim_end_matches('/');
    if address.contains("://") {
        return address.to_owned();
    }
    let (scheme, place) = like.split_once("://").unwrap_or(("http", like));
    let host = place.split(['/', '?']).next().unwrap_or_default();
    let port = |host: &str| {
        host.rsplit_once(':')
            .map(|(_, port)| port)
            .filter(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
            .map(str::to_owned)
    };
    let (own, path) = address.split_once('/').map_or((address, ""), |(own, path)| (own, path));
    let port = match (port(own), port(host)) {
        (None, Some(port)) => format!(":{port}"),
        _ => String::new(),
    };
    let slash = if path.is_empty() { "" } else { "/" };
    format!("{scheme}://{own}{port}{slash}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(profile: &Profile, variables: &'static [(&str, &str)]) -> Option<String> {
        let environment = Environment::new(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        });
        from_environment(profile, "gpt 4/o", &environment)
    }

    // openai.md C.11
    #[test]
    fn deployments_are_named_by_variables() {
        let mut profile = Profile::compatible("a", "");
        profile.addresses = vec![
            "{ENDPOINT}/openai/deployments/{model}?api-version={VERSION}".to_owned(),
            "{ENDPOINT}/openai/v1".to_owned(),
        ];
        assert_eq!(address(&profile, &[]), None);
        assert_eq!(missing(&profile), Some("ENDPOINT"));
        let dated = address(&profile, &[("ENDPOINT", "https://r.example/"), ("VERSION", "2024-10-21")]);
        let expected = "https://r.example/openai/deployments/gpt%204%2Fo?api-version=2024-10-21";
        assert_eq!(dated.as_deref(), Some(expected));
        for endpoint in ["https://r.example/", "https://r.example/openai/v1", "https://r.example/openai/v1/"]
        {
            let environment = Environment::new(move |name| (name == "ENDPOINT").then(|| endpoint.to_owned()));
            let undated = from_environment(&profile, "m", &environment);
            assert_eq!(undated.as_deref(), Some("https://r.example/openai/v1"));
        }
        profile.base_url_variable = "WHOLE".to_owned();
        let whole =
            address(&profile, &[("ENDPOINT", "https://r.example/"), ("WHOLE", "https://w.example/x")]);
        assert_eq!(whole.as_deref(), Some("https://w.example/x"));
        profile.addresses.clear();
        assert_eq!(missing(&profile), Some("WHOLE"));
    }

    // openai.md C.13
    #[test]
    fn hosts_take_what_they_leave_out_from_the_usual_address() {
        let mut profile = Profile::compatible("o", "http://localhost:11434/v1");
        profile.addresses = vec!["{HOST}/v1".to_owned()];
        let found = |host: &'static str| {
            let environment = Environment::new(move |name| (name == "HOST").then(|| host.to_owned()));
            from_environment(&profile, "m", &environment).unwrap()
        };
        assert_eq!(found("box"), "http://box:11434/v1");
        assert_eq!(found("0.0.0.0:1234"), "http://0.0.0.0:1234/v1");
        assert_eq!(found("https://ollama.com"), "https://ollama.com/v1");
        assert_eq!(found("http://box:1/v1"), "http://box:1/v1");
        assert_eq!(found("box/sub"), "http://box:11434/sub/v1");
    }
}
