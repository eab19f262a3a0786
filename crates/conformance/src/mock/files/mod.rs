//! The files that providers keep: uploaded, looked at, deleted, expired, and named in requests.

mod anthropic;
mod form;
mod gemini;
mod openai;
mod store;
mod uses;

pub(crate) use self::store::Files;
pub use self::store::StoredFile;

use super::answer::Rendered;
use super::record::RecordedRequest;
use super::rules::{Rules, Violation};
use crate::api::Api;
use crate::digest::sha256_hex;
use crate::documents::SeenDocument;

impl Files {
    /// Answers a request about files.
    pub(crate) fn answer(
        &self,
        api: Api,
        request: &RecordedRequest,
        rules: &Rules,
    ) -> Result<Rendered, Violation> {
        match api {
            Api::Messages => anthropic::answer(self, request, rules),
            Api::Gemini => gemini::answer(self, request, rules),
            _ => openai::answer(self, request, rules),
        }
    }

    /// Checks that the files which a request names are there and may stand where they do.
    pub(crate) fn check_use(
        &self,
        api: Api,
        request: &RecordedRequest,
        rules: &Rules,
    ) -> Result<(), Violation> {
        uses::check(self, api, request, rules)
    }

    /// Puts the content of files, ended ones too, where documents only refer to them.
    pub(crate) fn resolve(&self, api: Api, documents: &mut [SeenDocument]) {
        let state = self.lock();
        for document in documents {
            let Some(reference) = document.reference.as_deref() else { continue };
            let id = uses::id_in(api, reference);
            let Some(entry) = id.and_then(|id| state.entries.iter().find(|entry| entry.file.id == id)) else {
                continue;
            };
            document.sha256 = Some(sha256_hex(&entry.file.bytes));
            document.bytes_len = entry.file.bytes.len();
            if document.media_type.is_empty() {
                document.media_type.clone_from(&entry.file.media_type);
            }
            document.file_name.get_or_insert_with(|| entry.file.file_name.clone());
        }
    }
}
