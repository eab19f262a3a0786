use std::path::Path;

use attache_core::{ErrorKind, Secret};

use super::*;

/// An environment of these variables.
fn environment(variables: &[(&'static str, String)]) -> Environment {
    let variables = variables.to_vec();
    Environment::new(move |name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    })
}

fn files(folder: &Path, credentials: &str, config: &str) -> Vec<(&'static str, String)> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    vec![
        ("AWS_SHARED_CREDENTIALS_FILE", write("credentials", credentials)),
        ("AWS_CONFIG_FILE", write("config", config)),
    ]
}

fn found(variables: &[(&'static str, String)]) -> Result<Auth> {
    let environment = environment(variables);
    let profiles = Profiles::load(&environment);
    find(&environment, &profiles, "us-east-1")
}

fn set(name: &'static str, value: &str) -> (&'static str, String) {
    (name, value.to_owned())
}

// bedrock.md 1
#[test]
fn an_api_key_wins_then_the_environment_then_the_profile() {
    let folder = tempfile::tempdir().unwrap();
    let mut variables = files(folder.path(), "[default]\naws_access_key_id=A\naws_secret_access_key=b\n", "");
    assert!(format!("{:?}", found(&variables).unwrap()).contains("Keys(\"default\")"));
    variables.extend([set("AWS_ACCESS_KEY_ID", "canary-id"), set("AWS_SECRET_ACCESS_KEY", "canary-secret")]);
    variables.push(set("AWS_SESSION_TOKEN", "canary-token"));
    let of_environment = format!("{:?}", found(&variables).unwrap());
    assert!(of_environment.contains("Credentials") && !of_environment.contains("canary"), "{of_environment}");
    variables.push(set("AWS_BEARER_TOKEN_BEDROCK", "canary-key"));
    let auth = found(&variables).unwrap();
    assert_eq!(auth.key().map(Secret::expose), Some("canary-key"));
    assert!(!format!("{auth:?}").contains("canary"));
}

#[test]
fn half_a_key_and_a_profile_that_is_not_there_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let none = files(folder.path(), "", "");
    let problem = |more: (&'static str, String)| {
        let variables: Vec<_> = none.iter().cloned().chain([more]).collect();
        let error = found(&variables).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        error.message().to_owned()
    };
    assert!(problem(set("AWS_ACCESS_KEY_ID", "A")).contains("AWS_SECRET_ACCESS_KEY"));
    assert!(problem(set("AWS_PROFILE", "work")).contains("\"work\""));
}

#[cfg(not(feature = "aws-config"))]
#[test]
fn what_needs_the_feature_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let none = files(folder.path(), "", "");
    assert!(found(&none).unwrap_err().message().contains("AWS_BEARER_TOKEN_BEDROCK"));
    let role = files(folder.path(), "", "[profile work]\nrole_arn = arn:x\nsource_profile = default\n");
    let variables: Vec<_> = role.into_iter().chain([set("AWS_PROFILE", "work")]).collect();
    let message = found(&variables).unwrap_err().message().to_owned();
    assert!(message.contains("role_arn") && message.contains("aws-config"), "{message}");
    let container = [set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/x")];
    let variables: Vec<_> = none.into_iter().chain(container).collect();
    assert!(found(&variables).unwrap_err().message().contains("aws-config"));
}

#[tokio::test]
async fn keys_of_a_profile_are_read_anew() {
    let folder = tempfile::tempdir().unwrap();
    let mut variables = files(
        folder.path(),
        "[work]\naws_access_key_id=A1\naws_secret_access_key=s\naws_session_token=t\n",
        "[profile work]\nregion=eu-west-3\nendpoint_url=https://example.com\n",
    );
    variables.push(set("AWS_PROFILE", "work"));
    let profiles = Profiles::load(&environment(&variables));
    assert_eq!((profiles.get("region"), profiles.get("none")), (Some("eu-west-3"), None));
    let keys = profiles.keys().unwrap().unwrap();
    let first = Credentials::new("A1", "s").with_session_token("t");
    assert_eq!(keys.fetch().await.unwrap(), first);
    std::fs::write(
        folder.path().join("credentials"),
        "[work]\naws_access_key_id=A2\naws_secret_access_key=s\n",
    )
    .unwrap();
    assert_eq!(keys.fetch().await.unwrap(), Credentials::new("A2", "s"));
    std::fs::write(folder.path().join("credentials"), "").unwrap();
    assert_eq!(keys.fetch().await.unwrap_err().kind(), ErrorKind::Authentication);
}

#[test]
fn home_holds_the_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(".aws")).unwrap();
    std::fs::write(folder.path().join(".aws/config"), "[default]\nregion = sa-east-1\n").unwrap();
    let home = set("HOME", &folder.path().to_string_lossy());
    assert_eq!(Profiles::load(&environment(&[home])).get("region"), Some("sa-east-1"));
    assert_eq!(Profiles::load(&environment(&[])).get("region"), None);
}
