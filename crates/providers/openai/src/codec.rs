//! The codec of a model behind a server that speaks one of OpenAI's two APIs.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use attache_core::{ModelCapabilities, ProviderError};
use attache_transport::{Ask, CountRequest, Decoder, EncodedRequest, Reading};

use crate::profile::Profile;
use crate::server::Server;

/// One of OpenAI's APIs for one model of one profile: requests to HTTP, answers to chunks. It does no I/O.
#[derive(Clone, Debug)]
pub struct ServerCodec<D> {
    pub(crate) server: Server,
    dialect: PhantomData<D>,
}

/// One of the two APIs of such a server: the things that the other does in another way.
pub trait Dialect: Clone + fmt::Debug + Send + Sync + Sized + 'static {
    /// The profile of OpenAI itself.
    fn openai() -> Arc<Profile>;

    /// The request.
    ///
    /// # Errors
    /// [`ProviderError`] if the API cannot be asked so.
    fn encode(ask: Ask<'_, ServerCodec<Self>>) -> Result<EncodedRequest, ProviderError>;

    /// The request that counts the tokens of another, if the server can.
    ///
    /// # Errors
    /// As of [`encode`](Self::encode).
    fn count(ask: Ask<'_, ServerCodec<Self>>) -> Option<Result<CountRequest, ProviderError>> {
        let _ = ask;
        None
    }

    /// The decoder of a reply.
    fn decoder(profile: &Profile, reading: Reading) -> Box<dyn Decoder>;

    /// True if a request can name files that the server keeps.
    fn keeps_files(profile: &Profile) -> bool;
}

impl<D: Dialect> ServerCodec<D> {
    /// The codec for a model, with what the bundled matrix knows of it.
    pub fn new(profile: impl Into<Arc<Profile>>, model: &str) -> Self {
        Self { server: Server::new(&profile.into(), model), dialect: PhantomData }
    }

    /// Sets what the model can do, as a configured matrix says.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: impl Into<Arc<ModelCapabilities>>) -> Self {
        self.server.set_capabilities(capabilities.into());
        self
    }

    /// The profile as it is for the model.
    pub fn profile(&self) -> &Profile {
        &self.server.profile
    }

    /// The model's id at the server.
    pub fn model(&self) -> &str {
        &self.server.model
    }
}

impl<D: Dialect> From<&str> for ServerCodec<D> {
    /// A model at OpenAI.
    fn from(model: &str) -> Self {
        Self::new(D::openai(), model)
    }
}
