//! The hosts of a whole series, for those that compare single runs: what a value would have been on another host.

use super::{
    hosts::{Estimation, Hosts, round},
    scale::Scale,
};

/// How much faster or slower the hosts of a series are.
#[derive(Clone, Debug)]
pub struct HostSpeeds {
    hosts: Hosts,
    is_logarithmic: bool,
}

impl HostSpeeds {
    /// What values tell of their hosts. Any number will do for a host but the greatest.
    pub fn of(values: &[f64], each: &[Option<u16>]) -> Self {
        let mut hosts = Hosts::default();
        for (place, host) in each.iter().enumerate() {
            hosts.push(*host, place);
        }
        let is_logarithmic = Scale::is_logarithmic(values);
        hosts.estimate(values, is_logarithmic, &mut Estimation::default());
        Self { hosts, is_logarithmic }
    }

    /// What a value that was measured on a host would have been on another one.
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
        // Hosts are three percent of the level apart.
        let on_third = speeds.convert(100.0, Some(0), Some(2));
        assert!((on_third - 106.0).abs() < 0.7, "{on_third}");
        assert!((speeds.convert(on_third, Some(2), Some(0)) - 100.0).abs() < 1e-6);
        assert_eq!(speeds.convert(100.0, Some(1), Some(1)), 100.0);
        let alike = HostSpeeds::of(&values[..1], &hosts[..1]);
        assert_eq!(alike.convert(100.0, Some(0), Some(2)), 100.0);
    }
}
