//! URLs: URLs that the server or a client calls, and URLs for display only.

use utoipa::openapi::SchemaFormat;

use crate::{
    name::is_trimmed,
    scalar::{Invalid, text},
};

text! {
    /// Absolute `http` or `https` URL of at most 2048 ASCII characters.
    Url, shown, |text| {
        url::Url::parse(&text)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && is_trimmed(&text) && text.is_ascii())
            .map(String::from)
            .filter(|url| url.len() <= URL_MAX)
            .ok_or(Invalid::new("a URL starts with http:// or https:// and has at most 2048 ASCII characters"))
    }, |object| object
        .max_length(Some(URL_MAX))
        .pattern(Some("^https?://"))
        .format(Some(SchemaFormat::Custom("uri".into())))
}

impl Url {
    /// Returns the URL without the parts that can be a credential: the host, and the last four characters if they are a small
    /// part of the rest, for example `https://hooks.slack.com/…/x7Qz`.
    pub fn masked(&self) -> String {
        let Ok(url) = url::Url::parse(&self.0) else { return crate::name::MASK.to_owned() };
        let origin = url.origin().ascii_serialization();
        let rest = &url[url::Position::BeforePath..];
        let end = rest.len().checked_sub(MASKED_END).filter(|_| rest.len() >= MASKED_MIN);
        match (end.and_then(|end| rest.get(end..)), rest) {
            (Some(end), _) => format!("{origin}/…/{end}"),
            (None, "/") if url.username().is_empty() && url.password().is_none() => format!("{origin}/"),
            (None, _) => format!("{origin}/…"),
        }
    }
}

text! {
    /// Absolute URL of any scheme, at most 65,536 characters. The console links only to `http` and `https`.
    AnyUrl, shown, |text| {
        url::Url::parse(&text)
            .ok()
            .map(String::from)
            .filter(|url| url.len() <= ANY_URL_MAX)
            .ok_or(Invalid::new("a URL starts with a scheme, like https://, and has at most 65,536 characters"))
    }, |object| object
        .max_length(Some(ANY_URL_MAX))
        .format(Some(SchemaFormat::Custom("uri".into())))
}

/// Maximum length of a URL for display, in bytes of its normalized form.
const ANY_URL_MAX: usize = 65_536;

/// Number of characters at the end of a masked URL.
const MASKED_END: usize = 4;

/// Minimum length of path, query and fragment of a masked URL that shows its end.
const MASKED_MIN: usize = 24;

/// Maximum length of a URL in bytes of its normalized form, which is ASCII.
const URL_MAX: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::tests::check;

    #[test]
    fn urls() {
        check::<Url>(
            &["https://example.org/", "http://localhost:3000/a?b#c"],
            &[
                "",
                "example.org",
                "/a",
                "ftp://example.org",
                "javascript:alert(1)",
                "https://",
                " https://example.org",
            ],
        );
        assert_eq!("HTTPS://Example.org".parse::<Url>().unwrap().as_str(), "https://example.org/");
        assert!(format!("https://example.org/{}", "x".repeat(2029)).parse::<Url>().is_err());
        assert!(format!("https://example.org/{}", "x".repeat(2028)).parse::<Url>().is_ok());
    }

    #[test]
    fn a_masked_url_contains_no_credential() {
        for (url, masked) in [
            ("https://hooks.slack.com/services/T000/B000/Zq3lM0x7Qz", "https://hooks.slack.com/…/x7Qz"),
            ("https://chat.example.org:8443/hooks/q8fj3bs9tjg1fcx7y", "https://chat.example.org:8443/…/cx7y"),
            ("https://example.org/hook?token=0123456789abcdef", "https://example.org/…/cdef"),
            ("https://example.org/hook", "https://example.org/…"),
            ("https://example.org", "https://example.org/"),
            ("https://user:password@example.org/", "https://example.org/…"),
            ("https://example.org/#0123456789abcdef01234567", "https://example.org/…/4567"),
        ] {
            assert_eq!(url.parse::<Url>().unwrap().masked(), masked);
        }
    }

    #[test]
    fn any_parsed_url_can_be_stored() {
        for (text, stored) in [
            ("https://example.org", "https://example.org/"),
            ("ssh://git@example.org/a.git", "ssh://git@example.org/a.git"),
            ("mailto:a@example.org", "mailto:a@example.org"),
            ("https://exämple.org/ü", "https://xn--exmple-cua.org/%C3%BC"),
        ] {
            assert_eq!(text.parse::<AnyUrl>().unwrap().as_str(), stored);
        }
        assert!("example.org".parse::<AnyUrl>().is_err());
    }
}
