//! Requests of the protocol, in both versions and both ways to write them.

use attache_transport::{RequestParts, percent_encoded};
use http::header::{ACCEPT, ACCEPT_ENCODING};
use http::{HeaderName, Method};
use serde_json::{Value, json};

use crate::card::{A2aBinding, Interface};
use crate::wire::{A2aVersion, Draft, send_params};

const VERSION: HeaderName = HeaderName::from_static("a2a-version");

/// A request to an agent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ask<'a> {
    /// A message; the answer comes at once.
    Send(&'a Draft),
    /// A message; the answer is a stream.
    Stream(&'a Draft),
    Get(&'a str),
    Cancel(&'a str),
    /// The rest of a task's stream.
    Subscribe(&'a str),
    SetPush {
        task: &'a str,
        url: &'a str,
        token: &'a str,
    },
    ExtendedCard,
}

impl Ask<'_> {
    pub(crate) fn is_stream(self) -> bool {
        matches!(self, Self::Stream(_) | Self::Subscribe(_))
    }

    /// The request, without credentials.
    pub(crate) fn parts(self, interface: &Interface) -> RequestParts {
        let parts = match interface.binding {
            A2aBinding::JsonRpc => self.as_rpc(interface),
            A2aBinding::HttpJson => self.as_rest(interface),
        };
        let accept =
            if self.is_stream() { "text/event-stream, application/json" } else { "application/json" };
        parts
            .with_header(ACCEPT, accept)
            .with_header(ACCEPT_ENCODING, "identity")
            .with_header(VERSION, interface.version.as_str())
    }

    fn as_rpc(self, interface: &Interface) -> RequestParts {
        let old = interface.version == A2aVersion::V0_3;
        let (before, now, mut params) = match self {
            Self::Send(draft) => {
                ("message/send", "SendMessage", send_params(interface.version, draft, false))
            }
            Self::Stream(draft) => {
                ("message/stream", "SendStreamingMessage", send_params(interface.version, draft, true))
            }
            Self::Get(id) => ("tasks/get", "GetTask", json!({"id": id, "historyLength": 100})),
            Self::Cancel(id) => ("tasks/cancel", "CancelTask", json!({"id": id})),
            Self::Subscribe(id) => ("tasks/resubscribe", "SubscribeToTask", json!({"id": id})),
            Self::SetPush { task, url, token } => {
                let params = match old {
                    true => json!({"taskId": task, "pushNotificationConfig": {"url": url, "token": token}}),
                    false => json!({"taskId": task, "url": url, "token": token}),
                };
                ("tasks/pushNotificationConfig/set", "CreateTaskPushNotificationConfig", params)
            }
            Self::ExtendedCard => ("agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard", json!({})),
        };
        if let (Some(tenant), Some(params)) = (&interface.tenant, params.as_object_mut()) {
            params.insert("tenant".to_owned(), tenant.clone().into());
        }
        let method = if old { before } else { now };
        let body = json!({"jsonrpc": "2.0", "id": "1", "method": method, "params": params});
        RequestParts::post_json(interface.url.clone(), body.to_string())
    }

    fn as_rest(self, interface: &Interface) -> RequestParts {
        let step = |text: &str| percent_encoded(text.as_bytes());
        let (method, path, body): (_, _, Option<Value>) = match self {
            Self::Send(draft) => {
                (Method::POST, "message:send".to_owned(), Some(send_params(interface.version, draft, false)))
            }
            Self::Stream(draft) => {
                (Method::POST, "message:stream".to_owned(), Some(send_params(interface.version, draft, true)))
            }
            Self::Get(id) => (Method::GET, format!("tasks/{}?historyLength=100", step(id)), None),
            Self::Cancel(id) => (Method::POST, format!("tasks/{}:cancel", step(id)), Some(json!({}))),
            Self::Subscribe(id) => (Method::GET, format!("tasks/{}:subscribe", step(id)), None),
            Self::SetPush { task, url, token } => {
                let body = json!({"taskId": task, "url": url, "token": token});
                (Method::POST, format!("tasks/{}/pushNotificationConfigs", step(task)), Some(body))
            }
            Self::ExtendedCard => (Method::GET, "extendedAgentCard".to_owned(), None),
        };
        let tenant =
            interface.tenant.as_deref().map(|tenant| format!("{}/", step(tenant))).unwrap_or_default();
        let url = format!("{}/{tenant}{path}", interface.url.trim_end_matches('/'));
        match body {
            Some(body) => RequestParts::post_json(url, body.to_string()),
            None => {
                let mut parts = RequestParts::get(url);
                parts.method = method;
                parts
            }
        }
    }
}

/// The request for a card.
pub(crate) fn card(url: String) -> RequestParts {
    RequestParts::get(url)
        .with_header(ACCEPT, "application/json")
        .with_header(ACCEPT_ENCODING, "identity")
        .with_header(VERSION, A2aVersion::V1.as_str())
}
