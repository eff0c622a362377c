//! Estimates the effect of each host, so that a transition of the runs to another host is not a change. This module detects no
//! changes: it converts the values to one reference host.
//!
//! The model is additive: a value is the level of the series, plus the effect of its host, plus noise. It applies to
//! logarithms if all values are positive. The estimation has three steps.
//!
//! 1. Where the host changes, the level cancels out: the difference between the medians just before and just after estimates
//!    the difference between two effects. A change of level affects only the transitions next to it, which get a low weight (P. J.
//!    Huber, "Robust estimation of a location parameter", 1964).
//! 2. After removing these effects, the values are divided into levels. The transitions are then estimated from more values, up to
//!    the next change of level, and the median residual of a host's values from their levels refines its effect.
//! 3. Hosts must explain the values better than changes do: each effect has a cost, as each level has (J. Rissanen, "Modeling
//!    by shortest data description", 1978). The cost depends on the share of transitions that lead to a new host. A fleet of
//!    short-lived hosts therefore does not hide changes.

use std::collections::HashMap;

use super::{
    partition::Partition,
    sample::{first, last, median},
    scale::Scale,
};

/// Maximum number of values compared before and after a transition to another host. It is small because the level may change
/// nearby.
const WINDOW: usize = 8;
/// Maximum number of values compared once the changes of level are roughly known.
const WIDE_WINDOW: usize = 48;
/// Number of iterations in which each effect is estimated from the others.
const ITERATIONS: usize = 24;
/// Residual of a transition, in standard errors, from which on its weight decreases.
const HUBER_THRESHOLD: f64 = 1.5;
/// Number of refinements of the effects by the residuals from the levels.
const REFINEMENTS: usize = 2;
/// Minimum effect, in standard errors; a smaller effect is set to zero.
const MIN_EFFECT: f64 = 2.0;
/// Cost of an effect if each transition leads to a new host; equal to the cost of a level.
const EFFECT_PENALTY: f64 = 28.0;
/// Maximum additional cost of the model with hosts over the model without: in doubt, the host is the explanation.
const MAX_EXTRA_COST: f64 = 7.0;
/// Number of low-order bits that are rounded off: equal numbers must remain equal after an effect is removed from one of
/// them.
const ROUNDED_BITS: u32 = 16;
/// Numbers of values of a host at which the effects are estimated again.
const ESTIMATION_COUNTS: [usize; 6] = [2, 4, 8, 16, 32, 64];
/// Marker of a value whose host is unknown.
const UNKNOWN: u16 = u16::MAX;

/// Hosts of the values that a monitor holds, and their effects.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    /// Host of all values, if they have the same host.
    only: u16,
    /// Host of each value; empty if all values have the same host.
    each: Vec<u16>,
    /// Nonzero effects, sorted by host.
    effects: Vec<(u16, f64)>,
    /// Whether an effect is a factor.
    is_logarithmic: bool,
}

impl Default for Hosts {
    fn default() -> Self {
        Self { only: UNKNOWN, each: Vec::new(), effects: Vec::new(), is_logarithmic: false }
    }
}

impl Hosts {
    /// Adds the host of the next value, which follows `count` values. Returns whether the number of values of this host requires
    /// a new estimation of the effects.
    pub(super) fn push(&mut self, host: Option<u16>, count: usize) -> bool {
        let host = host.unwrap_or(UNKNOWN);
        if count == 0 {
            self.only = host;
        }
        if self.each.is_empty() {
            if host == self.only {
                return false;
            }
            self.each.resize(count, self.only);
        }
        self.each.push(host);
        let seen = self.each.iter().filter(|other| **other == host).count();
        host != UNKNOWN && ESTIMATION_COUNTS.contains(&seen)
    }

    /// Removes the hosts of the `count` oldest values.
    pub(super) fn remove_oldest(&mut self, count: usize) {
        if self.each.is_empty() {
            return;
        }
        self.each.drain(..count);
        if let Some(newest) = self.each.last().copied()
            && self.each.iter().all(|host| *host == newest)
        {
            (self.only, self.each) = (newest, Vec::new());
        }
    }

    /// Reserves capacity for the hosts of `more` values.
    pub(super) fn reserve(&mut self, more: usize) {
        if !self.each.is_empty() {
            self.each.reserve_exact(more);
        }
    }

    /// Returns the host of a value.
    pub(super) fn get(&self, index: usize) -> Option<u16> {
        let host = self.each.get(index).copied().unwrap_or(self.only);
        (host != UNKNOWN).then_some(host)
    }

    /// Whether any host has an effect.
    pub(super) fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    /// Converts a value to the reference host.
    pub(super) fn adjust(&self, index: usize, value: f64) -> f64 {
        if self.effects.is_empty() {
            return value;
        }
        let host = self.each.get(index).copied().unwrap_or(self.only);
        let effect = self.effects.binary_search_by_key(&host, |(host, _)| *host).map(|at| self.effects[at].1);
        let adjusted = match effect {
            Ok(factor) if self.is_logarithmic => value * factor,
            Ok(shift) => value + shift,
            Err(_) => value,
        };
        round(adjusted).clamp(f64::MIN, f64::MAX)
    }

    /// Returns the adjustment from a host to the reference host: a factor on a logarithmic scale, a difference otherwise.
    pub(super) fn adjustment(&self, host: Option<u16>) -> f64 {
        let known = self.effects.iter().find(|(other, _)| Some(*other) == host);
        known.map_or(if self.is_logarithmic { 1.0 } else { 0.0 }, |(_, adjustment)| *adjustment)
    }

    /// Estimates the effects again. The host with the most values is the reference and has no effect.
    pub(super) fn estimate(&mut self, values: &[f64], is_logarithmic: bool, estimation: &mut Estimation) {
        self.effects.clear();
        self.is_logarithmic = is_logarithmic;
        if self.each.is_empty() {
            return;
        }
        let fleet = Fleet::of(&self.each);
        if fleet.members.len() < 2 {
            return;
        }
        for (member, effect) in fleet.members.iter().zip(estimation.effects(&fleet, values, is_logarithmic)) {
            let adjustment = if is_logarithmic { (-effect).exp() } else { -effect };
            if effect != 0.0 && adjustment.is_normal() {
                self.effects.push((member.host, adjustment));
            }
        }
        self.effects.sort_unstable_by_key(|(host, _)| *host);
        self.effects.shrink_to_fit();
    }

    /// Returns the allocated memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.each.capacity() * size_of::<u16>() + self.effects.capacity() * size_of::<(u16, f64)>()
    }
}

/// A host with more than one value.
struct Member {
    host: u16,
    count: usize,
}

/// Hosts with more than one value, in the order of their first values.
struct Fleet {
    members: Vec<Member>,
    /// Index of the member for each value.
    numbers: Vec<Option<usize>>,
    /// Index of the member with the most values.
    reference: usize,
}

impl Fleet {
    fn of(hosts: &[u16]) -> Self {
        let mut members: Vec<Member> = Vec::new();
        let mut numbers = HashMap::new();
        for host in hosts.iter().filter(|host| **host != UNKNOWN) {
            let number = *numbers.entry(*host).or_insert(members.len());
            if number == members.len() {
                members.push(Member { host: *host, count: 0 });
            }
            members[number].count += 1;
        }
        // The effect of a host with a single value cannot be distinguished from noise.
        members.retain(|member| member.count > 1);
        numbers.clear();
        numbers.extend(members.iter().enumerate().map(|(number, member)| (member.host, number)));
        let most = members.iter().map(|member| member.count).max();
        let reference = members.iter().position(|member| Some(member.count) == most).unwrap_or(0);
        let numbers = hosts.iter().map(|host| numbers.get(host).copied()).collect();
        Self { members, numbers, reference }
    }

    /// Returns the number of segments: maximal sequences of successive values on one host.
    fn segments(&self) -> usize {
        let numbers = self.numbers.iter().flatten();
        let transitions = numbers.clone().zip(numbers.skip(1)).filter(|(one, two)| one != two);
        1 + transitions.count()
    }

    /// Computes the scale from the differences of successive values on the same host, if there are enough of them.
    fn scale(&self, values: &[f64], is_logarithmic: bool, buffer: &mut Vec<f64>) -> Scale {
        let is_same =
            |index: usize| self.numbers[index].is_some() && self.numbers[index] == self.numbers[index - 1];
        let same = (1..values.len()).filter(|index| is_same(*index)).count();
        Scale::of(values, is_logarithmic, |index| same < WINDOW || is_same(index), buffer)
    }
}

/// Successive values on one host: their indexes, each with the index of the member, and the values.
type HostSegment<'a> = (&'a [(usize, usize)], &'a [f64]);

/// Estimate from a transition between two hosts.
#[derive(Clone, Copy, Debug)]
struct Transition {
    from: usize,
    to: usize,
    /// Difference between the second and the first host.
    difference: f64,
    /// Inverse of the variance of the difference.
    weight: f64,
}

/// Buffers that are reused for the next estimation.
#[derive(Clone, Debug, Default)]
pub(super) struct Estimation {
    /// Values in units of noise.
    scaled: Vec<f64>,
    /// Values in units of noise, on the reference host.
    adjusted: Vec<f64>,
    partition: Partition,
    cuts: Vec<usize>,
    buffer: Vec<f64>,
}

impl Estimation {
    /// Estimates the effect of each member relative to the reference; all are zero if the model without hosts explains the values
    /// as well.
    fn effects(&mut self, fleet: &Fleet, values: &[f64], is_logarithmic: bool) -> Vec<f64> {
        let scale = fleet.scale(values, is_logarithmic, &mut self.buffer);
        scale.apply_all(values, &mut self.scaled);
        self.cuts.clear();
        let mut effects = self.solve_transitions(fleet, WINDOW);
        self.fit_levels(fleet, &effects);
        effects = self.solve_transitions(fleet, WIDE_WINDOW);
        for _ in 0..REFINEMENTS {
            self.fit_levels(fleet, &effects);
            self.refine(fleet, &mut effects);
        }
        for (effect, member) in effects.iter_mut().zip(&fleet.members) {
            if effect.abs() * (member.count as f64).sqrt() < MIN_EFFECT {
                *effect = 0.0;
            }
        }
        let known = effects.iter().filter(|effect| **effect != 0.0).count();
        if known > 0 {
            let new = (fleet.members.len() - 1) as f64 / fleet.segments() as f64;
            let penalty = EFFECT_PENALTY * new * known as f64;
            let with = self.fit_levels(fleet, &effects) + penalty;
            effects = if with <= self.fit_levels(fleet, &[]) + MAX_EXTRA_COST {
                effects
            } else {
                vec![0.0; effects.len()]
            };
        }
        effects.iter_mut().for_each(|effect| *effect *= scale.noise());
        effects
    }

    /// Divides the adjusted values into levels and returns the total cost.
    fn fit_levels(&mut self, fleet: &Fleet, effects: &[f64]) -> f64 {
        let effect = |number: &Option<usize>| number.and_then(|number| effects.get(number)).unwrap_or(&0.0);
        let adjusted = self.scaled.iter().zip(&fleet.numbers).map(|(value, number)| value - effect(number));
        self.adjusted.clear();
        self.adjusted.extend(adjusted);
        self.partition.reset(&self.adjusted, 0);
        self.partition.cuts(&mut self.cuts);
        self.partition.cost()
    }

    /// Estimates the effects from the transitions between hosts.
    fn solve_transitions(&mut self, fleet: &Fleet, window: usize) -> Vec<f64> {
        let transitions = self.transitions(fleet, window);
        let mut of_members: Vec<Vec<Transition>> = vec![Vec::new(); fleet.members.len()];
        for one in transitions {
            of_members[one.from].push(one);
            of_members[one.to].push(one);
        }
        let mut effects = vec![0.0; fleet.members.len()];
        for _ in 0..ITERATIONS {
            for (member, transitions) in of_members.iter().enumerate() {
                if member == fleet.reference {
                    continue;
                }
                let (mut sum, mut weights) = (0.0, 0.0);
                for one in transitions {
                    let residual = one.difference - (effects[one.to] - effects[one.from]);
                    let weight =
                        one.weight * (HUBER_THRESHOLD / (residual.abs() * one.weight.sqrt())).min(1.0);
                    sum += weight * if one.to == member { residual } else { -residual };
                    weights += weight;
                }
                if weights > 0.0 {
                    effects[member] += sum / weights;
                }
            }
        }
        effects
    }

    /// Returns the transitions between hosts, each estimated from at most `window` values on each side, up to the next cut. A cut
    /// next to a transition may be the remainder of an effect and is ignored.
    fn transitions(&mut self, fleet: &Fleet, window: usize) -> Vec<Transition> {
        let own = fleet.numbers.iter().enumerate().filter_map(|(index, number)| Some((index, (*number)?)));
        let (indexes, values): (Vec<_>, Vec<f64>) =
            own.map(|(index, number)| ((index, number), self.scaled[index])).unzip();
        let (mut transitions, mut start) = (Vec::new(), 0);
        let mut before: Option<HostSegment<'_>> = None;
        for segment in indexes.chunk_by(|one, two| one.1 == two.1) {
            let later = &values[start..start + segment.len()];
            start += segment.len();
            let at = segment[0].0;
            let near = before.filter(|(indexes, _)| at - indexes[indexes.len() - 1].0 <= WINDOW);
            if let Some((indexes, earlier)) = near {
                let (from, to) = (indexes[0].1, segment[0].1);
                let cut = |after: usize| self.cuts.get(after).copied().unwrap_or(usize::MAX);
                let low = self.cuts.partition_point(|cut| *cut + WINDOW <= at).checked_sub(1).map_or(0, cut);
                let high = cut(self.cuts.partition_point(|cut| *cut < at + WINDOW));
                let earlier = &earlier[indexes.partition_point(|(index, _)| *index < low)..];
                let later = &later[..segment.partition_point(|(index, _)| *index < high)];
                let (earlier, later) = (last(earlier, window), first(later, window));
                let difference = median(later, &mut self.buffer) - median(earlier, &mut self.buffer);
                let (left, right) = (earlier.len() as f64, later.len() as f64);
                if left * right > 0.0 {
                    transitions.push(Transition {
                        from,
                        to,
                        difference,
                        weight: left * right / (left + right),
                    });
                }
            }
            before = Some((segment, later));
        }
        transitions
    }

    /// Refines the effects by the median residual of each host's values from their levels.
    fn refine(&mut self, fleet: &Fleet, effects: &mut [f64]) {
        let mut residuals: Vec<Vec<f64>> = vec![Vec::new(); effects.len()];
        let mut start = 0;
        for end in self.cuts.iter().copied().chain([self.adjusted.len()]) {
            let level = median(&self.adjusted[start..end], &mut self.buffer);
            for (value, number) in self.adjusted[start..end].iter().zip(&fleet.numbers[start..end]) {
                if let Some(number) = number {
                    residuals[*number].push(value - level);
                }
            }
            start = end;
        }
        let zero =
            residuals.get(fleet.reference).map_or(0.0, |residuals| median(residuals, &mut self.buffer));
        for (number, residuals) in
            residuals.iter().enumerate().filter(|(number, _)| *number != fleet.reference)
        {
            effects[number] += median(residuals, &mut self.buffer) - zero;
        }
    }
}

/// Rounds off the low-order bits of a value.
pub(super) fn round(value: f64) -> f64 {
    let half = 1 << (ROUNDED_BITS - 1);
    f64::from_bits((value.to_bits() + half) >> ROUNDED_BITS << ROUNDED_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Noise, normal};

    /// Returns the effects of the hosts, relative to the first host.
    fn effects(hosts: &[u16], values: &[f64]) -> Vec<f64> {
        let mut known = Hosts::default();
        for (index, host) in hosts.iter().enumerate() {
            known.push(Some(*host), index);
        }
        known.estimate(values, false, &mut Estimation::default());
        let effect = |host: u16| {
            let index = hosts.iter().position(|other| *other == host).unwrap();
            -known.adjust(index, 0.0)
        };
        let most = hosts.iter().max().unwrap();
        (0..=*most).map(|host| effect(host) - effect(0)).collect()
    }

    fn sticky(seed: u64) -> (Vec<u16>, Vec<f64>) {
        let (hosts, values) = Noise::StickyHosts.hosts_and_series(seed, 512);
        (hosts.iter().map(|host| *host as u16).collect(), values)
    }

    #[test]
    fn effects_are_estimated_with_and_without_steps() {
        for steps in [&[][..], &[(200, 5.0)], &[(100, 4.0), (300, -8.0), (400, 6.0)]] {
            let mut errors = Vec::new();
            for seed in 0..40 {
                let (hosts, mut values) = sticky(seed);
                for (at, size) in steps {
                    values[*at..].iter_mut().for_each(|value| *value += size);
                }
                let found = effects(&hosts, &values);
                errors.extend(found.iter().zip([0.0, 3.0, 6.0, 9.0]).map(|(one, two)| (one - two).abs()));
            }
            errors.sort_by(f64::total_cmp);
            // Each series has three effects that can be wrong, and one of zero.
            let (median, high) = (errors[100], errors[152]);
            assert!(median < 0.25 && high < 1.0, "{median} {high} with {steps:?}: {:?}", &errors[140..]);
        }
    }

    #[test]
    fn effects_are_estimated_for_hosts_in_any_order() {
        let hosts: Vec<u16> = (0_u32..300).map(|run| (run * 7 / 3 % 3) as u16).collect();
        let values: Vec<f64> =
            normal(1, 300).iter().zip(&hosts).map(|(noise, host)| noise + 20.0 * f64::from(*host)).collect();
        let found = effects(&hosts, &values);
        assert!((found[1] - 20.0).abs() < 0.5 && (found[2] - 40.0).abs() < 0.5, "{found:?}");
    }

    #[test]
    fn equal_hosts_have_nearly_no_effects() {
        for seed in 0..20 {
            let hosts: Vec<u16> = (0..300).map(|run| run / 10 % 6).collect();
            let found = effects(&hosts, &normal(seed, 300));
            assert!(found.iter().all(|effect| effect.abs() < 0.6), "{found:?}");
        }
    }

    #[test]
    fn a_step_is_cheaper_than_an_effect_of_every_later_host() {
        let hosts: Vec<u16> = (0..200).map(|run| run / 5).collect();
        let mut values = normal(3, 200);
        values[100..].iter_mut().for_each(|value| *value += 5.0);
        assert_eq!(effects(&hosts, &values), [0.0; 40]);
    }

    /// Equal counts remain exactly equal after an effect is removed.
    #[test]
    fn counts_stay_equal() {
        let (mut hosts, mut values) = (Hosts::default(), Vec::new());
        for index in 0..100 {
            let host = index / 10 % 3;
            hosts.push(Some(host as u16), index);
            values.push([1_000_001.0, 1_000_037.0, 999_902.0][host]);
        }
        hosts.estimate(&values, true, &mut Estimation::default());
        assert!(hosts.has_effects());
        let adjusted: Vec<f64> =
            values.iter().enumerate().map(|(index, value)| hosts.adjust(index, *value)).collect();
        assert!(adjusted.iter().all(|value| *value == adjusted[0]), "{adjusted:?}");
    }

    #[test]
    fn hosts_are_stored_from_the_second_host_on() {
        let mut hosts = Hosts::default();
        assert!((0..10).all(|index| !hosts.push(Some(7), index)));
        assert_eq!((hosts.bytes(), hosts.get(3)), (0, Some(7)));
        assert!(!hosts.push(None, 10) && !hosts.push(None, 11));
        assert!(!hosts.push(Some(8), 12) && hosts.push(Some(8), 13));
        assert_eq!([9, 10, 13].map(|index| hosts.get(index)), [Some(7), None, Some(8)]);
        hosts.remove_oldest(11);
        assert_eq!([0, 1].map(|index| hosts.get(index)), [None, Some(8)]);
        hosts.remove_oldest(1);
        assert_eq!((hosts.bytes(), hosts.get(0)), (0, Some(8)));
    }

    #[test]
    fn extreme_values_give_finite_results() {
        let hosts: Vec<u16> = (0..60).map(|run| run / 10 % 2).collect();
        for (one, two) in [(f64::MAX, f64::MIN), (f64::MAX, f64::MIN_POSITIVE), (0.0, 0.0)] {
            let mut known = Hosts::default();
            hosts.iter().enumerate().for_each(|(index, host)| _ = known.push(Some(*host), index));
            let values: Vec<f64> = hosts.iter().map(|host| if *host == 0 { one } else { two }).collect();
            for is_logarithmic in [false, two > 0.0] {
                known.estimate(&values, is_logarithmic, &mut Estimation::default());
                let adjusted = values.iter().enumerate().map(|(index, value)| known.adjust(index, *value));
                assert!(adjusted.into_iter().all(f64::is_finite));
            }
        }
    }
}
