//! The tokens of attempts before the one that ends a call, and the models that used them: each has its own price.

use attache_core::{ModelUsage, ProviderError, StreamChunk, Usage};

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
            let mut counted = usage.clone();
            counted.input_tokens.get_or_insert(0);
            counted.output_tokens.get_or_insert(0);
            self.usage.add(usage);
            match error.usage_by_model() {
                [] => self.parts.push(ModelUsage::new(model, counted)),
                parts => self.parts.extend_from_slice(parts),
            }
        }
    }

    /// Adds an attempt whose tokens are the sum of `parts`, or all its model's if there are none.
    pub(super) fn add(&mut self, attempt: ModelUsage, parts: &[ModelUsage]) {
        self.usage.add(&attempt.usage);
        match parts.is_empty() {
            true => self.parts.push(attempt),
            false => self.parts.extend_from_slice(parts),
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
                let own = || {
                    let own = ModelUsage::new(model, completion.usage.clone());
                    Some(own.with_answered(completion.model.clone()))
                };
                if let Some(parts) = self.split(asked, model, own, &completion.usage_by_model) {
                    completion.usage_by_model = parts;
                }
                completion.add_earlier(&self.usage);
                Ok(StreamChunk::Done(completion))
            }
            Err(error) => Err(self.failed(error, asked, model)),
            chunk => chunk,
        }
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
    pub(super) fn split(
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
