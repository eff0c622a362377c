//! Layout of a mail: one text, rendered as plain text and as HTML. `message.rs` defines the text.

use std::fmt;

use tidemark_api::Jwt;
use url::Url;

/// Content of one mail.
pub(super) struct MailContent {
    pub(super) subject: String,
    pub(super) greeting: String,
    pub(super) body: String,
    pub(super) action: Option<Action>,
    pub(super) closing: String,
    pub(super) home: String,
}

/// The link that the mail asks the reader to open.
pub(super) struct Action {
    pub(super) button: &'static str,
    pub(super) url: Url,
    pub(super) label: &'static str,
    pub(super) token: Jwt,
    pub(super) lasts: String,
}

impl MailContent {
    /// Returns the plain text.
    pub(super) fn text(&self) -> String {
        let Self { greeting, body, action, closing, home, .. } = self;
        let action = action.as_ref().map_or_else(String::new, |action| {
            let Action { button, url, label, token, lasts } = action;
            format!("{button}: {url}\n\n{label}: {token}\n\n{lasts}\n\n")
        });
        format!("{greeting}\n\n{body}\n\n{action}{closing}\n\nTidemark\n{home}\n")
    }

    /// Returns the HTML: one column for small screens, with a light and a dark color scheme.
    pub(super) fn html(&self) -> String {
        let Self { subject, greeting, body, action, closing, home } = self;
        let (subject, greeting) = (Escaped(subject), Escaped(greeting));
        let body = Escaped(body).to_string().replace('\n', "<br>\n");
        let (closing, home) = (Escaped(closing), Escaped(home));
        let action = action.as_ref().map_or_else(String::new, |action| {
            let Action { button, url, label, token, lasts } = action;
            let (button, url, label) = (Escaped(button), Escaped(url.as_str()), Escaped(label));
            let (token, lasts) = (Escaped(token.as_str()), Escaped(lasts));
            format!(
                r#"<p style="margin:28px 0"><a class="button" href="{url}" style="display:inline-block;padding:12px 22px;border-radius:8px;background:#0b6e6e;color:#ffffff;font-weight:600;text-decoration:none">{button}</a></p>
<p class="quiet" style="margin:0 0 6px;font-size:14px;color:#5b6770">{label}</p>
<p class="token" style="margin:0 0 20px;padding:10px 12px;border-radius:6px;background:#eef2f3;font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12px;line-height:1.5;word-break:break-all">{token}</p>
<p class="quiet" style="margin:0 0 16px;font-size:14px;color:#5b6770">{lasts}</p>
"#
            )
        });
        format!(
            r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>{subject}</title>
<style>
:root {{ color-scheme: light dark; }}
@media (prefers-color-scheme: dark) {{
  body {{ background: #12181b !important; color: #e6ecee !important; }}
  .card {{ background: #1b2327 !important; border-color: #2c373c !important; }}
  .token {{ background: #12181b !important; }}
  .quiet, .quiet a {{ color: #9fb0b7 !important; }}
  .button {{ background: #2aa5a0 !important; color: #06211f !important; }}
}}
@media (max-width: 480px) {{ .card {{ padding: 22px 18px !important; }} }}
</style>
</head>
<body style="margin:0;padding:24px 12px;background:#f4f6f7;color:#1c2529;font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;font-size:16px;line-height:1.5">
<div class="card" style="max-width:520px;margin:0 auto;padding:32px 36px;border:1px solid #dfe5e7;border-radius:12px;background:#ffffff">
<p style="margin:0 0 16px">{greeting}</p>
<p style="margin:0 0 16px">{body}</p>
{action}<p style="margin:0">{closing}</p>
</div>
<p class="quiet" style="max-width:520px;margin:16px auto 0;text-align:center;font-size:13px;color:#5b6770">Tidemark · <a href="{home}" style="color:#5b6770">{home}</a></p>
</body>
</html>
"#
        )
    }
}

/// Text that is escaped for HTML, between tags and in quoted attributes.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                other => fmt::Write::write_char(f, other)?,
            }
        }
        Ok(())
    }
}
