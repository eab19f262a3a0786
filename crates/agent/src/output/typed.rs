//! Runs whose answer is a value of a Rust type.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::ops::Deref;
use std::pin::Pin;

use async_stream::stream;
use attache_core::schema::Violation;
use attache_core::schemars::JsonSchema;
use attache_core::structured::StructuredError;
use futures_core::Stream;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::spec::{OutputMode, OutputSpec};
use crate::driver::AgentRun;
use crate::event::EventKind;
use crate::outcome::{EndReason, Outcome, RunError};

impl AgentRun {
    /// Asks for the answer as a value of a type: one that the type's schema fits and that it reads. Awaiting it runs to
    /// the end.
    ///
    /// ```
    /// use attache_agent::Agent;
    /// use attache_core::schemars::{self, JsonSchema};
    /// # use attache_testkit::{ScriptedModel, Turn};
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Invoice {
    ///     number: String,
    ///     total: f64,
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let answer = serde_json::json!({"number": "2026-0417", "total": 4812.36});
    /// # let model = ScriptedModel::new([Turn::call("final_answer", answer)]);
    /// let agent = Agent::builder(model).build()?;
    /// let invoice = agent.run("Read the invoice.").typed::<Invoice>().await?;
    /// assert_eq!((&*invoice.number, invoice.total), ("2026-0417", 4812.36));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A run that is resumed has the mode, the schema and the retries of its log.
    pub fn typed<T: JsonSchema + DeserializeOwned>(self) -> TypedRun<T> {
        TypedRun { run: self, spec: OutputSpec::of::<T>(), of: PhantomData }
    }

    /// Asks for the answer as a value, which [`Outcome::structured`] holds. A run that was polled already, or is
    /// resumed, stays as it is.
    #[must_use]
    pub fn with_output(self, spec: OutputSpec) -> Self {
        self.control().ask_for(spec);
        self
    }
}

/// A run whose answer is a value of `T`. Await it for the value, or [stream](Self::stream) it.
#[must_use = "nothing happens until it is awaited or streamed"]
pub struct TypedRun<T> {
    run: AgentRun,
    spec: OutputSpec,
    of: PhantomData<fn() -> T>,
}

/// A value, and the run that it is the answer of. It reads like the value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Typed<T> {
    /// The value.
    pub value: T,
    /// The run's outcome. Its reason may be a limit at which the model still gave the value.
    pub outcome: Outcome,
}

/// One item of a typed stream.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TypedItem<T> {
    /// The known part of a value that is still written, or may yet be mended. Members are missing and texts
    /// end early; nobody should act on it.
    Partial(Value),
    /// The value, which comes last.
    Done(Box<Typed<T>>),
}

impl<T: DeserializeOwned> TypedRun<T> {
    /// Sets the way in which the model is asked. By default its capabilities decide.
    pub fn with_mode(mut self, mode: OutputMode) -> Self {
        self.spec.mode = mode;
        self
    }

    /// Sets how often the model may mend an answer that does not fit. 2 by default.
    pub fn with_retries(mut self, retries: u32) -> Self {
        self.spec.retries = retries;
        self
    }

    /// The value as it grows, and the whole one at the end.
    ///
    /// ```
    /// use attache_agent::{Agent, TypedItem};
    /// use attache_core::schemars::{self, JsonSchema};
    /// # use attache_testkit::{ScriptedModel, Turn};
    /// use futures_util::StreamExt as _;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Poem {
    ///     lines: Vec<String>,
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let answer = serde_json::json!({"lines": ["I met a traveller"]});
    /// # let model = ScriptedModel::new([Turn::call("final_answer", answer)]);
    /// let agent = Agent::builder(model).build()?;
    /// let mut poem = agent.run("A poem, please.").typed::<Poem>().stream();
    /// while let Some(item) = poem.next().await {
    ///     match item? {
    ///         TypedItem::Partial(so_far) => println!("{so_far}"),
    ///         TypedItem::Done(poem) => assert_eq!(poem.lines.len(), 1),
    ///         _ => {}
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stream(self) -> impl Stream<Item = Result<TypedItem<T>, TypedError>> + Send + Unpin
    where
        T: Send,
    {
        let mut run = self.run.with_output(self.spec);
        Box::pin(stream! {
            while let Some(event) = run.next().await {
                match event.kind {
                    EventKind::PartialValue(value) => yield Ok(TypedItem::Partial(value)),
                    EventKind::Finished(ended) => {
                        let ended = ended.map(|outcome| *outcome);
                        yield read(ended).map(|typed| TypedItem::Done(Box::new(typed)));
                    }
                    _ => {}
                }
            }
        })
    }
}

impl<T: DeserializeOwned + Send + 'static> IntoFuture for TypedRun<T> {
    type Output = Result<Typed<T>, TypedError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let run = self.run.with_output(self.spec);
        Box::pin(async move { read(run.outcome().await) })
    }
}

fn read<T: DeserializeOwned>(ended: Result<Outcome, RunError>) -> Result<Typed<T>, TypedError> {
    let mut outcome = match ended {
        Ok(outcome) => outcome,
        Err(error) if *error.reason() == EndReason::InvalidAnswer => error.partial().clone(),
        Err(error) => return Err(TypedError::Run(error)),
    };
    match outcome.structured.take().map(|structured| *structured) {
        Some(Ok(value)) => match serde_json::from_value(value.clone()) {
            Ok(read) => {
                outcome.structured = Some(Box::new(Ok(value)));
                Ok(Typed { value: read, outcome })
            }
            Err(error) => Err(TypedError::Unreadable { outcome: Box::new(outcome), error }),
        },
        Some(Err(error)) => Err(TypedError::Unfit { outcome: Box::new(outcome), error }),
        None => Err(TypedError::NoAnswer(Box::new(outcome))),
    }
}

impl<T> Deref for Typed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> fmt::Debug for TypedRun<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedRun").field("run", &self.run).field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// The reason why a run has no value of its type.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TypedError {
    /// The run failed.
    #[error("the run failed")]
    Run(#[from] RunError),
    /// The run ended without an answer: the model declined, its reply was cut or withheld, calls wait.
    #[error("the run ended without an answer ({})", .0.reason)]
    NoAnswer(Box<Outcome>),
    /// The last answer does not fit the schema.
    #[error("{error}")]
    Unfit {
        /// The run's outcome, with the answer's text.
        outcome: Box<Outcome>,
        /// The places that do not fit.
        error: StructuredError,
    },
    /// The value fits the schema, and the type does not read it.
    #[error("the answer cannot be deserialised into the type")]
    Unreadable {
        /// The run's outcome, with the answer's text.
        outcome: Box<Outcome>,
        /// The type's error.
        #[source]
        error: serde_json::Error,
    },
}

impl TypedError {
    /// The outcome of the run, or what there is of it.
    pub fn outcome(&self) -> &Outcome {
        match self {
            Self::Run(error) => error.partial(),
            Self::NoAnswer(outcome) | Self::Unfit { outcome, .. } | Self::Unreadable { outcome, .. } => {
                outcome
            }
        }
    }

    /// The last text of the model.
    pub fn text(&self) -> &str {
        &self.outcome().text
    }

    /// The places of the last answer that do not fit its schema.
    pub fn violations(&self) -> &[Violation] {
        match self {
            Self::Unfit { error: StructuredError::Unfit(violations), .. } => violations,
            _ => &[],
        }
    }
}

// The outcome holds the whole conversation, which is no business of a log.
impl fmt::Debug for TypedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = self.outcome();
        let mut debug = f.debug_struct("TypedError");
        debug.field("message", &self.to_string());
        if let Self::Run(error) = self {
            debug.field("source", error);
        }
        debug.field("reason", &outcome.reason).field("steps", &outcome.steps).finish_non_exhaustive()
    }
}
