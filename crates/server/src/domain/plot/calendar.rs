//! The horizontal scale: times or versions, and their tick labels. All times are in UTC.

use jiff::{
    civil::{Date, DateTime},
    tz::Offset,
};
use tidemark_api::{Timestamp, XAxis};

use super::number;

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// 1970 began on a Thursday; weeks begin on Monday.
const MONDAY: i64 = 4 * DAY;
/// Maximum number of intervals between ticks.
const MAX_INTERVALS: i64 = 11;

/// Tick distances of constant length, in microseconds.
const TICK_DISTANCES: &[i64] = &[
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    15 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    3 * DAY,
    7 * DAY,
    14 * DAY,
];
/// Tick distances in months.
const TICK_DISTANCES_IN_MONTHS: &[i64] =
    &[1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1_200, 2_400, 6_000, 12_000];

/// The horizontal scale.
#[derive(Debug)]
pub(super) struct XScale {
    low: f64,
    high: f64,
    /// The labeled ticks, from left to right.
    pub(super) ticks: Vec<XTick>,
}

/// A tick on the horizontal axis.
#[derive(Debug)]
pub(super) struct XTick {
    pub(super) place: f64,
    pub(super) label: String,
    /// The part of the time that the label omits, for example the year; empty if none.
    pub(super) context: String,
}

impl XScale {
    /// Creates the scale for a range of microseconds or version numbers.
    pub(super) fn of(axis: XAxis, low: f64, high: f64) -> Self {
        match axis {
            XAxis::DateTime => Self::times(low, high),
            XAxis::Version => Self::versions(low, high),
        }
    }

    /// Returns the position of a value, from 0 at the left to 1 at the right.
    pub(super) fn share(&self, place: f64) -> f64 {
        ((place - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    fn times(low: f64, high: f64) -> Self {
        let margin = if high > low { 0.0 } else { (DAY / 2) as f64 };
        let (low, high) = (low - margin, high + margin);
        let (first, last) = (low.ceil() as i64, high.floor() as i64);
        let ticks = match TICK_DISTANCES.iter().find(|step| (last - first) / **step < MAX_INTERVALS) {
            Some(step) => even_ticks(first, last, *step),
            None => monthly_ticks(first, last),
        };
        Self { low, high, ticks }
    }

    fn versions(low: f64, high: f64) -> Self {
        let margin = if high > low { 0.0 } else { 1.0 };
        let (low, high) = (low - margin, high + margin);
        let raw = ((high - low) / MAX_INTERVALS as f64).max(1.0);
        let unit = number::power_of_ten(number::floor_log10(raw));
        let step =
            [1.0, 2.0, 5.0].iter().map(|digit| digit * unit).find(|step| *step >= raw).unwrap_or(10.0 * unit);
        let mut ticks = Vec::new();
        let mut place = (low / step).ceil() * step;
        while place <= high {
            if place >= 0.0 {
                ticks.push(XTick { place, label: format!("{place:.0}"), context: "Version".to_owned() });
            }
            place += step;
        }
        Self { low, high, ticks }
    }
}

fn even_ticks(first: i64, last: i64, step: i64) -> Vec<XTick> {
    let shift = if step % (7 * DAY) == 0 { MONDAY } else { 0 };
    let start = (first - shift + step - 1).div_euclid(step) * step + shift;
    let mut ticks = Vec::new();
    let mut micros = start;
    while micros <= last {
        if let Some(moment) = civil(micros) {
            let day = format!("{} {}", moment.day(), month(moment.month()));
            let (label, context) = if step >= DAY {
                (day, moment.year().to_string())
            } else {
                (clock(moment, step), format!("{day} {}, UTC", moment.year()))
            };
            ticks.push(XTick { place: micros as f64, label, context });
        }
        micros += step;
    }
    ticks
}

fn monthly_ticks(first: i64, last: i64) -> Vec<XTick> {
    let count = |micros| {
        civil(micros).map_or(0, |moment| i64::from(moment.year()) * 12 + i64::from(moment.month()) - 1)
    };
    let (from, to) = (count(first), count(last));
    let step = TICK_DISTANCES_IN_MONTHS
        .iter()
        .find(|step| (to - from) / **step < MAX_INTERVALS)
        .or(TICK_DISTANCES_IN_MONTHS.last())
        .copied()
        .unwrap_or(1);
    let mut ticks = Vec::new();
    let mut index = from.div_euclid(step) * step;
    while index <= to {
        let (year, month_of_year) = (index.div_euclid(12), index.rem_euclid(12) + 1);
        let date = i16::try_from(year)
            .ok()
            .zip(i8::try_from(month_of_year).ok())
            .and_then(|(year, month)| Date::new(year, month, 1).ok());
        if let Some((date, micros)) = date.and_then(|date| Some((date, micros(date)?)))
            && (first..=last).contains(&micros)
        {
            let year = date.year().to_string();
            let (label, context) =
                if step >= 12 { (year, String::new()) } else { (month(date.month()).to_owned(), year) };
            ticks.push(XTick { place: micros as f64, label, context });
        }
        index += step;
    }
    ticks
}

fn civil(micros: i64) -> Option<DateTime> {
    let micros = micros.clamp(Timestamp::MIN.micros(), Timestamp::MAX.micros());
    jiff::Timestamp::from_microsecond(micros).ok().map(|moment| Offset::UTC.to_datetime(moment))
}

fn micros(date: Date) -> Option<i64> {
    Offset::UTC
        .to_timestamp(date.to_datetime(jiff::civil::Time::midnight()))
        .ok()
        .map(jiff::Timestamp::as_microsecond)
}

fn clock(moment: DateTime, step: i64) -> String {
    let (hour, minute, second) = (moment.hour(), moment.minute(), moment.second());
    if step < SECOND {
        format!("{hour:02}:{minute:02}:{second:02}.{:03}", moment.millisecond())
    } else if step < MINUTE {
        format!("{hour:02}:{minute:02}:{second:02}")
    } else {
        format!("{hour:02}:{minute:02}")
    }
}

const fn month(number: i8) -> &'static str {
    match number {
        1 => "Jan",
        2 => "Feb",
        3 => "Mar",
        4 => "Apr",
        5 => "May",
        6 => "Jun",
        7 => "Jul",
        8 => "Aug",
        9 => "Sep",
        10 => "Oct",
        11 => "Nov",
        _ => "Dec",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn between(from: &str, to: &str) -> Vec<XTick> {
        let place = |text: &str| text.parse::<Timestamp>().unwrap().micros() as f64;
        XScale::of(XAxis::DateTime, place(from), place(to)).ticks
    }

    #[test]
    fn ticks_suit_the_span() {
        for (from, to, labels) in [
            (
                "2026-03-01T12:00:00Z",
                "2026-03-01T12:00:00.004Z",
                "12:00:00.000 12:00:00.001 12:00:00.002 12:00:00.003 12:00:00.004",
            ),
            ("2026-03-01T21:10:00Z", "2026-03-02T03:50:00Z", "22:00 23:00 00:00 01:00 02:00 03:00"),
            (
                "2026-02-25T10:00:00Z",
                "2026-03-05T10:00:00Z",
                "26_Feb 27_Feb 28_Feb 1_Mar 2_Mar 3_Mar 4_Mar 5_Mar",
            ),
            ("2025-12-10T00:00:00Z", "2026-01-25T00:00:00Z", "15_Dec 22_Dec 29_Dec 5_Jan 12_Jan 19_Jan"),
            ("2025-10-10T00:00:00Z", "2026-05-20T00:00:00Z", "Nov Dec Jan Feb Mar Apr May"),
            ("2019-05-10T00:00:00Z", "2026-05-20T00:00:00Z", "2020 2021 2022 2023 2024 2025 2026"),
            (
                "0000-01-01T00:00:00Z",
                "9999-12-30T22:00:00Z",
                "0 1000 2000 3000 4000 5000 6000 7000 8000 9000",
            ),
            (
                "2026-03-01T12:00:00Z",
                "2026-03-01T12:00:00Z",
                "00:00 03:00 06:00 09:00 12:00 15:00 18:00 21:00 00:00",
            ),
        ] {
            let ticks: Vec<String> =
                between(from, to).iter().map(|mark| mark.label.replace(' ', "_")).collect();
            assert_eq!(ticks.join(" "), labels, "{from} to {to}");
        }
    }

    #[test]
    fn labels_leave_the_rest_to_their_context() {
        let contexts = |from, to| between(from, to).into_iter().map(|mark| mark.context).collect::<Vec<_>>();
        let days = contexts("2026-03-01T22:10:00Z", "2026-03-02T00:50:00Z");
        assert_eq!((days[0].as_str(), days[days.len() - 1].as_str()), ("1 Mar 2026, UTC", "2 Mar 2026, UTC"));
        assert_eq!(contexts("2025-10-10T00:00:00Z", "2026-02-20T00:00:00Z").last().unwrap(), "2026");
        assert_eq!(contexts("2009-10-10T00:00:00Z", "2026-02-20T00:00:00Z")[0], "");
    }

    #[test]
    fn versions_are_whole() {
        let labels = |low, high| {
            XScale::of(XAxis::Version, low, high).ticks.into_iter().map(|mark| mark.label).collect::<Vec<_>>()
        };
        assert_eq!(labels(0.0, 0.0), ["0", "1"]);
        assert_eq!(labels(7.0, 7.0), ["6", "7", "8"]);
        assert_eq!(labels(3.0, 41.0), ["5", "10", "15", "20", "25", "30", "35", "40"]);
    }

    proptest! {
        #[test]
        fn ticks_lie_within(one in any::<i64>(), length in 0_i64..400_000_000_000_000_000, exponent in 0_u32..18) {
            let low = Timestamp::from_micros(one).micros();
            let high = Timestamp::from_micros(low + length % 10_i64.pow(exponent)).micros();
            let x_scale = XScale::of(XAxis::DateTime, low as f64, high as f64);
            prop_assert!(x_scale.ticks.len() <= 13, "{:?}", x_scale);
            prop_assert!(x_scale.ticks.iter().all(|mark| (0.0..=1.0).contains(&x_scale.share(mark.place))));
            prop_assert!(x_scale.ticks.is_sorted_by(|one, other| one.place < other.place));
        }

        #[test]
        fn versions_lie_within(one in any::<u32>(), other in any::<u32>()) {
            let x_scale = XScale::of(XAxis::Version, f64::from(one.min(other)), f64::from(one.max(other)));
            prop_assert!((1..=13).contains(&x_scale.ticks.len()), "{:?}", x_scale);
        }
    }
}
