//! Changes that clients are told.

use std::collections::BTreeSet;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::{Mutex, PoisonError};

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer, SubscriptionContext};

/// A client that is told of changes, in whichever era. It is gone when it says `Break`.
pub(super) trait Told {
    fn is_over(&self) -> bool;

    fn tools(&self) -> impl Future<Output = ControlFlow<()>> + Send;

    /// There are other documents.
    fn list(&self) -> impl Future<Output = ControlFlow<()>> + Send;

    /// A document is another, if the client wants to know of it.
    fn document(&self, uri: &str) -> impl Future<Output = ControlFlow<()>> + Send;

    /// Any document may be another.
    fn all(&self) -> impl Future<Output = ControlFlow<()>> + Send;
}

/// A client with a session, which subscribes by requests.
pub(super) struct OfSession<'a> {
    pub(super) peer: Peer<RoleServer>,
    pub(super) watched: &'a Mutex<BTreeSet<String>>,
}

/// A client that listens by a request, which says what it wants to hear of.
pub(super) struct OfRequest<'a>(pub(super) &'a SubscriptionContext);

fn flow(was_sent: bool) -> ControlFlow<()> {
    if was_sent { Continue(()) } else { Break(()) }
}

impl OfSession<'_> {
    fn watched(&self) -> BTreeSet<String> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn updated(&self, uri: &str) -> ControlFlow<()> {
        flow(self.peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.is_ok())
    }
}

impl Told for OfSession<'_> {
    fn is_over(&self) -> bool {
        self.peer.is_transport_closed()
    }

    async fn tools(&self) -> ControlFlow<()> {
        flow(self.peer.notify_tool_list_changed().await.is_ok())
    }

    async fn list(&self) -> ControlFlow<()> {
        flow(self.peer.notify_resource_list_changed().await.is_ok())
    }

    async fn document(&self, uri: &str) -> ControlFlow<()> {
        if self.watched().contains(uri) { self.updated(uri).await } else { Continue(()) }
    }

    async fn all(&self) -> ControlFlow<()> {
        for uri in self.watched() {
            self.updated(&uri).await?;
        }
        self.list().await
    }
}

impl OfRequest<'_> {
    fn watched(&self) -> &[String] {
        self.0.accepted().resource_subscriptions.as_deref().unwrap_or_default()
    }

    async fn updated(&self, uri: &str) -> ControlFlow<()> {
        flow(self.0.sink().notify_resource_updated(uri).await.is_ok())
    }
}

impl Told for OfRequest<'_> {
    fn is_over(&self) -> bool {
        false
    }

    async fn tools(&self) -> ControlFlow<()> {
        match self.0.accepted().tools_list_changed {
            Some(true) => flow(self.0.sink().notify_tool_list_changed().await.is_ok()),
            _ => Continue(()),
        }
    }

    async fn list(&self) -> ControlFlow<()> {
        match self.0.accepted().resources_list_changed {
            Some(true) => flow(self.0.sink().notify_resource_list_changed().await.is_ok()),
            _ => Continue(()),
        }
    }

    async fn document(&self, uri: &str) -> ControlFlow<()> {
        let is_watched = self.watched().iter().any(|watched| watched == uri);
        if is_watched { self.updated(uri).await } else { Continue(()) }
    }

    async fn all(&self) -> ControlFlow<()> {
        for uri in self.watched() {
            self.updated(uri).await?;
        }
        self.list().await
    }
}
