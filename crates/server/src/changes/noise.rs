//! What is learnt of the noise of a lane: from time to time some of its series are shuffled, to see how many false alarms they
//! raise.

use tidemark_stats::{Evidence, Scratch};
use tidemark_store::lane::{Lane, Noise};

use super::monitors::Monitors;

/// With how many reports a lane is first looked at.
const FIRST: i64 = 32;
/// From how many reports on a series at a time will do; before that there are twice as many reports each time.
const LONG: i64 = 512;
/// With every so many reports there is one.
const EVERY: i64 = 8;
/// How many series are looked at together at the most.
const TOGETHER: usize = 128;
/// With so many values half of what is known is forgotten, so that noise may become another.
const VALUES: u64 = 160_000;

/// What is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing.
    None,
    /// The next series, which this is a number of.
    One(usize),
    /// Many series, as there are far more reports than the last time.
    Many,
}

impl Due {
    /// What is to be looked at in a lane.
    pub(super) fn of(lane: &Lane) -> Self {
        let (reports, sampled) = (lane.reports, lane.noise.sampled);
        match sampled {
            0 if reports >= FIRST => Self::Many,
            1..LONG if reports >= 2 * sampled => Self::Many,
            LONG.. if reports >= sampled + EVERY => Self::One(usize::try_from(reports / EVERY).unwrap_or(0)),
            _ => Self::None,
        }
    }
}

/// The evidence that series gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sample {
    /// Nothing was asked for.
    None,
    /// Something to be added to what is known.
    More(Evidence),
    /// All that is known.
    All(Evidence),
}

impl Sample {
    /// Looks at what is due.
    pub(super) fn of(monitors: &Monitors, due: Due, scratch: &mut Scratch) -> Self {
        let series = monitors.series();
        match due {
            Due::One(number) if !series.is_empty() => {
                Self::More(monitors.evidence(&series[number % series.len()], scratch))
            }
            Due::Many => {
                let some = series.iter().step_by(series.len().div_ceil(TOGETHER).max(1));
                let evidence = some.map(|one| monitors.evidence(one, scratch));
                Self::All(evidence.fold(Evidence::default(), Evidence::and))
            }
            Due::None | Due::One(_) => Self::None,
        }
    }
}

/// What is known of the noise of a lane with so many reports, with what was just learnt.
pub(super) fn add(noise: Noise, sample: Sample, reports: i64) -> Noise {
    let known = match sample {
        Sample::None => return noise,
        Sample::All(evidence) => evidence,
        Sample::More(more) => {
            let known = evidence(&noise);
            if known.values < VALUES { known.and(more) } else { half(known).and(more) }
        }
    };
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let Evidence { values, alarms, margins } = known;
    Noise { values: number(values), alarms: number(alarms), margins, sampled: reports }
}

fn half(evidence: Evidence) -> Evidence {
    let Evidence { values, alarms, margins } = evidence;
    Evidence { values: values / 2, alarms: alarms.div_ceil(2), margins: margins / 2.0 }
}

/// What is known of the noise of a lane, as it is counted.
pub(crate) fn evidence(noise: &Noise) -> Evidence {
    let number = |number: i64| u64::try_from(number).unwrap_or_default();
    Evidence { values: number(noise.values), alarms: number(noise.alarms), margins: noise.margins }
}

#[cfg(test)]
mod tests {
    use tidemark_store::{BranchId, HeadId, ProjectId, TestbedId};

    use super::*;

    fn due(reports: i64, sampled: i64) -> Due {
        Due::of(&Lane {
            project: ProjectId::from(1),
            branch: BranchId::from(1),
            head: HeadId::from(1),
            testbed: TestbedId::from(1),
            reports,
            deleted: 0,
            analyzed: reports - 1,
            noise: Noise { sampled, ..Noise::default() },
        })
    }

    #[test]
    fn noise_is_learnt_soon_and_then_a_little_at_a_time() {
        assert_eq!(
            [due(31, 0), due(32, 0), due(63, 32), due(64, 32)],
            [Due::None, Due::Many, Due::None, Due::Many]
        );
        assert_eq!(
            [due(519, 512), due(520, 512), due(9_000, 8_000)],
            [Due::None, Due::One(65), Due::One(1_125)]
        );
    }

    #[test]
    fn old_noise_is_forgotten() {
        let mut noise = Noise::default();
        for reports in 0..2_000 {
            let alarms = u64::from(reports < 500);
            let more = Evidence { values: 640, alarms, margins: alarms as f64 };
            noise = add(noise, Sample::More(more), reports);
        }
        assert!(noise.values < 170_000 && noise.alarms < 60 && noise.margins < 60.0, "{noise:?}");
        let all = Evidence { values: 10, alarms: 1, margins: 0.5 };
        assert_eq!(evidence(&add(noise, Sample::All(all), 7)), all);
        assert_eq!(add(noise, Sample::None, 7), noise);
    }
}
