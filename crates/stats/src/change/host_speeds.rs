//! Host effects of a whole series, for comparisons of single runs: converts a value from one host to another.

use super::{
    hosts::{Estimation, Hosts, round},
    scale::Scale,
};

/// Estimated speeds of the hosts of a series.
#[derive(Clone, Debug)]
pub struct HostSpeeds {
    hosts: Hosts,
    is_logarithmic: bool,
}

impl HostSpeeds {
    /// Estimates the host effects from the values. A host can be any number except `u16::MAX`.
    pub fn of(values: &[f64], value_hosts: &[Option<u16>]) -> Self {
        let mut hosts = Hosts::default();
        for (index, host) in value_hosts.iter().enumerate() {
            hosts.push(*host, index);
        }
        let is_logarithmic = Scale::is_logarithmic(values);
        hosts.estimate(values, is_logarithmic, &mut Estimation::default());
        Self { hosts, is_logarithmic }
    }

    /// Converts a value from one host to another.
    pub fn convert(&self, value: f64, from: Option<u16>, to: Option<u16>) -> f64 {
        let (from, to) = (self.hosts.adjustment(from), self.hosts.adjustment(to));
        if from == to {
            return value;
        }
        let converted = if self.is_logarithmic { value * from / to } else { value + from - to };
        round(converted).clamp(f64::MIN, f64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Noise;

    #[test]
    fn values_are_converted_from_host_to_host() {
        let (hosts, values) = Noise::StickyHosts.hosts_and_series(3, 300);
        let hosts: Vec<Option<u16>> = hosts.iter().map(|host| u16::try_from(*host).ok()).collect();
        let speeds = HostSpeeds::of(&values, &hosts);
        // The levels of adjacent hosts differ by 3 %.
        let on_third = speeds.convert(100.0, Some(0), Some(2));
        assert!((on_third - 106.0).abs() < 0.7, "{on_third}");
        assert!((speeds.convert(on_third, Some(2), Some(0)) - 100.0).abs() < 1e-6);
        assert_eq!(speeds.convert(100.0, Some(1), Some(1)), 100.0);
        let single = HostSpeeds::of(&values[..1], &hosts[..1]);
        assert_eq!(single.convert(100.0, Some(0), Some(2)), 100.0);
    }
}
