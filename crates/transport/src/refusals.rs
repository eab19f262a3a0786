//! Options that a model or API cannot honour.

use attache_core::{Degradation, Effort, ErrorKind, ProviderError, Unsupported};

/// Refuses such options or, where the caller allows it, records what is done instead.
#[derive(Debug)]
pub struct Refusals<'a> {
    model: &'a str,
    degrade: bool,
    recorded: Vec<Degradation>,
}

impl<'a> Refusals<'a> {
    /// Nothing recorded yet. `policy` is the caller's,
    /// [`ModelSettings::unsupported`](attache_core::ModelSettings::unsupported).
    pub fn new(model: &'a str, policy: Option<Unsupported>) -> Self {
        Self { model, degrade: policy == Some(Unsupported::Degrade), recorded: Vec::new() }
    }

    /// `option` cannot be honoured. Returns if the caller allows to do `instead`, which is then recorded.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] otherwise.
    pub fn refuse(&mut self, option: &str, why: &str, instead: &str) -> Result<(), ProviderError> {
        if self.degrade {
            self.note(option, format!("{why}; {instead}"));
            return Ok(());
        }
        let message = format!("{} cannot honour {option}: {why}", self.model);
        Err(ProviderError::new(ErrorKind::Unsupported, message).with_param(option.to_owned()))
    }

    /// Records what needs nobody's leave.
    pub fn note(&mut self, option: &str, note: impl Into<String>) {
        self.recorded.push(Degradation::new(option, note));
    }

    /// `asked` if the model knows it, else the nearest: the next lower one, or its lowest. `None` if it knows none,
    /// and then `instead` says what is done.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if it does not know it and the caller wants exactly it.
    pub fn effort(
        &mut self,
        asked: Effort,
        known: &[Effort],
        instead: &str,
    ) -> Result<Option<Effort>, ProviderError> {
        if known.contains(&asked) {
            return Ok(Some(asked));
        }
        let below = known.iter().filter(|effort| **effort < asked).max();
        let nearest = below.or_else(|| known.iter().min()).copied();
        let names: Vec<&str> = known.iter().map(|effort| effort.as_str()).collect();
        match nearest {
            Some(nearest) => {
                let why = format!("the model knows the efforts {}, not {}", names.join(", "), asked.as_str());
                self.refuse("reasoning", &why, &format!("{} was taken", nearest.as_str()))?;
            }
            None => self.refuse("reasoning", "the model knows no efforts", instead)?,
        }
        Ok(nearest)
    }

    /// A sampling option that must be a finite number.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] for one that is none.
    pub fn finite(option: &str, value: f64) -> Result<f64, ProviderError> {
        if value.is_finite() {
            return Ok(value);
        }
        let message = format!("{option} is not a number");
        Err(ProviderError::new(ErrorKind::Configuration, message).with_param(option.to_owned()))
    }

    /// How many were recorded.
    pub fn count(&self) -> usize {
        self.recorded.len()
    }

    /// What was recorded.
    pub fn into_recorded(self) -> Vec<Degradation> {
        self.recorded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // P05, invariant 12
    #[test]
    fn the_nearest_effort_is_taken_only_with_leave() {
        let known = [Effort::Low, Effort::High];
        let mut strict = Refusals::new("m", None);
        assert_eq!(strict.effort(Effort::High, &known, "left out").unwrap(), Some(Effort::High));
        let error = strict.effort(Effort::Max, &known, "left out").unwrap_err();
        assert_eq!((error.kind(), error.param()), (ErrorKind::Unsupported, Some("reasoning")));
        let mut lenient = Refusals::new("m", Some(Unsupported::Degrade));
        assert_eq!(lenient.effort(Effort::Medium, &known, "left out").unwrap(), Some(Effort::Low));
        assert_eq!(lenient.effort(Effort::Minimal, &known, "left out").unwrap(), Some(Effort::Low));
        assert_eq!(lenient.effort(Effort::Low, &[], "left out").unwrap(), None);
        assert_eq!(lenient.count(), 3);
        assert!(lenient.into_recorded()[2].note.ends_with("left out"));
        assert!(Refusals::finite("top_p", f64::NAN).is_err() && Refusals::finite("top_p", 0.5).is_ok());
    }
}
