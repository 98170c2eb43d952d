//! When requests arrive: the n-th of N rows over some days, busier in the first half of each day.
//!
//! Invariant: the arrival time never falls as the row number rises, and depends on nothing but
//! the row number and its draw. The rate is 1 + 0.6 sin(day); its integral is inverted by table.

use std::f64::consts::TAU;

use super::math;
use super::random::{unit, whole};

/// Microseconds of a day.
pub(super) const DAY_US: i64 = 86_400_000_000;

/// How far the rate swings around its mean.
const SWING: f64 = 0.6;

/// Steps of the table: minutes of a day.
const STEPS: u32 = 1_440;

/// Turns row numbers into arrival times.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    start_us: i64,
    days: f64,
    rows: f64,
    /// Share of a day's rows that arrived by each minute.
    arrived: Vec<f64>,
}

impl Clock {
    /// Returns the clock for this many rows over this many days.
    pub(super) fn new(start_us: i64, days: u32, rows: u64) -> Self {
        let arrived = |step: u32| {
            let day = f64::from(step) / f64::from(STEPS);
            day + SWING * (1.0 - math::cos_of_turns(day)) / TAU
        };
        Self {
            start_us,
            days: f64::from(days),
            rows: rows.max(1) as f64,
            arrived: (0..=STEPS).map(arrived).collect(),
        }
    }

    /// Returns the arrival time of this row in microseconds since the epoch.
    pub(super) fn arrival_us(&self, row: u64, draw: u64) -> i64 {
        let day = (row as f64 + unit(draw)) / self.rows * self.days;
        let time_of_day = self.time_of_day(day.fract());
        self.start_us + whole((day.trunc() + time_of_day) * DAY_US as f64)
    }

    /// Returns the part of the day by which this share of the day's rows arrived.
    fn time_of_day(&self, share: f64) -> f64 {
        let above = self.arrived.partition_point(|&arrived| arrived <= share);
        let step = above.clamp(1, self.arrived.len() - 1) - 1;
        let (low, high) = (self.arrived[step], self.arrived[step + 1]);
        let along = ((share - low) / (high - low)).clamp(0.0, 1.0);
        (step as f64 + along) / f64::from(STEPS)
    }
}
