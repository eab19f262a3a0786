//! The tokens of attempts before the one that ends a call, and the models that used them: each has its own price.

use attache_core::{Completion, ModelUsage, ProviderError, StreamChunk, Usage};

/// The tokens of attempts that did not end a call.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    usage: Usage,
    parts: Vec<ModelUsage>,
}

impl Earlier {
    /// Adds an attempt of `model` that failed. Counts that its provider did not report add nothing.
    pub(super) fn add_failed(&mut self, model: &str, error: &ProviderError) {
        if let Some(usage) = error.usage() {
            self.usage.add(usage);
            self.parts.extend(error.usage_of_models(model));
        }
    }

    /// Adds an attempt of `model` whose reply means nothing.
    pub(super) fn add(&mut self, model: &str, reply: &Completion) {
        self.usage.add(&reply.usage);
        match reply.usage_by_model.is_empty() {
            true => self.parts.push(part(model, reply)),
            false => self.parts.extend_from_slice(&reply.usage_by_model),
        }
    }

    /// The chunk with the tokens of the attempts before it, if it is the end of the last one. That one is of `model`,
    /// and the caller asked `asked`.
    pub(super) fn told(
        &self,
        chunk: Result<StreamChunk, ProviderError>,
        asked: &str,
        model: &str,
    ) -> Result<StreamChunk, ProviderError> {
        match chunk {
            Ok(StreamChunk::Done(mut completion)) => {
                self.complete(&mut completion, asked, model);
                Ok(StreamChunk::Done(completion))
            }
            Err(error) => Err(self.failed(error, asked, model)),
            chunk => chunk,
        }
    }

    /// Adds the tokens of the attempts before it to the reply of the last one.
    pub(super) fn complete(&self, reply: &mut Completion, asked: &str, model: &str) {
        let own = || Some(part(model, reply));
        if let Some(parts) = self.split(asked, model, own, &reply.usage_by_model) {
            reply.usage_by_model = parts;
        }
        reply.add_earlier(&self.usage);
    }

    /// The error of the last attempt, of `model`, with the tokens of those before it.
    pub(super) fn failed(&self, error: ProviderError, asked: &str, model: &str) -> ProviderError {
        let usage = error.usage().cloned();
        let own = || usage.map(|usage| ModelUsage::new(model, usage));
        let error = match self.split(asked, model, own, error.usage_by_model()) {
            Some(parts) => error.with_usage_by_model(parts),
            None => error,
        };
        error.with_usage(&self.usage)
    }

    /// The parts of all attempts, if the last one is not all of the call: none are told of a call whose tokens are all
    /// those of the model that was asked.
    fn split(
        &self,
        asked: &str,
        model: &str,
        own: impl FnOnce() -> Option<ModelUsage>,
        own_parts: &[ModelUsage],
    ) -> Option<Vec<ModelUsage>> {
        if self.parts.is_empty() && asked == model {
            return None;
        }
        let is_of_one = own_parts.is_empty() && asked == model;
        if is_of_one && self.parts.iter().all(|part| part.model == asked) {
            return None;
        }
        let mut all = self.parts.clone();
        match own_parts.is_empty() {
            true => all.extend(own()),
            false => all.extend_from_slice(own_parts),
        }
        Some(all)
    }
}

/// The tokens of a reply of `model`.
fn part(model: &str, reply: &Completion) -> ModelUsage {
    ModelUsage::new(model, reply.usage.clone()).with_answered(reply.model.clone())
}
