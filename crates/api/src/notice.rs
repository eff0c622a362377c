//! Notices: destinations of notifications about changes or alerts, of a project or of a user. The text of notifications is in
//! `crates/render/src/notification.rs`.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Email, Invalid, MinChange, NamePattern, NoticeDirection, NoticeUuid, NotificationFilter, PlainKey,
    ProjectUuid, ResourceId, ResourceName, Timestamp, Url, UserUuid,
    patch::present,
    scalar::{fixed_string, text},
};

fixed_string! {
    /// Kind of destination.
    NoticeKind {
        /// Webhook, which receives signed JSON.
        Webhook = "webhook",
        /// Slack channel.
        Slack = "slack",
        /// Mattermost channel.
        Mattermost = "mattermost",
        /// Discord channel.
        Discord = "discord",
        /// E-mail to a member of the organization, or to the user who owns the notice.
        Email = "email",
    }
}

fixed_string! {
    /// Interval in which notifications are combined.
    #[derive(Default)]
    Digest {
        /// One notification per report.
        #[default]
        None = "none",
        /// One notification for all reports of a day, which ends at midnight UTC.
        Daily = "daily",
    }
}

text! {
    /// Time of day in UTC, from 00:00 to 23:59.
    TimeOfDay, shown, |text| {
        minutes(&text).map(|_| text).ok_or(Invalid::new("a time of the day is written from 00:00 to 23:59"))
    }, |object| object.pattern(Some("^([01][0-9]|2[0-3]):[0-5][0-9]$"))
}

impl TimeOfDay {
    /// Returns the minutes since midnight.
    pub fn minutes(&self) -> i64 {
        minutes(&self.0).unwrap_or_default()
    }
}

fn minutes(text: &str) -> Option<i64> {
    let (hour, minute) = text.split_once(':')?;
    let number = |digits: &str, end: i64| {
        let is_plain = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<i64>().ok().filter(|number| is_plain && *number < end)
    };
    Some(number(hour, 24)? * 60 + number(minute, 60)?)
}

/// Part of each day in which a notice sends no notifications. The server sends the notifications of these hours at their end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonQuietHours)]
pub struct QuietHours {
    /// Start of the quiet hours.
    pub from: TimeOfDay,
    /// End of the quiet hours; on the next day if it is not later than `from`.
    pub to: TimeOfDay,
}

impl QuietHours {
    /// Returns the end of the quiet hours that contain a time; `None` if the time is outside the quiet hours.
    pub fn end(&self, at: Timestamp) -> Option<Timestamp> {
        const DAY: i64 = 24 * 60 * 60;
        let (from, to) = (self.from.minutes() * 60, self.to.minutes() * 60);
        let second = at.seconds().rem_euclid(DAY);
        let midnight = at.seconds() - second;
        // Length of the quiet hours in seconds; a whole day if they start and end at the same time.
        let length = (to - from - 1).rem_euclid(DAY) + 1;
        let since = (second - from).rem_euclid(DAY);
        let begun = midnight + second - since;
        (since < length).then(|| Timestamp::from_micros((begun + length) * 1_000_000))
    }
}

/// A destination of notifications.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNotice)]
pub struct Notice {
    /// UUID of the notice.
    pub uuid: NoticeUuid,
    /// UUID of the project that the notice is about; null for all projects of the user's organizations.
    pub project: Option<ProjectUuid>,
    /// UUID of the user who owns the notice; null for a notice of a project.
    pub user: Option<UserUuid>,
    /// Name of the notice; not necessarily unique.
    pub name: ResourceName,
    /// Kind of destination.
    pub kind: NoticeKind,
    /// URL of the destination; null for `email`. Only the response that creates the notice contains the whole URL, which can be a
    /// credential. All other responses mask its path, for example `https://hooks.slack.com/…/x7Qz`.
    pub url: Option<String>,
    /// Recipient for `email`; null for other kinds.
    pub email: Option<Email>,
    /// Secret that signs the requests to a webhook. Only the response that creates the notice contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<PlainKey>,
    /// When the notice sends what, in one sentence.
    pub summary: String,
    /// Name or pattern of the branches whose reports cause a notification; null for all branches.
    pub branch: Option<NamePattern>,
    /// Name or pattern of the testbeds whose reports cause a notification; null for all testbeds.
    pub testbed: Option<NamePattern>,
    /// Name or pattern of the benchmarks whose changes or alerts are sent; null for all benchmarks.
    pub benchmark: Option<NamePattern>,
    /// Direction of the changes or alerts that are sent.
    pub direction: NoticeDirection,
    /// Minimum size of the changes or alerts that are sent; null for all sizes.
    pub min_change: Option<MinChange>,
    /// Quiet hours; null if there are none.
    pub quiet: Option<QuietHours>,
    /// Interval in which notifications are combined.
    pub digest: Digest,
    /// Time when the notice was created.
    pub created: Timestamp,
    /// Time when the notice was last modified.
    pub modified: Timestamp,
    /// Time when the notice was archived; null if it is not archived.
    pub archived: Option<Timestamp>,
}

impl Notice {
    /// Returns the filter of the notice.
    pub fn filter(&self) -> NotificationFilter {
        NotificationFilter {
            branch: self.branch.clone(),
            testbed: self.testbed.clone(),
            benchmark: self.benchmark.clone(),
            direction: self.direction,
            min_change: self.min_change,
        }
    }
}

/// A notice to create.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewNotice)]
#[serde(deny_unknown_fields)]
pub struct NewNotice {
    /// Name of the notice.
    pub name: ResourceName,
    /// Kind of destination.
    pub kind: NoticeKind,
    /// URL of the destination; required for every kind except `email`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Url>,
    /// Recipient for `email`: the address of a member of the organization. Omit it for a notice of a user, which is sent to the
    /// address of the account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<Email>,
    /// Name or pattern of the branches whose reports cause a notification; null for all branches. By default the default branch
    /// of the project: `main`, `master`, `trunk` or `develop`, or the branch with the most reports. All branches by default for a
    /// notice about all projects of a user.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<NamePattern>, required = false)]
    pub branch: Option<Option<NamePattern>>,
    /// Name or pattern of the testbeds whose reports cause a notification; all testbeds by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub testbed: Option<NamePattern>,
    /// Name or pattern of the benchmarks whose changes or alerts are sent; all benchmarks by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<NamePattern>,
    /// Direction of the changes or alerts that are sent; `any` by default.
    #[serde(default)]
    pub direction: NoticeDirection,
    /// Minimum size of the changes or alerts that are sent; all sizes by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_change: Option<MinChange>,
    /// Quiet hours; none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<QuietHours>,
    /// Interval in which notifications are combined; `none` by default.
    #[serde(default)]
    pub digest: Digest,
    /// UUID or slug of the project, for a notice of a user; all projects of the user's organizations by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ResourceId>,
}

/// Changes to a notice. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateNotice)]
#[serde(deny_unknown_fields)]
pub struct NoticePatch {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = ResourceName, required = false)]
    pub name: Option<ResourceName>,
    /// New URL of the destination; not for `email`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Url, required = false)]
    pub url: Option<Url>,
    /// New recipient; for `email` only.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Email, required = false)]
    pub email: Option<Email>,
    /// New name or pattern of branches; null removes the filter.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<NamePattern>, required = false)]
    pub branch: Option<Option<NamePattern>>,
    /// New name or pattern of testbeds; null removes the filter.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<NamePattern>, required = false)]
    pub testbed: Option<Option<NamePattern>>,
    /// New name or pattern of benchmarks; null removes the filter.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<NamePattern>, required = false)]
    pub benchmark: Option<Option<NamePattern>>,
    /// New direction.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = NoticeDirection, required = false)]
    pub direction: Option<NoticeDirection>,
    /// New minimum size; null removes the filter.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<MinChange>, required = false)]
    pub min_change: Option<Option<MinChange>>,
    /// New quiet hours; null removes them.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<QuietHours>, required = false)]
    pub quiet: Option<Option<QuietHours>>,
    /// Interval in which notifications are combined.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Digest, required = false)]
    pub digest: Option<Digest>,
    /// Whether to archive the notice (`true`) or to restore it (`false`). Archiving drops the waiting deliveries.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = bool, required = false)]
    pub archived: Option<bool>,
}

/// Filter of a list of notices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct NoticeFilter {
    /// Whether to list archived notices instead of all others; false by default.
    pub archived: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> Timestamp {
        format!("2026-01-02T{time}Z").parse().unwrap()
    }

    #[test]
    fn times_of_the_day() {
        assert_eq!("23:59".parse::<TimeOfDay>().unwrap().minutes(), 1439);
        for wrong in ["", "24:00", "7:00", "07:60", "+7:00", "07:00:00", "0７:00"] {
            assert!(wrong.parse::<TimeOfDay>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn quiet_hours_end() {
        let quiet =
            |from: &str, to: &str| QuietHours { from: from.parse().unwrap(), to: to.parse().unwrap() };
        let night = quiet("22:00", "06:30");
        assert_eq!(night.end(at("05:00:00")), Some(at("06:30:00")));
        assert_eq!(night.end(at("06:30:00")), None);
        assert_eq!(night.end(at("12:00:00")), None);
        assert_eq!(night.end(at("21:59:59")), None);
        assert_eq!(night.end(at("22:00:00")), Some(at("06:30:00").plus_seconds(86_400)));
        let noon = quiet("12:00", "13:00");
        assert_eq!(noon.end(at("12:30:00")), Some(at("13:00:00")));
        assert_eq!(noon.end(at("13:00:00")), None);
        let always = quiet("09:00", "09:00");
        assert_eq!(always.end(at("10:00:00")), Some(at("09:00:00").plus_seconds(86_400)));
    }
}
