//! The time is told in any zone, by a clock that a test may stop.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use attache_core::Tool;
use attache_tools::{TimeTools, UnknownZone};
use serde_json::json;

use super::{call, json};

/// 2026-03-28 23:30 UTC, a Saturday; an hour and a half before Berlin changes its clocks.
fn tools() -> Vec<Arc<dyn Tool>> {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_774_740_600);
    TimeTools::new().with_zone("Europe/Berlin").unwrap().with_clock(move || now).tools()
}

#[tokio::test]
async fn the_time_is_told_in_a_zone_with_its_weekday() {
    assert_eq!(
        json(&tools(), "current_time", json!({})).await,
        json!({"time": "2026-03-29T00:30:00+01:00[Europe/Berlin]", "weekday": "Sunday"})
    );
    let tokyo = json(&tools(), "current_time", json!({"zone": "Asia/Tokyo"})).await;
    assert_eq!(tokyo["time"], "2026-03-29T08:30:00+09:00[Asia/Tokyo]");
    let there = call(&tools(), "current_time", json!({"zone": "../../etc/passwd"})).await.unwrap_err();
    assert!(there.contains("no time zone"), "{there}");
    assert_eq!(TimeTools::new().with_zone("Mars").unwrap_err(), UnknownZone("Mars".to_owned()));
}

#[tokio::test]
async fn differences_follow_the_calendar_and_the_clocks_of_the_zone() {
    let between = |from: &str, to: &str| {
        let asked = json!({"from": from, "to": to});
        async move { json(&tools(), "time_between", asked).await }
    };
    let month = between("2024-01-31", "2024-03-01").await;
    assert_eq!((&month["calendar"], &month["days"]), (&json!("P1M1D"), &json!(30)));
    assert_eq!((&month["from"]["weekday"], &month["to"]["weekday"]), (&json!("Wednesday"), &json!("Friday")));
    // The day on which the clocks go forward has 23 hours.
    assert_eq!(between("2026-03-29", "2026-03-30").await["seconds"], 23 * 3_600);
    let back = between("now", "2026-03-28T23:00:00Z").await;
    assert_eq!((&back["calendar"], &back["seconds"]), (&json!("-PT30M"), &json!(-1_800)));
    for wrong in ["", "tomorrow", "2026-02-30", "99999-01-01", "now()"] {
        let asked = json!({"from": wrong, "to": "now"});
        let error = call(&tools(), "time_between", asked).await.unwrap_err();
        assert!(error.contains("no date or time"), "{wrong}: {error}");
    }
}
