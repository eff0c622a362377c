//! Names, addresses and other text of requests, each with its validation.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::{KnownFormat, SchemaFormat};

use crate::scalar::{Invalid, text};

/// Text that replaces a masked value.
pub const MASK: &str = "************";

/// Maximum length of a name in characters (Unicode scalar values, not bytes).
const NAME_MAX: usize = 64;

text! {
    /// Name of a resource: 1 to 64 characters on one line, without white space at either end. Control characters are stored;
    /// clients escape or omit them.
    ResourceName(Arc<str>), shown, |text| {
        if is_trimmed(&text) && text.chars().count() <= NAME_MAX && !text.contains(FORBIDDEN_CHARACTERS) {
            return Ok(text);
        }
        Err(Invalid::new(
            "a name is 1 to 64 characters, without spaces at either end, line breaks and the character NUL",
        ))
    }, |object| object.min_length(Some(1)).max_length(Some(NAME_MAX)).pattern(Some(
        r"^[^\s\u0000\u0085\ufeff]([^\u0000\n\u000b\u000c\r\u0085\u2028\u2029]*[^\s\u0000\u0085\ufeff])?$",
    ))
}

/// Characters that a name must not contain: line breaks, and NUL, which PostgreSQL cannot store.
const FORBIDDEN_CHARACTERS: [char; 8] =
    ['\0', '\n', '\u{b}', '\u{c}', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

text! {
    /// Name of a user: 1 to 64 letters of any script, marks, digits, spaces and `, . - '`, without a space at either end.
    UserName, shown, |text| {
        if is_trimmed(&text) && text.chars().count() <= NAME_MAX && text.chars().all(UserName::allows) {
            return Ok(text);
        }
        Err(Invalid::new(
            "a user name is 1 to 64 letters, digits, spaces and any of , . - ' without spaces at either end",
        ))
    }, |object| object.min_length(Some(1)).max_length(Some(NAME_MAX)).pattern(Some(user_name_pattern()))
}

impl UserName {
    /// Whether a name may contain `character`.
    pub fn allows(character: char) -> bool {
        character == ' ' || is_name_character(character)
    }
}

/// Characters of a user name except the space, as inclusive ranges.
///
/// The ranges cover whole scripts instead of Unicode categories, so that the OpenAPI pattern is exactly the same. They exclude
/// symbols, invisible fillers and marks that change the direction of text.
const NAME_CHARACTERS: [(char, char); 33] = [
    ('\'', '\''),
    (',', '.'),
    ('0', '9'),
    ('A', 'Z'),
    ('a', 'z'),
    ('\u{c0}', '\u{d6}'),
    ('\u{d8}', '\u{f6}'),
    ('\u{f8}', '\u{34e}'),
    ('\u{350}', '\u{61b}'),
    ('\u{61d}', '\u{115e}'),
    ('\u{1161}', '\u{167f}'),
    ('\u{1681}', '\u{17b3}'),
    ('\u{17b6}', '\u{180a}'),
    ('\u{1810}', '\u{1fff}'),
    ('\u{2019}', '\u{2019}'),
    ('\u{2c00}', '\u{2dff}'),
    ('\u{3005}', '\u{3007}'),
    ('\u{3041}', '\u{3163}'),
    ('\u{3165}', '\u{d7ff}'),
    ('\u{f900}', '\u{fdcf}'),
    ('\u{fdf0}', '\u{fdff}'),
    ('\u{fe20}', '\u{fe2f}'),
    ('\u{fe70}', '\u{fefc}'),
    ('\u{ff10}', '\u{ff19}'),
    ('\u{ff21}', '\u{ff3a}'),
    ('\u{ff41}', '\u{ff5a}'),
    ('\u{ff66}', '\u{ff9f}'),
    ('\u{ffa1}', '\u{ffdc}'),
    ('\u{10000}', '\u{16fff}'),
    ('\u{1b000}', '\u{1b2ff}'),
    ('\u{1e000}', '\u{1e95f}'),
    ('\u{20000}', '\u{2ffef}'),
    ('\u{30000}', '\u{3ffef}'),
];

fn is_name_character(character: char) -> bool {
    NAME_CHARACTERS.iter().any(|(first, last)| (*first..=*last).contains(&character))
}

fn user_name_pattern() -> String {
    // This range is written out, because a dash in it would be ambiguous.
    let class: String = NAME_CHARACTERS
        .iter()
        .map(|(first, last)| match (*first, *last) {
            (',', '.') => r",\-.".to_owned(),
            (first, last) if first == last => pattern_character(first),
            (first, last) => format!("{}-{}", pattern_character(first), pattern_character(last)),
        })
        .collect();
    format!("^[{class}]([{class} ]*[{class}])?$")
}

/// Formats a character in the form that all dialects of regular expressions accept.
fn pattern_character(character: char) -> String {
    if !character.is_ascii() && character <= '\u{ffff}' {
        format!("\\u{:04x}", u32::from(character))
    } else {
        character.to_string()
    }
}

/// Whether the text is not empty and has no white space at either end. The byte order mark counts as white space.
pub(crate) fn is_trimmed(text: &str) -> bool {
    let blank = |character: char| character.is_whitespace() || character == '\u{feff}';
    !text.is_empty() && !text.starts_with(blank) && !text.ends_with(blank)
}

text! {
    /// E-mail address in lower case: at most 64 bytes before the `@`, at most 254 bytes in total.
    Email, custom, |text| {
        // The Kelvin sign becomes `k` in lower case, which would allow a second spelling of the same account.
        let is_folded = |letter: char| !letter.is_ascii() && letter.to_lowercase().any(|lower| lower.is_ascii());
        let valid = !text.contains(is_folded);
        let text = text.to_lowercase();
        let options = email_address::Options::default()
            .with_no_minimum_sub_domains()
            .without_domain_literal()
            .without_display_text();
        let valid = valid
            && text.len() <= EMAIL_MAX
            && is_trimmed(&text)
            && !text.chars().any(char::is_control)
            && email_address::EmailAddress::parse_with_options(&text, options)
                .is_ok_and(|address| address.domain().bytes().all(is_domain_byte));
        if valid { Ok(text) } else { Err(Invalid::new("an e-mail address looks like name@example.org")) }
    }, |object| object
        .min_length(Some(3))
        .max_length(Some(EMAIL_MAX))
        .format(Some(SchemaFormat::Custom("email".into())))
}

/// Maximum length of an e-mail address in SMTP, in bytes.
const EMAIL_MAX: usize = 254;

fn is_domain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.')
}

text! {
    /// Domain of e-mail addresses in lower case: labels of letters, digits and dashes, joined by dots.
    Domain, shown, |text| {
        let text = text.to_ascii_lowercase();
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        if text.len() <= DOMAIN_MAX && text.contains('.') && text.split('.').all(is_label) {
            return Ok(text);
        }
        Err(Invalid::new("a domain is the part of addresses after the @, like example.org"))
    }, |object| object.min_length(Some(3)).max_length(Some(DOMAIN_MAX)).pattern(Some(
        r"^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$",
    ))
}

/// Maximum length of a host name.
const DOMAIN_MAX: usize = 253;

impl Email {
    /// Returns the part after the `@`.
    pub fn domain(&self) -> &str {
        self.0.rsplit_once('@').map_or("", |(_, domain)| domain)
    }

    /// Returns the masked address for messages and logs: `a***@e***.org`.
    pub fn masked(&self) -> String {
        let (local, domain) = self.0.rsplit_once('@').unwrap_or_default();
        let ending = domain.rfind('.').map_or("", |dot| &domain[dot..]);
        let outline = |part: &str| part.chars().take(1).chain("***".chars()).collect::<String>();
        format!("{}@{}{ending}", outline(local), outline(domain))
    }
}

impl fmt::Debug for Email {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.masked())
    }
}

text! {
    /// JSON Web Token in compact form: three parts of unpadded base64url, joined by dots. This type does not check the claims or
    /// the signature.
    Jwt, hidden, |text| {
        let mut parts = 0;
        let well_formed = text.split('.').all(|part| {
            parts += 1;
            // A single character in a group of four does not encode a whole byte.
            !part.is_empty()
                && part.len() % 4 != 1
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        });
        if well_formed && parts == 3 {
            return Ok(text);
        }
        Err(Invalid::new("a JSON Web Token is three parts of unpadded base64url, joined by dots"))
    }, |object| object.pattern(Some(
        r"^([A-Za-z0-9_\-]{4})*[A-Za-z0-9_\-]{2,4}(\.([A-Za-z0-9_\-]{4})*[A-Za-z0-9_\-]{2,4}){2}$",
    ))
}

text! {
    /// Text that is not empty and has no white space at either end.
    NonEmpty, shown, |text| {
        if is_trimmed(&text) && !text.contains('\0') {
            return Ok(text);
        }
        Err(Invalid::new("the text cannot be empty or have spaces at either end"))
    }, |object| object.min_length(Some(1)).pattern(Some(r"^[^\s\u0000\u0085\ufeff]([^\u0000]*[^\s\u0000\u0085\ufeff])?$"))
}

/// Maximum length of a name in characters. A longer search text is cut to one more character, which matches no name.
const SEARCH_MAX: usize = 1024;

text! {
    /// Text to search for. The empty text matches all names; a text of more than 1,024 characters matches none.
    Search, shown, |text| {
        if text.contains('\0') {
            return Err(Invalid::new("the text to search for cannot have the character NUL"));
        }
        match text.char_indices().nth(SEARCH_MAX + 1) {
            Some((end, _)) => Ok(text[..end].to_owned()),
            None => Ok(text),
        }
    }, |object| object.pattern(Some(r"^[^\u0000]*$"))
}

/// A masked value. Only [`Secret::expose`] returns the plain text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    /// Returns the plain text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Secret {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        if text.is_empty() { Err(Invalid::new("a secret cannot be empty")) } else { Ok(Self(text)) }
    }
}

impl std::str::FromStr for Secret {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::try_from(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(MASK)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
    }
}

impl utoipa::PartialSchema for Secret {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .min_length(Some(1))
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Password)))
            .description(Some("A secret; answers show asterisks in its place."))
            .into()
    }
}

impl utoipa::ToSchema for Secret {
    fn name() -> std::borrow::Cow<'static, str> {
        "Secret".into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scalar::tests::{check, schema_accepts};

    #[test]
    fn resource_names() {
        check::<ResourceName>(
            &[
                "a",
                "a b",
                "é",
                "\u{1f680}",
                "a/b%_",
                "a\tb",
                "\u{1b}[2Ja",
                "a\u{9b}b\u{7f}",
                &"\u{1f680}".repeat(64),
            ],
            &["", " ", " a", "a ", "a\u{a0}", "\u{feff}a", "a\0b", "a\nb", "a\rb", "\u{85}", &"é".repeat(65)],
        );
    }

    #[test]
    fn user_names() {
        check::<Domain>(
            &["example.org", "EXAMPLE.org", "a.b", "x-1.example.co.uk", "xn--bcher-kva.example"],
            &[
                "",
                "example",
                "@example.org",
                "a b.org",
                "-a.org",
                "a-.org",
                "example.org.",
                ".org",
                "*.org",
                "bücher.org",
            ],
        );
        check::<UserName>(
            &[
                "Ada",
                "O'Neil, Jr.",
                "O’Neil",
                "Jean-Luc 2",
                "Zażółć Gęślą",
                "e\u{301}",
                "北京 太郎",
                "佐々木",
                "अनन्या",
                "ณัฐพล",
                "محمد",
                "Ἀριστοτέλης",
                &"x".repeat(64),
            ],
            &[
                "",
                " ",
                " a",
                "a ",
                "a\tb",
                "a\0",
                "a@b",
                "<b>",
                "a_b",
                "a\u{202e}b",
                "\u{3164}",
                "\u{1f680}",
                "×",
                &"x".repeat(65),
            ],
        );
    }

    #[test]
    fn emails() {
        let local = "x".repeat(64);
        check::<Email>(
            &["ada@example.org", "a+b@localhost", "a.b@x-y.example.org", &format!("{local}@example.org")],
            &[
                "",
                "@",
                "ada",
                "ada@",
                "@example.org",
                " ada@example.org",
                "ada@example.org ",
                "ada@example.org\n",
                "Ada <ada@example.org>",
                "ada@[127.0.0.1]",
                "ada@exämple.org",
                "ada@example..org",
                "a b@example.org",
                "\u{212a}ate@example.org",
                "\u{130}da@example.org",
                "ada@exa\0mple.org",
                &format!("x{local}@example.org"),
                &format!("{local}@{}.org", vec!["y".repeat(60); 4].join(".")),
            ],
        );
    }

    #[test]
    fn an_email_is_stored_in_lower_case_and_masked() {
        let email: Email = "Ada.L@Mail.Example.ORG".parse().unwrap();
        assert_eq!(email.as_str(), "ada.l@mail.example.org");
        assert_eq!(email.masked(), "a***@m***.org");
        assert_eq!(format!("{email:?}"), "a***@m***.org");
        assert_eq!("a@localhost".parse::<Email>().unwrap().masked(), "a***@l***");
    }

    #[test]
    fn tokens() {
        check::<Jwt>(
            &["aa.bb.cc", "eyJh-_0.eyJ9.c2lnbg"],
            &[
                "",
                "aa.bb",
                "aa.bb.cc.dd",
                "aa..cc",
                "a.bb.cc",
                "aaaaa.bb.cc",
                "aa=.bb.cc",
                "aa.bb.c+",
                "aa.bb.cc\n",
            ],
        );
        assert_eq!(format!("{:?}", "aa.bb.cc".parse::<Jwt>().unwrap()), MASK);
    }

    #[test]
    fn other_text() {
        check::<NonEmpty>(&["a", "a b"], &["", " a", "a\n", "a\0b"]);
        check::<Search>(&["", " ", "100%_", &"ä".repeat(1024)], &["\0"]);
        assert_eq!("ä".repeat(5000).parse::<Search>().unwrap().as_str(), "ä".repeat(1025));
    }

    #[test]
    fn debug_and_json_mask_a_secret() {
        let secret: Secret = " hunter2 ".parse().unwrap();
        assert_eq!(secret.expose(), " hunter2 ");
        assert_eq!(format!("{secret} {secret:?}"), format!("{MASK} {MASK}"));
        assert_eq!(serde_json::to_string(&secret).unwrap(), format!("\"{MASK}\""));
        assert!("".parse::<Secret>().is_err());
    }

    proptest! {
        #[test]
        fn type_and_schema_accept_the_same_texts(texts in prop::collection::vec(any::<String>(), 8), character in any::<char>()) {
            let resource_name = schema_accepts::<ResourceName>();
            let user_name = schema_accepts::<UserName>();
            let non_empty = schema_accepts::<NonEmpty>();
            for text in texts.into_iter().chain([character.to_string(), format!("a{character}b")]) {
                prop_assert_eq!(resource_name(&text), text.parse::<ResourceName>().is_ok(), "{:?}", text);
                prop_assert_eq!(user_name(&text), text.parse::<UserName>().is_ok(), "{:?}", text);
                prop_assert_eq!(non_empty(&text), text.parse::<NonEmpty>().is_ok(), "{:?}", text);
            }
        }
    }
}
