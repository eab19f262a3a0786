//! The account that uploads go to, and how it is asked.

use std::fmt;
use std::sync::Arc;

use attache_core::{ErrorKind, ModelSettings, ProviderError};
use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::{FileAnswer, FileApi, FileAsk, FileStep, NewFile, RemoteFile};
use crate::codec::Codec;
use crate::network::Network;
use crate::redact::host_of;

/// The maximum number of bytes of an answer about a file.
const ANSWER_LIMIT: usize = 1 << 20;

/// The maximum number of requests of one upload: a provider that is never done is not asked for ever.
const MOST_STEPS: usize = 1_000;

/// Headers that differ between accounts, the key aside.
const ACCOUNT_HEADERS: [&str; 8] = [
    "authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "x-goog-user-project",
    "openai-organization",
    "openai-project",
    "anthropic-workspace-id",
];

/// An API that uploads with a connection and the options of one call.
pub(crate) struct Owner {
    pub(crate) codec: Arc<dyn Codec>,
    pub(crate) network: Network,
    pub(crate) settings: ModelSettings,
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("codec", &self.codec).finish_non_exhaustive()
    }
}

impl Owner {
    pub(super) fn ask(&self) -> FileAsk<'_> {
        FileAsk::new(&self.settings, self.network.auth().key())
    }

    pub(super) fn api(&self) -> Result<&dyn FileApi, ProviderError> {
        let none = || ProviderError::new(ErrorKind::Unsupported, "the API keeps no files");
        self.codec.files().ok_or_else(none)
    }

    /// The mark that tells its account at its address from others. Of secrets a hash remains.
    pub(super) fn scope(&self) -> Result<Scope, ProviderError> {
        let parts = self.api()?.delete(self.ask(), "any")?;
        let mut digest = Sha256::new();
        let mut add = |text: &str| {
            digest.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
            digest.update(text);
        };
        add(&parts.url);
        add(self.network.auth().key().map_or("", |key| key.expose()));
        if let Some(signer) = self.network.auth().signer() {
            // As long as something is kept for it, it lives, and its address is no other's.
            add(&format!("{:p}", Arc::as_ptr(signer)));
        }
        for (name, value) in self.settings.extra_headers.iter() {
            if ACCOUNT_HEADERS.contains(&name) {
                add(name);
                add(value.expose());
            }
        }
        Ok(digest.finalize().into())
    }

    /// The host that keeps the files.
    pub(super) fn host(&self) -> String {
        let parts = self.api().and_then(|api| api.delete(self.ask(), "any"));
        parts.map_or_else(|_| String::new(), |parts| host_of(&parts.url).to_owned())
    }

    pub(super) async fn upload(&self, file: &NewFile) -> Result<RemoteFile, ProviderError> {
        let (api, ask) = (self.api()?, self.ask());
        let mut request = api.upload(ask, file)?;
        for _ in 0..MOST_STEPS {
            let read = |headers, body: Bytes| api.answered(ask, file, &FileAnswer::new(headers, body));
            let step = self.network.read(&request, self.codec.error_reader(), ANSWER_LIMIT, read).await?;
            request = match step {
                FileStep::Kept(file) => return Ok(file),
                FileStep::Send(next) => next,
                FileStep::Wait(time, next) => {
                    tokio::time::sleep(time).await;
                    next
                }
            };
        }
        Err(ProviderError::new(ErrorKind::Malformed, "the provider is never done with the file"))
    }

    /// Deletes a file. One that is gone already is no error.
    pub(super) async fn delete(&self, id: &str) -> Result<(), ProviderError> {
        let api = self.api()?;
        let request = api.delete(self.ask(), id)?;
        let read = |_, _| Ok(());
        match self.network.read(&request, self.codec.error_reader(), ANSWER_LIMIT, read).await {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound || api.is_lost(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// An account at an address, which files belong to.
pub(super) type Scope = [u8; 32];
