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

/// Everything that a tool knows about its call. The model never sees any of it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ToolContext {
    /// The run that the call belongs to.
    pub run_id: Option<String>,
    /// The call.
    pub call_id: Option<ToolCallId>,
    /// The step of the run, from 1; 0 outside of a run.
    pub step: u32,
    /// On whose behalf the run works.
    pub principal: Option<String>,
    /// The session that the run belongs to.
    pub session: Option<String>,
    /// The time at which the call is given up.
    pub deadline: Option<Instant>,
    /// A key that is the same for each attempt at this call, for services that honour it.
    pub idempotency_key: Option<String>,
    /// The store in which the call's documents will be put.
    pub store_id: Option<String>,
    /// The documents of the conversation, as it stood when the model made the call.
    pub documents: ConversationDocuments,
    /// The values that the caller of the run passes to its tools.
    pub extensions: Extensions,
    /// The values that the calls of the run share.
    pub run_values: RunValues,
    /// The people whom the tool may ask; nobody outside of a run.
    pub asking: Asking,
    /// Those who hear how far the call has come; nobody outside of a run.
    pub listening: Listening,
}

impl ToolContext {
    /// A context that knows nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The document that an argument means, of those of the conversation. Its bytes may not be in memory.
    ///
    /// # Errors
    /// See [`ConversationDocuments::resolve`].
    pub fn document(&self, reference: &DocumentRef) -> Result<Document, ToolError> {
        self.documents.resolve(reference)
    }

    /// The document that an argument means, of those of the conversation, with its bytes in memory.
    ///
    /// # Errors
    /// See [`ConversationDocuments::load`].
    pub async fn load(&self, reference: &DocumentRef) -> Result<Document, ToolError> {
        self.documents.load(reference).await
    }

    /// Adds a value for tools to find by its type.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, value: T) -> Self {
        self.extensions.insert(value);
        self
    }

    /// The caller's value of type `T`.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.extensions.get()
    }

    /// The value of type `T` that the calls of the run share, such as a connection or texts that were read: the first
    /// call that asks makes it, and it goes with the run. Outside of a run each ask makes one of its own.
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

    /// Asks the people behind the run while the tool works, and waits for their answer; the call's time stands still
    /// meanwhile. The tool says beforehand that it does ([`ToolMetadata::asks`](crate::tool::ToolMetadata::asks)).
    ///
    /// A question with a handle outlives the process: if nobody answers while the run waits, the run ends with the
    /// question, and the call is made again once there is an answer. It reads the handle then
    /// ([`left_off`](Self::left_off)), goes on from there, and asks the same again to have the answer. A tool whose
    /// state cannot be written down asks without a handle; it learns then that nobody is there.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub fn ask(&self, question: Deferred) -> BoxFuture<'static, Result<serde_json::Value, Unanswered>> {
        match self.asking.people() {
            Some(people) => people.ask(question),
            None => Box::pin(std::future::ready(Err(Unanswered::Nobody))),
        }
    }

    /// Tells the people who look on how far the call has come, as often as the tool likes: about ten times a second they
    /// hear the newest. The model never sees it. Work that another task does tells it by a clone of
    /// [`listening`](Self::listening).
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
    /// [`ToolErrorKind::MissingContext`] if the caller passed none.
    pub fn require<T: Any + Send + Sync>(&self) -> Result<&T, ToolError> {
        self.get().ok_or_else(|| {
            ToolError::new("this tool is not set up")
                .with_kind(ToolErrorKind::MissingContext)
                .with_source(format!("the tool context holds no {}", std::any::type_name::<T>()))
        })
    }
}

/// Values by their type. Its `Debug` shows how many, never what.
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

    /// Adds the values of `over`, which win over those of the same type here.
    pub fn extend(&mut self, over: &Extensions) {
        self.0.extend(over.0.iter().map(|(key, value)| (*key, Arc::clone(value))));
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Extensions({})", self.0.len())
    }
}

/// Values that live as long as a run, by their type. Clones share them. Its `Debug` shows no value.
#[derive(Clone, Default)]
pub struct RunValues(Option<Arc<Mutex<Extensions>>>);

impl RunValues {
    /// The values of a run that begins. Those of [`default`](Self::default) belong to no run and share nothing.
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
