//! Test notification: shows that a notice reaches its destination, in the format of each kind of notice.

use serde_json::{Value, json};
use tidemark_api::{Notice, NotificationUuid, Project, Timestamp};

use crate::{
    format,
    notification::{COLORS, TITLE_MAX},
    style::{Style, truncate},
};

/// A test of a notice.
pub struct TestNotification<'a> {
    /// Event identifier, which the receiver sees.
    pub event: NotificationUuid,
    /// Time of the test.
    pub time: Timestamp,
    /// Project of the notice.
    pub project: &'a Project,
    /// Notice.
    pub notice: &'a Notice,
}

impl TestNotification<'_> {
    /// Returns the test in a few words.
    pub fn title(&self) -> String {
        let [project, notice] =
            [&self.project.name, &self.notice.name].map(|name| format::plain(name.as_str()));
        truncate(&format!("{project}: test of the notice {notice}"), TITLE_MAX)
    }

    /// Returns the test as plain text.
    pub fn plain(&self) -> String {
        format!("This message is a test. {}", format::plain(&self.notice.summary))
    }

    /// Returns the test as JSON for webhooks.
    pub fn webhook(&self) -> Value {
        let Self { event, time, project, notice } = self;
        json!({
            "type": "test",
            "event": event,
            "time": time,
            "title": self.title(),
            "project": { "uuid": project.uuid, "slug": project.slug, "name": project.name },
            "notice": { "uuid": notice.uuid, "name": notice.name, "summary": notice.summary },
            "reports": [],
        })
    }

    /// Returns the test as a Slack message.
    pub fn slack(&self) -> Value {
        let [title, text] = [self.title(), self.plain()].map(|text| Style::Slack.escape(&text));
        let section = format!("*{title}*\n{text}");
        json!({
            "text": title,
            "blocks": [{ "type": "section", "text": { "type": "mrkdwn", "text": section } }],
        })
    }

    /// Returns the test as a Mattermost message.
    pub fn mattermost(&self) -> Value {
        let [title, text] = [self.title(), self.plain()].map(|text| Style::Markdown.escape(&text));
        json!({ "text": format!("**{title}**\n{text}") })
    }

    /// Returns the test as a Discord message.
    pub fn discord(&self) -> Value {
        json!({
            "allowed_mentions": { "parse": [] },
            "embeds": [{
                "title": self.title(),
                "description": Style::Markdown.escape(&self.plain()),
                "color": COLORS[1],
            }],
        })
    }
}
