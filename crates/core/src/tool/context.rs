//! The context of a call.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::document::Document;
use crate::future::BoxFuture;
use crate::id::ToolCallId;
use crate::tool::{
    Asking, ConversationDocuments, Deferred, DocumentRef, Listening, Progress, ToolError, ToolErrorKind,
    Unanswered,
};

/// Everything that a tool knows about its call. The model never sees it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ToolContext {
    /// The run that the call belongs to.
    pub run_id: Option<String>,
    /// The call.
    pub call_id: Option<ToolCallId>,
    /// The step of the run, from 1; 0 outside of a run.
    pub step: u32,
    /// The principal on whose behalf the run works.
    pub principal: Option<String>,
    /// The session that the run belongs to.
    pub session: Option<String>,
    /// The time at which the call times out.
    pub deadline: Option<Instant>,
    /// A key that is the same for each attempt at this call, for services that support it.
    pub idempotency_key: Option<String>,
    /// The store that will receive the call's documents.
    pub store_id: Option<String>,
    /// The documents of the conversation at the time of the call.
    pub documents: ConversationDocuments,
    /// The values that the caller of the run passes to its tools.
    pub extensions: Extensions,
    /// The values shared by all calls of the run.
    pub run_values: RunValues,
    /// The people whom the tool may ask; none outside of a run.
    pub asking: Asking,
    /// The listeners to the progress of the call; none outside of a run.
    pub listening: Listening,
}

impl ToolContext {
    /// Creates an empty context.
    pub fn new() -> Self {
        Self::default()
    }

    /// Resolves an argument to a document of the conversation. Its bytes may not be in memory.
    ///
    /// # Errors
    /// See [`ConversationDocuments::resolve`].
    pub fn document(&self, reference: &DocumentRef) -> Result<Document, ToolError> {
        self.documents.resolve(reference)
    }

    /// Resolves an argument to a document of the conversation, with its bytes in memory.
    ///
    /// # Errors
    /// See [`ConversationDocuments::load`].
    pub async fn load(&self, reference: &DocumentRef) -> Result<Document, ToolError> {
        self.documents.load(reference).await
    }

    /// Adds a value that tools can look up by type.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, value: T) -> Self {
        self.extensions.insert(value);
        self
    }

    /// The caller's value of type `T`.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.extensions.get()
    }

    /// The value of type `T` that the calls of the run share, such as a connection or a cache of texts. The first call
    /// that requests it creates it, and it is dropped with the run. Outside of a run each request creates a new one.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use attache_core::ToolContext;
    /// use attache_core::tool::RunValues;
    ///
    /// let mut context = ToolContext::new();
    /// context.run_values = RunValues::new();
    /// context.run_value::<AtomicU32>().fetch_add(1, Ordering::Relaxed);
    /// assert_eq!(context.clone().run_value::<AtomicU32>().load(Ordering::Relaxed), 1);
    /// ```
    pub fn run_value<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        self.run_values.get_or_default()
    }

    /// Asks the people behind the run while the tool works and waits for their answer; the call's timeout is paused
    /// meanwhile. The tool must declare this in advance ([`ToolMetadata::asks`](crate::tool::ToolMetadata::asks)).
    ///
    /// A question with a handle outlives the process: if nobody answers while the run waits, the run ends with the
    /// question, and the call is repeated once there is an answer. The tool then reads the handle
    /// ([`left_off`](Self::left_off)), continues from there, and asks the same question again to get the answer. A tool
    /// whose state cannot be saved asks without a handle; it is then told that nobody is there.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub fn ask(&self, question: Deferred) -> BoxFuture<'static, Result<serde_json::Value, Unanswered>> {
        match self.asking.people() {
            Some(people) => people.ask(question),
            None => Box::pin(std::future::ready(Err(Unanswered::Nobody))),
        }
    }

    /// Reports the progress of the call to the people who watch it. A tool may call this as often as it likes: the
    /// latest report is delivered about ten times a second. The model never sees it. Another task can report progress
    /// with a clone of [`listening`](Self::listening).
    ///
    /// ```
    /// use attache_core::ToolContext;
    /// use attache_core::tool::Progress;
    ///
    /// fn index(pages: &[&str], context: &ToolContext) {
    ///     for (done, page) in pages.iter().enumerate() {
    ///         context.progress(Progress::new(done as f64).with_total(pages.len() as f64).with_message(*page));
    ///     }
    /// }
    /// index(&["cover", "contents"], &ToolContext::new());
    /// ```
    pub fn progress(&self, progress: Progress) {
        self.listening.tell(progress);
    }

    /// The handle of the question at which an earlier attempt at this call stopped.
    pub fn left_off(&self) -> Option<String> {
        self.asking.people().and_then(|people| people.left_off())
    }

    /// The caller's value of type `T`.
    ///
    /// # Errors
    /// [`ToolErrorKind::MissingContext`] if the caller did not pass one.
    pub fn require<T: Any + Send + Sync>(&self) -> Result<&T, ToolError> {
        self.get().ok_or_else(|| {
            ToolError::new("this tool is not set up")
                .with_kind(ToolErrorKind::MissingContext)
                .with_source(format!("the tool context holds no {}", std::any::type_name::<T>()))
        })
    }
}

/// Values keyed by type. `Debug` shows how many there are, never their content.
#[derive(Clone, Default)]
pub struct Extensions(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Extensions {
    /// Adds a value, replacing one of the same type.
    pub fn insert<T: Any + Send + Sync>(&mut self, value: T) {
        self.0.insert(TypeId::of::<T>(), Arc::new(value));
    }

    /// The value of type `T`.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>()).and_then(|value| value.downcast_ref())
    }

    /// Adds the values of `over`, which replace values of the same type.
    pub fn extend(&mut self, over: &Extensions) {
        self.0.extend(over.0.iter().map(|(key, value)| (*key, Arc::clone(value))));
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Extensions({})", self.0.len())
    }
}

/// Values keyed by type that live as long as a run. Clones share them. `Debug` shows no values.
#[derive(Clone, Default)]
pub struct RunValues(Option<Arc<Mutex<Extensions>>>);

impl RunValues {
    /// Creates the values of a new run. Those of [`default`](Self::default) belong to no run and share nothing.
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    fn get_or_default<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        let Some(values) = &self.0 else { return Arc::default() };
        let mut values = values.lock().unwrap_or_else(PoisonError::into_inner);
        let value = values.0.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        Arc::clone(value).downcast().unwrap_or_default()
    }
}

impl fmt::Debug for RunValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "RunValues(of a run)" } else { "RunValues(of no run)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S11, S13
    #[test]
    fn values_by_type() {
        let mut defaults = ToolContext::new().with(1_u8).with("a");
        defaults.extensions.extend(&ToolContext::new().with(2_u8).extensions);
        assert_eq!((defaults.get::<u8>(), defaults.get::<&str>()), (Some(&2), Some(&"a")));
        assert_eq!(defaults.require::<u64>().unwrap_err().kind(), ToolErrorKind::MissingContext);
        assert_eq!(format!("{:?}", defaults.extensions), "Extensions(2)");
    }
}
