//! The part that all models of this crate share: what they were asked, and whether all went as the test says.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_stream::stream;
use attache_core::capability::Matrix;
use attache_core::provider::StateCell;
use attache_core::{ChatRequest, ChunkStream, ErrorKind, ModelCapabilities, ProviderError, StreamChunk};

use crate::assertions::Asked;
use crate::exchange::Exchange;
use crate::turn::Turn;

/// Cloning shares everything.
#[derive(Clone, Debug)]
pub(crate) struct Double {
    id: String,
    capabilities: Arc<ModelCapabilities>,
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    kind: &'static str,
    script: Mutex<Script>,
    exchanges: Mutex<Vec<Exchange>>,
    pub(crate) state: StateCell,
    problems: Mutex<Vec<String>>,
    verified: AtomicBool,
}

/// The turns that are left, of a model that has a script.
pub(crate) type Script = std::collections::VecDeque<Turn>;

pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Double {
    /// `kind` names the model in messages to people, such as `ScriptedModel`, `name` is its id.
    pub(crate) fn new(kind: &'static str, name: &str, script: Script) -> Self {
        let shared = Shared {
            kind,
            script: Mutex::new(script),
            exchanges: Mutex::default(),
            state: StateCell::default(),
            problems: Mutex::default(),
            verified: AtomicBool::new(true),
        };
        Self {
            id: format!("{name}/model"),
            capabilities: Arc::new(ModelCapabilities::text_only(name, "model")),
            shared: Arc::new(shared),
        }
    }

    pub(crate) fn with_capabilities_of(self, family: &str, model: &str) -> Self {
        let matrix = Matrix::bundled();
        assert!(
            matrix.families().any(|known| known == family),
            "the bundled matrix has no family {family:?}; it has {}",
            matrix.families().collect::<Vec<_>>().join(", ")
        );
        self.with_capabilities(matrix.resolve(family, model))
    }

    pub(crate) fn with_capabilities(mut self, capabilities: ModelCapabilities) -> Self {
        self.capabilities = Arc::new(capabilities);
        self
    }

    pub(crate) fn unverified(self) -> Self {
        self.shared.verified.store(false, Ordering::Relaxed);
        self
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn capabilities(&self) -> &ModelCapabilities {
        &self.capabilities
    }

    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        lock(&self.shared.script)
    }

    pub(crate) fn asked(&self) -> Asked {
        Asked::new(lock(&self.shared.exchanges).clone())
    }

    /// Answers with the turn that `answer` gives for the request and its number, from 0.
    pub(crate) fn stream(
        &self,
        request: ChatRequest,
        answer: impl FnOnce(&Shared, &ChatRequest, usize) -> Option<Turn> + Send + 'static,
    ) -> ChunkStream {
        let shared = Arc::clone(&self.shared);
        Box::pin(stream! {
            shared.state.started();
            let number = shared.begin(&request);
            let Some(turn) = answer(&shared, &request, number) else {
                let message = format!("the script of the {} ended before call {}", shared.kind, number + 1);
                lock(&shared.problems).push(message.clone());
                let error = ProviderError::new(ErrorKind::InvalidRequest, message);
                shared.end(number, Err(&error));
                yield Err(error);
                return;
            };
            shared.judge(&request, number, &turn);
            for await chunk in turn.into_chunks() {
                match &chunk {
                    Ok(StreamChunk::Done(completion)) => shared.end(number, Ok(completion)),
                    Err(error) => shared.end(number, Err(error)),
                    Ok(_) => {}
                }
                yield chunk;
            }
        })
    }
}

impl Shared {
    /// The next turn of the script.
    pub(crate) fn next_turn(&self) -> Option<Turn> {
        lock(&self.script).pop_front()
    }

    fn begin(&self, request: &ChatRequest) -> usize {
        let mut exchanges = lock(&self.exchanges);
        exchanges.push(Exchange::begun(request.clone()));
        exchanges.len() - 1
    }

    fn end(&self, number: usize, outcome: Result<&attache_core::Completion, &ProviderError>) {
        self.state.finished(outcome.map(|completion| &completion.usage));
        if let Some(exchange) = lock(&self.exchanges).get_mut(number) {
            match outcome {
                Ok(completion) => exchange.reply = Some(completion.message.clone()),
                Err(error) => exchange.failure = Some(error.to_string()),
            }
        }
    }

    fn judge(&self, request: &ChatRequest, number: usize, turn: &Turn) {
        for call in turn.calls().filter(|call| request.tools.get(&call.name).is_none()) {
            let offered: Vec<&str> = request.tools.iter().map(|(_, tool)| tool.name()).collect();
            let offered = if offered.is_empty() { "no tool".to_owned() } else { offered.join(", ") };
            lock(&self.problems).push(format!(
                "call {} of the model was answered with a call of `{}`, but the request offers {offered}",
                number + 1,
                call.name
            ));
        }
    }

    fn all_problems(&self) -> Vec<String> {
        let mut problems = lock(&self.problems).clone();
        let left = lock(&self.script);
        if let Some(next) = left.front() {
            let count = match left.len() {
                1 => "1 turn".to_owned(),
                count => format!("{count} turns"),
            };
            problems.push(format!(
                "nobody asked for the last {count} of the script; the next is {}",
                next.gist()
            ));
        }
        problems
    }
}

/// The last handle says what did not go as the test says.
impl Drop for Shared {
    fn drop(&mut self) {
        // A second panic would end the process and hide the first.
        if std::thread::panicking() || !self.verified.load(Ordering::Relaxed) {
            return;
        }
        let problems = self.all_problems();
        assert!(
            problems.is_empty(),
            "the {} was not used as the test says:\n- {}\n(where that is meant: `.unverified()`)",
            self.kind,
            problems.join("\n- ")
        );
    }
}

/// The methods that a model of this crate hands to its [`Double`].
macro_rules! provider {
    () => {
        fn model_id(&self) -> &str {
            self.double.id()
        }

        fn capabilities(&self) -> &attache_core::ModelCapabilities {
            self.double.capabilities()
        }

        fn settings(&self) -> std::sync::Arc<attache_core::ModelSettings> {
            self.double.shared.state.settings()
        }

        fn set_settings(&self, config: attache_core::ModelSettings) {
            self.double.shared.state.set_settings(config);
        }

        fn state(&self) -> attache_core::provider::ProviderState {
            self.double.shared.state.state()
        }
    };
}

/// The methods that all models of this crate have for tests.
macro_rules! methods {
    () => {
        /// Sets the capabilities of a model in the bundled matrix, such as `anthropic` and `claude-sonnet-4-5`. The
        /// family is that of the API, such as `openai-responses` for OpenAI's models. By default it accepts only text.
        ///
        /// # Panics
        /// If the matrix has no such family: a test about a model that does not exist proves nothing.
        #[must_use]
        pub fn with_capabilities_of(mut self, family: &str, model: &str) -> Self {
            self.double = self.double.with_capabilities_of(family, model);
            self
        }

        /// Sets the capabilities, such as those of a model of your own registry.
        #[must_use]
        pub fn with_capabilities(mut self, capabilities: attache_core::ModelCapabilities) -> Self {
            self.double = self.double.with_capabilities(capabilities);
            self
        }

        /// Disables the panic when the last clone is dropped, about calls of tools that the request did not offer and
        /// about too few or too many scripted turns.
        #[must_use]
        pub fn unverified(mut self) -> Self {
            self.double = self.double.unverified();
            self
        }

        /// The requests so far with their replies, for assertions.
        pub fn asked(&self) -> crate::Asked {
            self.double.asked()
        }
    };
}

pub(crate) use {methods, provider};
