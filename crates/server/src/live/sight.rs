//! The place from which somebody looks at a run, in whichever process it is driven.

use std::sync::Arc;

use super::follow::{Follower, Next};
use super::viewer::Viewer;

/// The place from which somebody looks at a run.
#[derive(Debug)]
pub(crate) enum Sight {
    /// This process drives it.
    Here(Viewer),
    /// Another one does, or nobody.
    Elsewhere(Box<Follower>),
}

impl From<Viewer> for Sight {
    fn from(viewer: Viewer) -> Self {
        Self::Here(viewer)
    }
}

impl From<Follower> for Sight {
    fn from(follower: Follower) -> Self {
        Self::Elsewhere(Box::new(follower))
    }
}

impl Sight {
    /// The next things; `None` behind the last one.
    pub(crate) async fn next(&mut self) -> Option<Next> {
        let next = match self {
            Self::Here(viewer) => return viewer.next().await.map(Next::Seen),
            Self::Elsewhere(follower) => follower.next().await,
        };
        if let Some(Next::Moved(live)) = &next {
            *self = Self::Here(Viewer::behind(Arc::clone(live), None));
        }
        next
    }
}
