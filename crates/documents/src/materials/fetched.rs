//! The contents at the addresses of external documents: fetched once, kept as they were.

use attache_core::fetcher::{Fetched, Fetcher};
use attache_core::{Document, DocumentStore, MediaType, StoreErrorKind};
use serde::{Deserialize, Serialize};

use crate::materials::material::Material;

/// The server's answer about a document, kept beside its bytes: a resumed run shows the same name and type.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Note {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file_name: Option<String>,
}

/// Brings the content of an external document: from the store, if it was fetched before, else from its address.
pub(crate) async fn bring(
    document: &Document,
    url: &str,
    store: &dyn DocumentStore,
    fetcher: Option<&dyn Fetcher>,
) -> Material {
    match store.get(document.id()).await {
        Ok(bytes) => {
            let note = recall(document, store).await;
            let media_type = note.content_type.as_deref().and_then(MediaType::parse);
            let fetched = Fetched::new(bytes).with_media_type(media_type).with_file_name(note.file_name);
            return Material::Fetched(fetched);
        }
        Err(error) if error.kind() == StoreErrorKind::NotFound => {}
        // It may have been shown before, and what is at the address now may be something else.
        Err(error) => {
            tracing::warn!(document = %document.id(), %error, "a document cannot be loaded");
            return Material::Missing("its content cannot be read from the store".to_owned());
        }
    }
    let Some(fetcher) = fetcher else {
        return Material::Missing("it is at an address that is not fetched".to_owned());
    };
    match fetcher.fetch(url).await {
        Ok(fetched) => {
            keep(document, &fetched, store).await;
            Material::Fetched(fetched)
        }
        Err(error) => {
            tracing::warn!(document = %document.id(), %error, "a document cannot be fetched");
            Material::Missing(error.to_string())
        }
    }
}

/// Puts what was fetched into the store, what the server said of it first, so that whoever finds the one finds the other.
async fn keep(document: &Document, fetched: &Fetched, store: &dyn DocumentStore) {
    let note = Note {
        content_type: fetched.media_type.as_ref().map(ToString::to_string),
        file_name: fetched.file_name.clone(),
    };
    let put = async {
        if note.content_type.is_some() || note.file_name.is_some() {
            let json = serde_json::to_vec(&note).unwrap_or_default();
            let note = Document::from_bytes(json, "application/json").with_id(document.id().facts());
            store.put(&note).await?;
        }
        store.put(&document.clone().with_bytes(fetched.bytes.clone())).await
    };
    if let Err(error) = put.await {
        tracing::warn!(document = %document.id(), %error, "a fetched document cannot be kept, and will be fetched again by a resumed run");
    }
}

/// The server's answer when the document was fetched; nothing if that is not known any more.
async fn recall(document: &Document, store: &dyn DocumentStore) -> Note {
    let kept = store.get(&document.id().facts()).await;
    let note = kept.ok().and_then(|json| serde_json::from_slice(&json).ok());
    note.unwrap_or(Note { content_type: None, file_name: None })
}
