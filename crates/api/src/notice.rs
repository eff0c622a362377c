//! Notices: where projects and users are told of the alerts that reports raise. How a notice reads is in `crates/render/src/notification.rs`.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Email, Invalid, NoticeUuid, PlainKey, ProjectUuid, ResourceId, ResourceName, Timestamp, Url, UserUuid,
    patch::present,
    scalar::{text, word},
};

word! {
    /// How a notice is told.
    NoticeKind {
        /// As JSON, signed.
        Webhook = "webhook",
        /// As a message of Slack.
        Slack = "slack",
        /// As a message of Mattermost.
        Mattermost = "mattermost",
        /// As a message of Discord.
        Discord = "discord",
        /// As a mail to a member of the organization, or to the user whose notice it is.
        Email = "email",
    }
}

word! {
    /// What a notice tells of.
    #[derive(Default)]
    NoticeEvent {
        /// Reports that raised alerts, for better or worse.
        #[default]
        Alerts = "alerts",
        /// Reports with alerts for the worse.
        Regressions = "regressions",
    }
}

word! {
    /// What a notice gathers before it is told.
    #[derive(Default)]
    Digest {
        /// Nothing: each report is told by itself.
        #[default]
        None = "none",
        /// The reports of a day, which ends at midnight UTC.
        Daily = "daily",
    }
}

text! {
    /// A time of the day in UTC, from 00:00 to 23:59.
    TimeOfDay, shown, |text| {
        minutes(&text).map(|_| text).ok_or(Invalid::new("a time of the day is written from 00:00 to 23:59"))
    }, |object| object.pattern(Some("^([01][0-9]|2[0-3]):[0-5][0-9]$"))
}

impl TimeOfDay {
    /// How many minutes after midnight it is.
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

/// The part of each day in which a notice is silent. What falls into it is told at its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonQuietHours)]
pub struct QuietHours {
    /// When it begins.
    pub from: TimeOfDay,
    /// When it ends; on the next day if that is not later.
    pub to: TimeOfDay,
}

impl QuietHours {
    /// When the quiet hours that hold at a time end, if some do.
    pub fn end(&self, at: Timestamp) -> Option<Timestamp> {
        const DAY: i64 = 24 * 60 * 60;
        let (from, to) = (self.from.minutes() * 60, self.to.minutes() * 60);
        let second = at.seconds().rem_euclid(DAY);
        let midnight = at.seconds() - second;
        // As many seconds after `from` as the quiet hours are long, or the whole day.
        let length = (to - from - 1).rem_euclid(DAY) + 1;
        let since = (second - from).rem_euclid(DAY);
        let begun = midnight + second - since;
        (since < length).then(|| Timestamp::from_micros((begun + length) * 1_000_000))
    }
}

/// A notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNotice)]
pub struct Notice {
    /// Its identifier.
    pub uuid: NoticeUuid,
    /// The project it tells of; null for all projects of the organizations of the user.
    pub project: Option<ProjectUuid>,
    /// The user whose it is; null for one of a project.
    pub user: Option<UserUuid>,
    /// Its name; several notices can share one.
    pub name: ResourceName,
    /// How it is told.
    pub kind: NoticeKind,
    /// Where it is told; null for a mail.
    pub url: Option<Url>,
    /// Who gets the mail; null for everything else.
    pub email: Option<Email>,
    /// What signs the requests of a webhook. Only the answer that creates one shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<PlainKey>,
    /// What it tells of.
    pub event: NoticeEvent,
    /// When it is silent; null if it never is.
    pub quiet: Option<QuietHours>,
    /// What it gathers.
    pub digest: Digest,
    /// When it was created.
    pub created: Timestamp,
    /// When it was last changed.
    pub modified: Timestamp,
    /// When it was put out of use; null while it is in use.
    pub archived: Option<Timestamp>,
}

/// A notice to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewNotice)]
#[serde(deny_unknown_fields)]
pub struct NewNotice {
    /// Its name.
    pub name: ResourceName,
    /// How to tell it.
    pub kind: NoticeKind,
    /// Where to tell it; needed by everything but a mail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Url>,
    /// Who gets the mail: the address of a member of the organization. That of a user goes to the address of the account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<Email>,
    /// What to tell of.
    #[serde(default)]
    pub event: NoticeEvent,
    /// When to be silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<QuietHours>,
    /// What to gather.
    #[serde(default)]
    pub digest: Digest,
    /// The project to tell a user of, by slug or UUID; all projects of their organizations when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ResourceId>,
}

/// What to change of a notice. A field that is not there stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateNotice)]
#[serde(deny_unknown_fields)]
pub struct NoticePatch {
    /// The new name.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = ResourceName, required = false)]
    pub name: Option<ResourceName>,
    /// Where to tell it; not for a mail.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Url, required = false)]
    pub url: Option<Url>,
    /// Who gets the mail; for a mail only.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Email, required = false)]
    pub email: Option<Email>,
    /// What to tell of.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = NoticeEvent, required = false)]
    pub event: Option<NoticeEvent>,
    /// When to be silent; null for never.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<QuietHours>, required = false)]
    pub quiet: Option<Option<QuietHours>>,
    /// What to gather.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Digest, required = false)]
    pub digest: Option<Digest>,
    /// Whether it is out of use. What waits then is never told.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = bool, required = false)]
    pub archived: Option<bool>,
}

/// Which notices to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct NoticeFilter {
    /// Whether to list those that are out of use instead.
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
