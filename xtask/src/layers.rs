//! The rules of the layers: which crate may depend on which. Each rule is a sentence of docs/ARCHITECTURE.md. They ask
//! cargo for the whole trees, which may need a network, so they are a task and no test.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::shell::{Failure, output};

const PROVIDERS: &[&str] = &[
    "attache-openai",
    "attache-anthropic",
    "attache-gemini",
    "attache-bedrock",
    "attache-cohere",
    "attache-offline",
];

/// For tests alone: ours, and our users'.
const KITS: [&str; 2] = ["attache-testkit", "attache-conformance"];

const RUNTIMES_AND_CLIENTS: [&str; 6] = ["tokio", "reqwest", "hyper", "rustls", "async-std", "ureq"];

const TLS: [&str; 6] =
    ["reqwest", "rustls", "hyper-rustls", "tokio-rustls", "rustls-platform-verifier", "native-tls"];

/// The most crates of others that a team compiles for picking one of ours, all features of it on. A split of ours costs
/// nobody anything.
const LIMITS: [(&str, usize); 18] = [
    ("attache-schema", 10),
    // 45 and `http`: the head of an answer is handed on as the client has it, and every provider has that crate. And
    // `inventory`, behind `discovery`: only a crate that every `#[tool]` names can register tools.
    ("attache-core", 45),
    // Those of core, and the forms of characters with its lists.
    ("attache-citations", 41),
    ("attache-openai", 83),
    ("attache-anthropic", 78),
    ("attache-gemini", 78),
    ("attache-cohere", 83),
    // Three for the forms of characters, behind `citations`.
    ("attache-agent", 60),
    // Most of them for `postgres`, `sqlite` and `s3`.
    ("attache-stores", 162),
    // Ten open files below folders, four confine commands, three calculate, three tell the time.
    ("attache-tools", 74),
    // Twenty for its server, without which it has 110 at most.
    ("attache-mcp", 116),
    ("attache-http-tools", 91),
    // A sixth of them for `server`.
    ("attache-a2a", 103),
    // Those of MCP, of A2A, of the providers of models, and of the tools of this machine.
    ("attache-config", 126),
    ("attache-otel", 90),
    // Those of the converters, for previews: without them it has 92 at most.
    ("attache-server", 159),
    ("attache-testkit", 80),
    // Five write completions and the manual, and measure the terminal; fifty keep sessions in SQLite and edit lines.
    // Sixteen more speak MCP and serve it, five read YAML for HTTP endpoints, five calculate and tell the time.
    // Fifteen more serve over HTTP, and write a log. Thirteen keep sessions in PostgreSQL.
    // Twelve export spans and metrics. Three write turns of sessions with two wake-ups each.
    ("attache-cli", 303),
];

/// Every broken rule, in a line each.
pub(crate) fn problems() -> Result<Vec<String>, Failure> {
    let mut trees = Trees::default();
    let mut problems = Vec::new();
    for package in
        ["attache-schema", "attache-core", "attache-documents", "attache-citations", "attache-macros"]
    {
        problems.extend(trees.forbid(package, &RUNTIMES_AND_CLIENTS)?);
    }
    // It holds texts against texts, whoever brought them.
    let brought = ["attache-documents", "attache-convert", "attache-transport", "attache-agent"];
    problems.extend(trees.forbid("attache-citations", &brought)?);
    // Core knows the schemas alone, and they know none of us.
    for package in ["attache-schema", "attache-core"] {
        let ours = trees.reach(package)?.iter().filter(|name| name.starts_with("attache"));
        let known = ours.filter(|name| package != "attache-core" || *name != "attache-schema");
        problems.extend(known.map(|name| format!("{package} reaches {name}")));
    }

    problems.extend(trees.forbid("attache-agent", PROVIDERS)?);
    let world =
        ["attache-transport", "attache-models", "attache-convert", "attache-stores", "reqwest", "hyper"];
    problems.extend(trees.forbid("attache-agent", &world)?);
    problems.extend(trees.forbid("attache-agent", &["attache-tools"])?);
    // Tools know their call, and neither whose agent it is nor its model.
    problems.extend(trees.forbid("attache-tools", PROVIDERS)?);
    problems.extend(trees.forbid("attache-tools", &["attache-agent", "attache-models", "attache-convert"])?);
    // Gateways are tools to whatever agent and model there is; an agent that is served is known to its server.
    for gateway in ["attache-mcp", "attache-http-tools"] {
        problems.extend(trees.forbid(gateway, PROVIDERS)?);
        problems.extend(trees.forbid(gateway, &["attache-models", "attache-convert"])?);
    }
    // Agents of others are tools to whoever asks; those of ours are served behind a feature.
    problems.extend(trees.forbid("attache-a2a", PROVIDERS)?);
    problems.extend(
        trees.forbid("attache-a2a", &["attache-models", "attache-convert", "reqwest", "native-tls"])?,
    );
    let client = reach("attache-a2a", &[])?;
    let served = ["attache-agent", "axum"].into_iter().filter(|name| client.contains(*name));
    problems.extend(served.map(|name| format!("attache-a2a without features reaches {name}")));
    problems.extend(trees.forbid("attache-http-tools", &["attache-agent"])?);
    let asked = reach("attache-mcp", &[])?;
    let met = asked.contains("attache-agent");
    problems.extend(met.then(|| "attache-mcp without its server reaches attache-agent".to_owned()));
    problems.extend(crowded("attache-mcp without its server", &asked, 110));
    // One client with one guard stands before every service, and no framework of servers comes along.
    problems.extend(trees.forbid("attache-http-tools", &["reqwest", "axum", "tower"])?);
    // TLS needs no compiler of C, and comes with the transport alone.
    problems.extend(trees.forbid("attache-mcp", &["aws-lc-sys", "reqwest", "native-tls"])?);
    // A configuration is read without whatever it configures, and by whom is not its business.
    let plain = reach("attache-config", &[])?;
    let configured = plain.iter().filter(|name| name.starts_with("attache-"));
    let configured = configured
        .filter(|name| !["attache-config", "attache-core", "attache-schema"].contains(&name.as_str()));
    problems.extend(configured.map(|name| format!("attache-config without features reaches {name}")));
    problems.extend(trees.forbid("attache-config", &["attache-convert", "attache-stores", "attache-cli"])?);
    // Telemetry is told to whoever exports it, by the API alone.
    problems.extend(trees.forbid("attache-otel", PROVIDERS)?);
    let exporters = ["opentelemetry_sdk", "opentelemetry-otlp", "attache-models", "attache-convert"];
    problems.extend(trees.forbid("attache-otel", &exporters)?);
    let plain = reach("attache-otel", &[])?;
    problems.extend(
        plain
            .contains("attache-transport")
            .then(|| "attache-otel without features reaches attache-transport".to_owned()),
    );
    problems.extend(crowded("attache-otel without features", &plain, 65));
    // A server answers for whatever agents and stores a program gives it; TLS is the proxy's before it.
    problems.extend(trees.forbid("attache-server", PROVIDERS)?);
    problems
        .extend(trees.forbid("attache-server", &["attache-models", "attache-transport", "attache-stores"])?);
    problems.extend(trees.forbid("attache-server", &TLS)?);
    // Converters are for previews.
    let plain = reach("attache-server", &["--features", "jwt"])?;
    problems.extend(
        plain
            .contains("attache-convert")
            .then(|| "attache-server without previews reaches attache-convert".to_owned()),
    );
    problems.extend(crowded("attache-server without previews", &plain, 92));
    // Stores are an agent's, whatever model it asks.
    problems.extend(trees.forbid("attache-stores", PROVIDERS)?);
    problems.extend(trees.forbid("attache-stores", &["attache-models", "attache-convert"])?);
    // Documents in S3 go through the transport, with its TLS; nothing else of the stores does.
    problems.extend(trees.forbid("attache-stores", &["aws-lc-sys", "reqwest", "native-tls"])?);
    let local = reach("attache-stores", &["--features", "object"])?;
    let connected = local.iter().filter(|name| *name == "attache-transport");
    problems.extend(connected.map(|name| format!("attache-stores without s3 reaches {name}")));
    problems.extend(crowded("attache-stores with objects", &local, 112));

    for &provider in PROVIDERS {
        problems.extend(trees.forbid(provider, PROVIDERS)?);
        problems.extend(trees.forbid(provider, &["attache-agent", "attache-models", "attache-convert"])?);
        // The offline model reads labels and fences, so it must know how they are written; a codec emits what it is
        // given.
        let other = if provider == "attache-offline" { "attache-transport" } else { "attache-documents" };
        problems.extend(trees.forbid(provider, &[other])?);
    }
    let others = [
        "attache-schema",
        "attache-core",
        "attache-documents",
        "attache-citations",
        "attache-agent",
        "attache-stores",
        "attache-tools",
        "attache-mcp",
        "attache-http-tools",
        "attache-a2a",
        "attache-config",
        "attache-otel",
        "attache-models",
    ];
    for package in PROVIDERS.iter().chain(&others) {
        problems.extend(trees.forbid(package, &["attache-convert"])?);
    }
    // No program links what tests are made with, nor has ids that are counted.
    let programs = [
        "attache-macros",
        "attache-convert",
        "attache-transport",
        "attache-server",
        "attache",
        "attache-cli",
    ];
    for package in PROVIDERS.iter().chain(&others).chain(&programs) {
        problems.extend(trees.forbid(package, &KITS)?);
    }
    problems.extend(trees.forbid("attache-testkit", PROVIDERS)?);
    problems.extend(
        trees.forbid("attache-testkit", &["attache-agent", "attache-models", "attache-conformance"])?,
    );
    let plain = reach("attache-testkit", &[])?;
    let heavy = RUNTIMES_AND_CLIENTS.iter().filter(|name| plain.contains(**name));
    problems.extend(heavy.map(|name| format!("attache-testkit without features reaches {name}")));
    problems.extend(crowded("attache-testkit without features", &plain, 50));
    for (package, limit) in LIMITS {
        problems.extend(crowded(package, trees.reach(package)?, limit));
    }
    problems.extend(crowded("attache-agent without features", &reach("attache-agent", &[])?, 68));
    // With `aws-config` comes the whole chain of AWS credentials, which nobody has to take.
    problems.extend(crowded("attache-bedrock without features", &reach("attache-bedrock", &[])?, 87));
    // Configuration is read by who has one.
    problems.extend(crowded("attache-core without features", &reach("attache-core", &[])?, 41));
    // Five write the log, which each command has.
    let lean = reach("attache-cli", &["--no-default-features"])?;
    problems.extend(crowded("attache-cli without features", &lean, 190));
    let app = reach("attache", &["--no-default-features", "--features", "openai,agent"])?;
    problems.extend(crowded("an app of one provider and the agent", &app, 95));
    problems.extend(users_of_tls()?);
    Ok(problems)
}

fn crowded(package: &str, reached: &BTreeSet<String>, limit: usize) -> Option<String> {
    let crates = reached.iter().filter(|name| !name.starts_with("attache")).count();
    (crates > limit).then(|| format!("{package} has {crates} crates of others, more than {limit}"))
}

/// The packages that each package reaches by normal dependencies with all its features, itself left out.
#[derive(Default)]
struct Trees(BTreeMap<String, BTreeSet<String>>);

impl Trees {
    fn reach(&mut self, package: &str) -> Result<&BTreeSet<String>, Failure> {
        if !self.0.contains_key(package) {
            self.0.insert(package.to_owned(), reach(package, &["--all-features"])?);
        }
        self.0.get(package).ok_or_else(|| format!("{package} has no tree"))
    }

    fn forbid(&mut self, package: &str, forbidden: &[&str]) -> Result<Vec<String>, Failure> {
        let reached = self.reach(package)?;
        let met = forbidden.iter().filter(|name| reached.contains(**name));
        Ok(met.map(|name| format!("{package} reaches {name}")).collect())
    }
}

fn reach(package: &str, features: &[&str]) -> Result<BTreeSet<String>, Failure> {
    let tree = ["tree", "-p", package, "-e", "normal", "--prefix", "none", "--format", "{p}"];
    let tree = output("cargo", &[&tree[..], features].concat())?;
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    let reached: BTreeSet<String> = names.filter(|name| *name != package).map(str::to_owned).collect();
    // Each of ours has dependencies; a rule over an empty tree would hold whatever happens.
    if reached.is_empty() { Err(format!("cargo shows no tree of {package}")) } else { Ok(reached) }
}

/// TLS is chosen in the transport crate alone.
fn users_of_tls() -> Result<Vec<String>, Failure> {
    let metadata = output("cargo", &["metadata", "--format-version", "1", "--no-deps"])?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| format!("cargo writes no JSON: {error}"))?;
    let mut users: Vec<(String, String)> = Vec::new();
    for package in metadata.pointer("/packages").and_then(Value::as_array).into_iter().flatten() {
        let user = package.get("name").and_then(Value::as_str).unwrap_or_default();
        for dependency in package.get("dependencies").and_then(Value::as_array).into_iter().flatten() {
            let name = dependency.get("name").and_then(Value::as_str).unwrap_or_default();
            // A dependency of tests has a kind.
            if dependency.get("kind").is_some_and(Value::is_null) && TLS.contains(&name) {
                users.push((name.to_owned(), user.to_owned()));
            }
        }
    }
    let others = users.iter().filter(|(_, user)| user != "attache-transport");
    let mut problems: Vec<String> = others.map(|(name, user)| format!("{user} depends on {name}")).collect();
    if !users.iter().any(|(name, _)| name == "hyper-rustls") {
        problems.push("nobody depends on hyper-rustls: this rule looks at nothing".to_owned());
    }
    Ok(problems)
}
