//! The colors of a picture.

use super::LINES;

/// The light or dark theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark on white.
    #[default]
    Light,
    /// Light on near black.
    Dark,
}

/// The colors of a theme.
pub(super) struct Colors {
    pub(super) background: &'static str,
    pub(super) text: &'static str,
    pub(super) muted: &'static str,
    pub(super) axis: &'static str,
    pub(super) grid: &'static str,
    pub(super) alert: &'static str,
    pub(super) brand: &'static str,
    /// Selected by a search, so that any two are distinguishable with the three kinds of color blindness, contrast with the
    /// background and differ from the color of alerts. The first five, which are enough for most pictures, differ the most.
    pub(super) lines: [&'static str; LINES],
}

impl Theme {
    pub(super) const fn colors(self) -> &'static Colors {
        match self {
            Self::Light => &LIGHT,
            Self::Dark => &DARK,
        }
    }
}

const LIGHT: Colors = Colors {
    background: "#ffffff",
    text: "#1b2733",
    muted: "#5b6876",
    axis: "#b4bec9",
    grid: "#e6ebf0",
    alert: "#d92d20",
    brand: "#0d7f8c",
    lines: [
        "#586eff", "#f18900", "#530e97", "#47c8ad", "#6d4b47", "#bd4b7f", "#84a0bb", "#939a6c", "#383d4f",
        "#2c7a04",
    ],
};

const DARK: Colors = Colors {
    background: "#10161f",
    text: "#e8edf3",
    muted: "#9aa7b5",
    axis: "#46556a",
    grid: "#222d3b",
    alert: "#ff5a4f",
    brand: "#3fb8c5",
    lines: [
        "#64beff", "#ffd406", "#865be9", "#cafff3", "#a26d50", "#f874c0", "#a9a68c", "#c9dd9c", "#857084",
        "#5eb51c",
    ],
};
