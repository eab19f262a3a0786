//! Options that a model or API cannot honour.

use std::ops::RangeInclusive;

use attache_core::settings::Unsupported;
use attache_core::{Degradation, Effort, ErrorKind, ModelSettings, ProviderError};

/// Any number.
pub const ANY: RangeInclusive<f64> = f64::NEG_INFINITY..=f64::INFINITY;

/// Refuses such options or, where the caller allows it, records what is done instead.
#[derive(Debug)]
pub struct Refusals<'a> {
    model: &'a str,
    degrade: bool,
    left_out: &'static str,
    recorded: Vec<Degradation>,
}

impl<'a> Refusals<'a> {
    /// Nothing recorded yet. `policy` is the caller's,
    /// [`ModelSettings::unsupported`](attache_core::ModelSettings::unsupported).
    pub fn new(model: &'a str, policy: Option<Unsupported>) -> Self {
        let degrade = policy == Some(Unsupported::Degrade);
        Self { model, degrade, left_out: "it was left out", recorded: Vec::new() }
    }

    /// Says of what is left out that it was `left_out`.
    #[must_use]
    pub fn saying(self, left_out: &'static str) -> Self {
        Self { left_out, ..self }
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

    /// `option` cannot be honoured. Returns if the caller allows to leave it out, which is then recorded.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] otherwise.
    pub fn leave_out(&mut self, option: &str, why: &str) -> Result<(), ProviderError> {
        self.refuse(option, why, self.left_out)
    }

    /// The value of an option, or nothing where `why_not` says that it cannot be honoured and the caller allows to
    /// leave it out.
    ///
    /// # Errors
    /// As for [`leave_out`](Self::leave_out).
    pub fn keep<T>(
        &mut self,
        option: &str,
        value: Option<T>,
        why_not: Option<&str>,
    ) -> Result<Option<T>, ProviderError> {
        match (value, why_not) {
            (Some(_), Some(why)) => self.leave_out(option, why).map(|()| None),
            (value, _) => Ok(value),
        }
    }

    /// A number as it is sent: within `bounds` as it was given, outside of them refused, or the nearest where the caller
    /// allows it.
    ///
    /// # Errors
    /// As for [`leave_out`](Self::leave_out), and [`ErrorKind::Configuration`] for what is no finite number.
    pub fn number(
        &mut self,
        option: &str,
        value: Option<f64>,
        why_not: Option<&str>,
        bounds: RangeInclusive<f64>,
    ) -> Result<Option<f64>, ProviderError> {
        let value = value.map(|value| Self::finite(option, value)).transpose()?;
        let Some(value) = self.keep(option, value, why_not)? else { return Ok(None) };
        let (least, most) = bounds.into_inner();
        if value < least || value > most {
            let why = match most.is_finite() {
                true => format!("it must lie between {least} and {most}"),
                false => format!("it must be at least {least}"),
            };
            self.refuse(option, &why, "the nearest was taken")?;
        }
        Ok(Some(value.clamp(least, most)))
    }

    /// The stop sequences, without those that say nothing by `is_empty`, `word` being for these, and the first `most`
    /// of them.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if that leaves any out and the caller does not allow it.
    pub fn stops<'c>(
        &mut self,
        settings: &'c ModelSettings,
        word: &str,
        is_empty: impl Fn(&str) -> bool,
        most: usize,
    ) -> Result<Vec<&'c str>, ProviderError> {
        let stops = settings.stop.as_deref().unwrap_or_default();
        let mut filled: Vec<&str> = stops.iter().map(String::as_str).filter(|stop| !is_empty(stop)).collect();
        if filled.len() < stops.len() {
            let (why, instead) =
                (format!("a stop sequence must not be {word}"), format!("{word} ones were left out"));
            self.refuse("stop", &why, &instead)?;
        }
        if filled.len() > most {
            let why = format!("there may be {most} stop sequences");
            self.refuse("stop", &why, "the first were taken")?;
            filled.truncate(most);
        }
        Ok(filled)
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

    /// The number that was recorded.
    pub fn count(&self) -> usize {
        self.recorded.len()
    }

    /// The refusals that were recorded.
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
