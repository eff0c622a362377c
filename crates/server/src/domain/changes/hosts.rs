//! Numbers for the hosts of a lane, so that monitors do not need the names of hosts. A number is reused when none of the kept
//! reports is from its host.

use tidemark_store::vector::MeasuredReport;

/// Name of each host and its number of kept reports. The index is the number of the host.
#[derive(Default)]
pub(super) struct Hosts(Vec<(String, usize)>);

impl Hosts {
    /// Adds a report and returns the number of its host, if known.
    pub(super) fn add_report(&mut self, report: &MeasuredReport) -> Option<u16> {
        let host = report.host.as_deref()?;
        let known = self.0.iter().position(|(name, _)| name == host);
        let number = known.or_else(|| self.0.iter().position(|(_, reports)| *reports == 0));
        let number = number.unwrap_or(self.0.len());
        if number == self.0.len() {
            self.0.push((String::new(), 0));
        }
        let (name, reports) = &mut self.0[number];
        if known.is_none() {
            host.clone_into(name);
        }
        *reports += 1;
        u16::try_from(number).ok()
    }

    /// Removes a report.
    pub(super) fn remove_report(&mut self, report: &MeasuredReport) {
        let Some(host) = report.host.as_deref() else { return };
        if let Some((_, reports)) = self.0.iter_mut().find(|(name, reports)| name == host && *reports > 0) {
            *reports -= 1;
        }
    }

    /// Returns the memory use in bytes.
    pub(super) fn bytes(&self) -> usize {
        let names: usize = self.0.iter().map(|(name, _)| name.capacity()).sum();
        self.0.capacity() * size_of::<(String, usize)>() + names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::changes::monitors::tests::vector;

    #[test]
    fn a_number_is_free_when_no_report_is_from_its_host() {
        let on =
            |host: Option<&str>| MeasuredReport { host: host.map(str::to_owned), ..vector(0, &[]).measured };
        let mut hosts = Hosts::default();
        assert_eq!(
            [Some("a"), None, Some("b"), Some("a")].map(|host| hosts.add_report(&on(host))),
            [Some(0), None, Some(1), Some(0)]
        );
        hosts.remove_report(&on(Some("a")));
        assert_eq!(hosts.add_report(&on(Some("c"))), Some(2));
        hosts.remove_report(&on(Some("a")));
        hosts.remove_report(&on(None));
        assert_eq!(
            [Some("d"), Some("b"), Some("a")].map(|host| hosts.add_report(&on(host))),
            [Some(0), Some(1), Some(3)]
        );
    }
}
