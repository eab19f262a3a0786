//! The tools that tell a model the time.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use attache_core::{Effect, Tool, ToolError, fresh};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Unit, Zoned};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::local::{Local, spec, wrong};

/// The tools `current_time` and `time_between`.
///
/// Zones have IANA names. The system's time zone database is used, or the bundled one if the system has none.
///
/// ```
/// use attache_tools::TimeTools;
/// let tools = TimeTools::new().with_zone("Europe/Berlin")?.tools(); // Agent::builder(model).tools(tools)
/// # Ok::<(), attache_tools::UnknownZone>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct TimeTools {
    zone: TimeZone,
    now: Arc<dyn Fn() -> SystemTime + Send + Sync>,
}

/// There is no time zone of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownZone(pub String);

impl fmt::Display for UnknownZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no time zone {:?}; zones have names such as Europe/Berlin", self.0)
    }
}

impl std::error::Error for UnknownZone {}

impl fmt::Debug for TimeTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimeTools").field("zone", &self.zone.iana_name()).finish_non_exhaustive()
    }
}

impl Default for TimeTools {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(Deserialize)]
struct Now {
    zone: Option<String>,
}

#[derive(Deserialize)]
struct Between {
    from: String,
    to: String,
    zone: Option<String>,
}

#[derive(Serialize)]
struct Moment {
    time: String,
    weekday: &'static str,
}

#[derive(Serialize)]
struct Distance {
    from: Moment,
    to: Moment,
    /// In years, months, days and less.
    calendar: String,
    days: i32,
    seconds: i64,
}

impl TimeTools {
    /// Creates the tools with this machine's clock, and UTC if the model gives no zone.
    pub fn new() -> Self {
        Self { zone: TimeZone::UTC, now: Arc::new(fresh::now) }
    }

    /// Sets the default zone, used if the model gives none.
    ///
    /// # Errors
    /// [`UnknownZone`] if there is none of that name.
    pub fn with_zone(mut self, name: &str) -> Result<Self, UnknownZone> {
        self.zone = TimeZone::get(name).map_err(|_| UnknownZone(name.to_owned()))?;
        Ok(self)
    }

    /// Sets the clock, such as a fixed one in a test.
    pub fn with_clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.now = Arc::new(now);
        self
    }

    /// Returns the tools.
    pub fn tools(self) -> Vec<Arc<dyn Tool>> {
        let other = self.clone();
        let zone = json!({"type": "string", "description": "A time zone, such as Europe/Berlin"});
        let moment = |which: &str| {
            let about = format!("The {which}: 2026-03-01, 2026-03-01T12:00, one with an offset or Z, or now");
            json!({"type": "string", "description": about})
        };
        let now =
            spec("current_time", "Tells the date, the time and the weekday", &json!({"zone": zone}), &[]);
        let between = spec(
            "time_between",
            "Tells how much time lies between two dates or times, and on which weekdays they fall",
            &json!({"from": moment("first"), "to": moment("second"), "zone": zone}),
            &["from", "to"],
        );
        vec![
            // Another call tells another time.
            Local::tool(now.with_effect(Effect::Read).with_poll(true), move |asked: Now, _| {
                Ok(told(&self.at_present(&self.zone_of(asked.zone)?)?))
            }),
            Local::tool(between.with_effect(Effect::Read), move |asked: Between, _| {
                let zone = other.zone_of(asked.zone)?;
                let from = other.moment(&asked.from, &zone)?;
                let to = other.moment(&asked.to, &zone)?;
                let apart = || wrong("the times are too far apart");
                let calendar = from.until((Unit::Year, &to)).map_err(|_| apart())?;
                let days = from.date().until((Unit::Day, to.date())).map_err(|_| apart())?.get_days();
                let seconds = to.timestamp().as_second() - from.timestamp().as_second();
                let calendar = calendar.to_string();
                Ok(Distance { calendar, days, seconds, from: told(&from), to: told(&to) })
            }),
        ]
    }

    fn zone_of(&self, name: Option<String>) -> Result<TimeZone, ToolError> {
        match name.filter(|name| !name.trim().is_empty()) {
            None => Ok(self.zone.clone()),
            Some(name) => TimeZone::get(name.trim()).map_err(|_| wrong(UnknownZone(name).to_string())),
        }
    }

    fn at_present(&self, zone: &TimeZone) -> Result<Zoned, ToolError> {
        let now = Timestamp::try_from((self.now)());
        let now = now.map_err(|error| ToolError::new("the clock tells no time").with_source(error))?;
        Ok(now.to_zoned(zone.clone()))
    }

    fn moment(&self, text: &str, zone: &TimeZone) -> Result<Zoned, ToolError> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("now") {
            return self.at_present(zone);
        }
        if let Ok(timestamp) = text.parse::<Timestamp>() {
            return Ok(timestamp.to_zoned(zone.clone()));
        }
        let local = text.parse::<DateTime>().ok().and_then(|local| local.to_zoned(zone.clone()).ok());
        local.ok_or_else(|| {
            wrong(format!("{text:?} is no date or time such as 2026-03-01 or 2026-03-01T12:00"))
        })
    }
}

fn told(moment: &Zoned) -> Moment {
    use jiff::civil::Weekday;
    let weekday = match moment.weekday() {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    };
    // Whole seconds, with offset and zone.
    let seconds = moment.round(Unit::Second).unwrap_or_else(|_| moment.clone());
    Moment { time: seconds.to_string(), weekday }
}
