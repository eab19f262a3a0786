//! Endpoints of one service as a family of tools.

use std::collections::HashSet;
use std::fmt;
use std::time::{Duration, Instant};

use attache_core::tool::ToolSpec;
use attache_core::{
    Arguments, BoxFuture, Effect, Secret, ToolContext, ToolError, ToolErrorKind, ToolHandler,
};
use attache_transport::{AddressGuard, Hook, HttpClient, RetryPolicy, Timeouts};

use crate::base::Base;
use crate::endpoint::Endpoint;
use crate::error::HttpToolsError;
use crate::fixed_values::{Fixed, Sent};
use crate::request::request;
use crate::response::HttpOutput;
use crate::send::{Manner, Redirects, Unanswered};
use crate::service::Way;
use crate::skipped::Skipped;
use crate::template::Template;

/// Endpoints of a service behind one base URL, as tools.
///
/// Its guarantees:
///
/// - The base URL is what the program says. Nothing that a model writes changes the host, the steps of a path or the names
///   in a query.
/// - Headers and cookies come from the program and, by name, from the caller
///   ([`with_forwarded_headers`](Self::with_forwarded_headers)); they go to the origin of the base URL alone. An answer
///   that repeats one of them does not show it to the model.
/// - Only public addresses are connected to, and the one that was checked
///   ([`with_private_addresses`](Self::with_private_addresses) allows an intranet).
/// - No redirect is followed by itself, no content encoding asked for, no more than 32 MiB read.
/// - 10 s to connect, 60 s until the answer begins, 30 s between two reads, and the call's own deadline in all.
/// - GET, HEAD and what is declared idempotent is tried up to three times where the service is busy; nothing else is sent
///   twice. Calls that change something carry an `idempotency-key`.
///
/// ```
/// use attache_http_tools::{Endpoint, HttpTools, Parameter};
/// use serde_json::json;
///
/// # fn make() -> Result<HttpTools, attache_http_tools::HttpToolsError> {
/// let orders = HttpTools::new("orders", "https://api.example.com/v1")?
///     .with_forwarded_headers(["authorization"])?
///     .with_endpoint(
///         Endpoint::get("orders.find", "/orders/{id}")
///             .with_description("Finds an order by its number.")
///             .with_parameter(Parameter::path("id", json!({"type": "integer"}))),
///     )?;
/// # Ok(orders) }
/// # make().unwrap();
/// ```
pub struct HttpTools {
    name: String,
    base: Base,
    endpoints: Vec<Declared>,
    names: HashSet<String>,
    sent: Sent,
    manner: Manner,
    network: Network,
    pub(crate) skipped: Vec<Skipped>,
}

/// The settings that the client of the network is made of.
#[derive(Clone, Debug)]
struct Network {
    timeouts: Timeouts,
    guard: AddressGuard,
    proxies: bool,
}

impl Network {
    fn client(&self) -> HttpClient {
        HttpClient::guarded(self.timeouts, self.guard.clone(), self.proxies)
    }
}

struct Declared {
    endpoint: Endpoint,
    template: Template,
    spec: ToolSpec,
}

impl HttpTools {
    /// A service without endpoints. `name` is for messages and logs; `base_url` is where the paths of endpoints stand.
    ///
    /// # Errors
    /// If `base_url` is no `http` or `https` URL, or holds credentials, a query or a fragment.
    pub fn new(name: impl Into<String>, base_url: &str) -> Result<Self, HttpToolsError> {
        let network = Network {
            timeouts: Timeouts::new()
                .with_first_byte(Duration::from_secs(60))
                .with_idle(Duration::from_secs(30))
                .with_total(Duration::from_secs(600)),
            guard: AddressGuard::new(),
            proxies: false,
        };
        let manner = Manner {
            way: Way::Network(network.client()),
            redirects: Redirects::Off,
            retry: RetryPolicy::new().with_waits(Duration::from_secs(30), Duration::from_secs(60)),
            most_bytes: 32 << 20,
        };
        let base = Base::parse(base_url)?;
        Ok(Self {
            name: name.into(),
            base,
            endpoints: Vec::new(),
            names: HashSet::new(),
            sent: Sent::default(),
            manner,
            network,
            skipped: Vec::new(),
        })
    }

    /// Adds an endpoint.
    ///
    /// # Errors
    /// If the parts of the declaration do not fit together, or a tool has that name already.
    pub fn with_endpoint(mut self, endpoint: Endpoint) -> Result<Self, HttpToolsError> {
        let template = endpoint.check().map_err(|error| error.of(&endpoint.name))?;
        if !self.names.insert(endpoint.name.clone()) {
            return Err(HttpToolsError::new("another endpoint has that name").of(&endpoint.name));
        }
        let clash = |name: &str| self.sent.has_query(name);
        if let Some(parameter) = endpoint
            .parameters
            .iter()
            .find(|parameter| parameter.place == crate::parameter::Place::Query && clash(&parameter.name))
        {
            let message = format!("the model must not write {:?}, which is fixed", parameter.name);
            return Err(HttpToolsError::new(message).of(&endpoint.name));
        }
        let spec = endpoint.spec().with_origin(format!("http:{}", self.name));
        self.endpoints.push(Declared { endpoint, template, spec });
        Ok(self)
    }

    /// The operations of its OpenAPI document that became no tool, but for those that nobody chose.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Adds endpoints.
    ///
    /// # Errors
    /// As for [`with_endpoint`](Self::with_endpoint).
    pub fn with_endpoints(
        self,
        endpoints: impl IntoIterator<Item = Endpoint>,
    ) -> Result<Self, HttpToolsError> {
        endpoints.into_iter().try_fold(self, Self::with_endpoint)
    }

    /// Passes these headers of the caller on with every request to the origin of the base URL; none by default. See
    /// [`CallerHeaders`](crate::CallerHeaders).
    ///
    /// # Errors
    /// For a header that belongs to a connection, such as `host`, `content-length` or `x-forwarded-for`, and for `cookie`,
    /// since cookies are passed on by name.
    pub fn with_forwarded_headers<'a>(
        mut self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, HttpToolsError> {
        names.into_iter().try_for_each(|name| self.sent.forwarded.add_header(name))?;
        Ok(self)
    }

    /// Passes these cookies of the caller on with every request to the origin of the base URL; none by default.
    ///
    /// # Errors
    /// For what is no name of a cookie.
    pub fn with_forwarded_cookies<'a>(
        mut self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, HttpToolsError> {
        names.into_iter().try_for_each(|name| self.sent.forwarded.add_cookie(name.to_owned()))?;
        Ok(self)
    }

    /// Sends a header that never changes with every request.
    ///
    /// # Errors
    /// For a header that the client says itself.
    pub fn with_fixed_header(self, name: &str, value: impl Into<String>) -> Result<Self, HttpToolsError> {
        self.with_fixed(Fixed::header(name, "", value.into()).map(Fixed::plain))
    }

    /// Sends a parameter of the query that never changes with every request.
    ///
    /// # Errors
    /// If an endpoint lets the model write it.
    pub fn with_fixed_query(self, name: &str, value: impl Into<String>) -> Result<Self, HttpToolsError> {
        self.with_fixed(Fixed::query(name, value.into()).map(Fixed::plain))
    }

    /// Sends a header whose value nobody may see with every request. `prefix` is the part that is no secret, such as
    /// `"Bearer "`.
    ///
    /// # Errors
    /// For a header that the client says itself.
    pub fn with_secret_header(
        self,
        name: &str,
        prefix: &str,
        secret: impl Into<Secret>,
    ) -> Result<Self, HttpToolsError> {
        self.with_fixed(Fixed::header(name, prefix, secret))
    }

    /// Sends a parameter of the query whose value nobody may see with every request.
    ///
    /// # Errors
    /// If an endpoint lets the model write it.
    pub fn with_secret_query(self, name: &str, secret: impl Into<Secret>) -> Result<Self, HttpToolsError> {
        self.with_fixed(Fixed::query(name, secret))
    }

    fn with_fixed(mut self, fixed: Result<Fixed, HttpToolsError>) -> Result<Self, HttpToolsError> {
        self.sent.set(fixed?);
        for declared in &self.endpoints {
            let mut queries = declared.endpoint.parameters.iter().filter(|parameter| {
                parameter.place == crate::parameter::Place::Query && self.sent.has_query(&parameter.name)
            });
            if let Some(parameter) = queries.next() {
                let message = format!("the model must not write {:?}, which is fixed", parameter.name);
                return Err(HttpToolsError::new(message).of(&declared.endpoint.name));
            }
        }
        Ok(self)
    }

    /// Sets whether private addresses may be reached (loopback, the ranges of RFC 1918 and their like); `false` by
    /// default. For services of an intranet. Link-local addresses and the metadata services of clouds stay out of reach.
    #[must_use]
    pub fn with_private_addresses(mut self, allowed: bool) -> Self {
        self.network.guard = self.network.guard.with_private_addresses(allowed);
        self.reconnected()
    }

    /// Sets which addresses may be reached, and how hosts are looked up.
    #[must_use]
    pub fn with_guard(mut self, guard: AddressGuard) -> Self {
        self.network.guard = guard;
        self.reconnected()
    }

    /// Sets whether proxies of the environment are used; `false` by default, since a proxy looks hosts up itself.
    #[must_use]
    pub fn with_proxies(mut self, used: bool) -> Self {
        self.network.proxies = used;
        self.reconnected()
    }

    /// Sets the time limits of a request. A call has its own deadline besides.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.network.timeouts = timeouts;
        self.reconnected()
    }

    /// Lets a hook stand between its client and the network; the last thing to set.
    #[must_use]
    pub fn with_hook(mut self, hook: impl Hook) -> Self {
        if let Way::Network(client) = &self.manner.way {
            self.manner.way = Way::Network(client.with_hook(hook));
        }
        self
    }

    fn reconnected(mut self) -> Self {
        if matches!(self.manner.way, Way::Network(_)) {
            self.manner.way = Way::Network(self.network.client());
        }
        self
    }

    /// Sends requests to a service in this process, such as a router of axum with all its layers, and none over the
    /// network. Paths and headers are those that would go to the base URL.
    #[cfg(feature = "tower")]
    #[must_use]
    pub fn with_service<S, B>(mut self, service: S) -> Self
    where
        S: tower_service::Service<
                http::Request<attache_transport::EncodedBody>,
                Response = http::Response<B>,
                Future: Send,
                Error: Into<Box<dyn std::error::Error + Send + Sync>>,
            > + Clone
            + Send
            + 'static,
        B: http_body::Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
    {
        let service = crate::service::OfTower(std::sync::Mutex::new(service));
        self.manner.way = Way::Here(std::sync::Arc::new(service));
        self
    }

    /// Sets what is done with redirects; they are not followed by default.
    #[must_use]
    pub fn with_redirects(mut self, redirects: Redirects) -> Self {
        self.manner.redirects = redirects;
        self
    }

    /// Sets how often and after what waits a request is repeated that may be.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.manner.retry = retry;
        self
    }

    /// Sets the maximum number of bytes of an answer; 32 MiB by default.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.manner.most_bytes = bytes;
        self
    }

    /// The endpoints, in order.
    pub fn endpoints(&self) -> impl ExactSizeIterator<Item = &Endpoint> {
        self.endpoints.iter().map(|declared| &declared.endpoint)
    }

    /// A border: see ADR 0053.
    fn answer<'a>(
        &'a self,
        declared: &'a Declared,
        arguments: &'a Arguments,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<HttpOutput, ToolError>> {
        Box::pin(async move {
            let Declared { endpoint, template, spec } = declared;
            let arguments = spec.definition.coerce(arguments)?;
            let base = endpoint.base.as_ref().unwrap_or(&self.base);
            // Values that belong to one origin are not told another.
            let shared = (base.origin == self.base.origin).then_some(&self.sent);
            let outgoing = request(endpoint, template, base, shared, arguments, context).await?;
            let most = spec.metadata.timeout.unwrap_or(self.network.timeouts.total);
            let limit = match context.deadline {
                Some(deadline) => deadline.saturating_duration_since(Instant::now()).min(most),
                None => most,
            };
            let effect = endpoint.effect();
            let manner = self.manner.within(endpoint.timeout);
            let sent = manner.send(&outgoing, limit, effect != Effect::SideEffect).await;
            let (most_bytes, changes) = (self.manner.most_bytes, effect != Effect::Read);
            let outcome = match sent {
                Ok(answered) => Ok(HttpOutput::read(answered, &outgoing.secrets, &endpoint.name)),
                // It is done: a failure would have the model call again.
                Err(Unanswered::Unshown(status, why)) if changes => {
                    Ok(HttpOutput::unshown(status, &why.told(most_bytes)))
                }
                Err(failed) => Err(failed.into_error(most_bytes, changes)),
            };
            tracing::debug!(
                tool = endpoint.name,
                origin = ?outgoing.origin,
                principal = context.principal.as_deref(),
                run = context.run_id.as_deref(),
                call = context.call_id.as_ref().map(|id| id.as_str()),
                status = outcome.as_ref().ok().map(|output| output.status().as_u16()),
                "an endpoint was called"
            );
            outcome
        })
    }
}

impl fmt::Debug for HttpTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.endpoints.iter().map(|declared| declared.endpoint.name.as_str()).collect();
        f.debug_struct("HttpTools")
            .field("name", &self.name)
            .field("origin", &self.base.origin)
            .field("way", &self.manner.way)
            .field("endpoints", &names)
            .finish_non_exhaustive()
    }
}

impl ToolHandler for HttpTools {
    type Output = HttpOutput;

    fn name(&self) -> &str {
        &self.name
    }

    /// The declarations: nothing is asked of the service.
    async fn tools(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(self.endpoints.iter().map(|declared| declared.spec.clone()).collect())
    }

    async fn call(
        &self,
        tool: &str,
        arguments: &Arguments,
        context: ToolContext,
    ) -> Result<HttpOutput, ToolError> {
        let declared = self.endpoints.iter().find(|declared| declared.endpoint.name == tool);
        let declared = declared.ok_or_else(|| {
            ToolError::new(format!("there is no tool {tool}")).with_kind(ToolErrorKind::UnknownTool)
        })?;
        self.answer(declared, arguments, &context).await
    }

    fn is_error(&self, output: &HttpOutput) -> bool {
        output.is_error()
    }
}
