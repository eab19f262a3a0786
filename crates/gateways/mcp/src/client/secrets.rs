//! The secrets that a server is given: where they stand in its configuration, and what takes them out of what it says.

use attache_transport::{Redactor, percent_decoded};
use serde_json::Value;

/// A value this long of letters and digits is taken for a key, whatever it is called.
const SHORTEST_KEY: usize = 20;
/// A shorter value may be a word such as `sqlite`, so its name must say that it is a secret.
const SHORTEST_UNNAMED: usize = 8;
/// Ends of names whose values are secrets.
const NAMES: [&str; 13] = [
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "auth",
    "authorization",
    "credential",
    "credentials",
    "signature",
    "cookie",
];
/// Names of secrets that are too short to be looked for in others.
const WORDS: [&str; 4] = ["pass", "sig", "pat", "jwt"];

/// The redactor of these secrets in texts: each as a whole, and each line of those that have several, but for lines that
/// may be words.
pub(crate) fn redactor<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Redactor {
    let lines = |secret: &'a str| secret.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_UNNAMED);
    let pieces = secrets.into_iter().flat_map(|secret| std::iter::once(secret).chain(lines(secret)));
    pieces.fold(Redactor::new(), Redactor::with_secret)
}

/// The secrets in an address: its user, its password, and the values of its query that are keys by their names or looks.
pub(crate) fn of_url(url: &str) -> Vec<String> {
    let Some((_, rest)) = url.split_once("://") else { return Vec::new() };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = place.split(['/', '#']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    let password = user.and_then(|user| user.split_once(':')).map(|(_, password)| password);
    let query = query.split('#').next().unwrap_or_default();
    let values = query.split('&').filter_map(|pair| pair.split_once('='));
    let values = values.filter(|(name, value)| is_secret(name, value)).map(|(_, value)| value);
    let written = user.into_iter().chain(password).chain(values);
    // A server may repeat it as it is written or as it is read.
    let both = |text: &str| [text.to_owned(), String::from_utf8_lossy(&percent_decoded(text)).into_owned()];
    written.flat_map(both).collect()
}

/// The secrets among the arguments of a command: values of options and headers that are called so, and those in
/// addresses.
pub(crate) fn of_arguments<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut found = Vec::new();
    let mut before = "";
    for argument in arguments {
        match before.starts_with('-') && !before.contains('=') && is_named_so(before) {
            true => found.push(argument.to_owned()),
            false => of_argument(argument, &mut found),
        }
        before = argument;
    }
    found
}

fn of_argument(argument: &str, found: &mut Vec<String>) {
    let Some((name, value)) = argument.split_once(['=', ':']).map(|(name, value)| (name, value.trim()))
    else {
        return;
    };
    if is_named_so(name) {
        found.push(value.to_owned());
        // `Authorization: Bearer x` comes back as `x` too.
        found.extend(value.split_once(' ').map(|(_, token)| token.trim().to_owned()));
    } else if value.starts_with("//") {
        found.extend(of_url(argument));
    } else {
        of_argument(value, found);
    }
}

/// The secrets in a variable or a header that is given: its value, unless it is so short that it may be a word and is not
/// called so, and those in an address.
pub(crate) fn of_given(name: &str, value: &str) -> Vec<String> {
    let is_whole = value.len() >= SHORTEST_UNNAMED || is_named_so(name);
    is_whole.then(|| value.to_owned()).into_iter().chain(of_url(value)).collect()
}

/// The secrets in a variable that is passed on: its value if it is called so or looks so, and those in an address.
pub(crate) fn of_variable(name: &str, value: &str) -> Vec<String> {
    match is_secret(name, value) {
        true => vec![value.to_owned()],
        false => of_url(value),
    }
}

fn is_secret(name: &str, value: &str) -> bool {
    is_named_so(name) || value.len() >= SHORTEST_KEY && is_mixed(value)
}

fn is_named_so(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_so = |word: &str| NAMES.iter().any(|end| word.ends_with(end)) || WORDS.contains(&word);
    name.split(|c: char| !c.is_ascii_alphanumeric()).any(is_so)
}

/// True for letters and digits without anything that words and paths have between them.
fn is_mixed(value: &str) -> bool {
    let is_of_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    value.bytes().all(is_of_key) && value.bytes().any(|byte| byte.is_ascii_digit())
}

/// Takes secrets out of a value, names of members included.
pub(crate) fn clean(redactor: &Redactor, value: &mut Value) {
    let redacted = |text: &str| match redactor.redact(text) {
        std::borrow::Cow::Owned(clean) => Some(clean),
        std::borrow::Cow::Borrowed(_) => None,
    };
    match value {
        Value::String(text) => {
            if let Some(clean) = redacted(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| clean(redactor, item)),
        Value::Object(members) => {
            if members.keys().any(|name| redacted(name).is_some()) {
                let old = std::mem::take(members);
                let renamed = |(name, value): (String, Value)| (redacted(&name).unwrap_or(name), value);
                *members = old.into_iter().map(renamed).collect();
            }
            members.values_mut().for_each(|member| clean(redactor, member));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_of_addresses() {
        let found =
            of_url("https://user:p%40ssword@h/x?apiKey=canary-1&lang=english&api-version=2025-06-18#k=v");
        assert_eq!(
            found,
            ["user:p%40ssword", "user:p@ssword", "p%40ssword", "p@ssword", "canary-1", "canary-1"]
        );
        assert_eq!(
            of_url("https://h/?x=0123456789abcdef0123&y=a/path/of/2025/and/more"),
            ["0123456789abcdef0123"; 2]
        );
        assert!(of_url("postgres://h/db?sslmode=require").is_empty() && of_url("-y").is_empty());
    }

    #[test]
    fn secrets_of_arguments() {
        let arguments = [
            "-y",
            "mcp-remote",
            "postgres://u:db-canary@h/db",
            "--api-key=canary-1",
            "--token",
            "canary-2",
            "--header",
            "Authorization: Bearer canary-3",
            "--header=X-Api-Key: canary-4",
            "--folder",
            "/srv/files",
            "--level=information",
        ];
        assert_eq!(
            of_arguments(arguments),
            [
                "u:db-canary",
                "u:db-canary",
                "db-canary",
                "db-canary",
                "canary-1",
                "canary-2",
                "Bearer canary-3",
                "canary-3",
                "canary-4"
            ]
        );
    }

    #[test]
    fn variables_that_are_no_secrets_are_not_masked() {
        for (name, value) in
            [("WORKSPACE", "/srv/files"), ("NODE_ENV", "production"), ("LEVEL", "information")]
        {
            assert!(of_variable(name, value).is_empty(), "{name}");
        }
        assert_eq!(of_variable("GITHUB_TOKEN", "canary-1"), ["canary-1"]);
        assert_eq!(of_variable("DATABASE_URL", "postgres://u:canary@h/db").last().unwrap(), "canary");
    }

    // Settings that are words stand in names of tools and texts of servers: `search`, `sqlite`.
    #[test]
    fn a_short_value_is_a_secret_where_its_name_says_so() {
        for (name, value) in [("MODE", "search"), ("DB_ENGINE", "sqlite"), ("LOG_LEVEL", "warning")] {
            assert!(of_given(name, value).is_empty(), "{name}");
        }
        assert_eq!(of_given("DB_PASSWORD", "hunter"), ["hunter"]);
        assert_eq!(of_given("X-Api-Key", "hunter2"), ["hunter2"]);
        assert_eq!(of_given("SOMETHING", "hunter42"), ["hunter42"]);
        assert_eq!(of_given("DATABASE_URL", "postgres://u:canary@h/db").last().unwrap(), "canary");
        let settings = redactor(["mode:\n  search\nfolder: /srv/files"]);
        assert_eq!(settings.redact("search in folder: /srv/files"), "search in ***");
    }

    #[test]
    fn lines_of_a_secret_and_names_of_members_are_masked() {
        let redactor = redactor(["-----BEGIN-----\n  canary-of-a-line\n-----END-----"]);
        let mut value = json!({"a canary-of-a-line": [{"x": "canary-of-a-line!"}], "b": 1});
        clean(&redactor, &mut value);
        assert_eq!(value, json!({"a ***": [{"x": "***!"}], "b": 1}));
    }
}
