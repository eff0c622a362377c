//! The legend: the name of each line. Parts that all lines share are shown once, in the heading.

use super::{
    WIDTH,
    canvas::{Anchor, Canvas, Dot, Stroke, TextStyle},
    chart::Chart,
    draw::MARGIN,
    text::{self, Weight},
    theme::Colors,
};

const SIZE: f64 = 13.0;
const ROW: f64 = 21.0;
/// Distance from the left end of the stroke of an entry to its text.
const INDENT: f64 = 30.0;
/// Distance between two columns.
const GAP: f64 = 24.0;
const SEPARATOR: &str = " · ";

/// The legend of a chart.
pub(super) struct Legend {
    /// The parts of the name that all lines share; empty if there are none or only one line.
    pub(super) shared: String,
    entries: Vec<String>,
    hidden: usize,
    columns: usize,
}

impl Legend {
    pub(super) fn of(chart: &Chart<'_>) -> Self {
        let labels: Vec<Vec<String>> = chart
            .series
            .iter()
            .map(|series| {
                series
                    .line
                    .label
                    .iter()
                    .map(|part| text::clean(part))
                    .filter(|part| !part.is_empty())
                    .collect()
            })
            .collect();
        let (shared, entries) = split(&labels);
        let count = entries.len() + usize::from(chart.hidden > 0);
        let widest =
            entries.iter().map(|entry| text::width(entry, SIZE, Weight::Regular)).fold(0.0, f64::max);
        let columns =
            match [3, 2].into_iter().find(|columns| count >= *columns && widest <= available_width(*columns))
            {
                Some(columns) => columns,
                None if count <= 4 => 1,
                None => 2,
            };
        Self { shared, entries, hidden: chart.hidden, columns }
    }

    /// Returns the height.
    pub(super) fn height(&self) -> f64 {
        self.rows() as f64 * ROW
    }

    pub(super) fn draw(&self, canvas: &mut Canvas, colors: &Colors, top: f64) {
        let style =
            TextStyle { size: SIZE, weight: Weight::Regular, anchor: Anchor::Start, color: colors.text };
        let available_width = available_width(self.columns);
        let place = |index: usize| Dot {
            x: MARGIN + (index / self.rows()) as f64 * (INDENT + available_width + GAP),
            y: top + (index % self.rows()) as f64 * ROW + ROW / 2.0,
        };
        for (index, (entry, color)) in self.entries.iter().zip(colors.lines).enumerate() {
            let Dot { x, y } = place(index);
            canvas.segment(Dot { x, y }, Dot { x: x + 20.0, y }, Stroke::solid(color, 3.0));
            let entry = text::cut_middle(entry, SIZE, Weight::Regular, available_width);
            canvas.text(Dot { x: x + INDENT, y: y + 4.5 }, style, &entry);
        }
        if self.hidden > 0 {
            let Dot { x, y } = place(self.entries.len());
            let note = format!("and {} more", self.hidden);
            canvas.text(Dot { x: x + INDENT, y: y + 4.5 }, TextStyle { color: colors.muted, ..style }, &note);
        }
    }

    fn rows(&self) -> usize {
        (self.entries.len() + usize::from(self.hidden > 0)).div_ceil(self.columns)
    }
}

/// Returns the maximum width of the text of an entry.
fn available_width(columns: usize) -> f64 {
    let columns = columns as f64;
    (f64::from(WIDTH) - 2.0 * MARGIN - (columns - 1.0) * GAP) / columns - INDENT
}

/// Splits labels into the parts that all share and the remaining parts of each.
fn split(labels: &[Vec<String>]) -> (String, Vec<String>) {
    let whole = || labels.iter().map(|label| label.join(SEPARATOR)).collect();
    let Some((first, others)) = labels.split_first() else { return (String::new(), Vec::new()) };
    if others.is_empty() || others.iter().any(|label| label.len() != first.len()) {
        return (String::new(), whole());
    }
    let same: Vec<bool> =
        (0..first.len()).map(|part| others.iter().all(|label| label[part] == first[part])).collect();
    if same.iter().all(|same| *same) {
        return (String::new(), whole());
    }
    let pick = |label: &[String], wanted: bool| {
        let parts =
            label.iter().zip(&same).filter(|(_, same)| **same == wanted).map(|(part, _)| part.as_str());
        parts.collect::<Vec<_>>().join(SEPARATOR)
    };
    (pick(first, true), labels.iter().map(|label| pick(label, false)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(texts: &[&str]) -> Vec<Vec<String>> {
        texts.iter().map(|text| text.split('/').map(str::to_owned).collect()).collect()
    }

    #[test]
    fn what_is_shared_is_said_once() {
        let (shared, entries) = split(&labels(&["main/linux/parse/Latency", "main/linux/write/Latency"]));
        assert_eq!(
            (shared.as_str(), entries),
            ("main · linux · Latency", vec!["parse".into(), "write".into()])
        );
        let (shared, entries) = split(&labels(&["main/linux/parse/Latency"]));
        assert_eq!((shared.as_str(), entries), ("", vec!["main · linux · parse · Latency".into()]));
        let (shared, entries) = split(&labels(&["main/linux", "main/linux"]));
        assert_eq!((shared.as_str(), entries.len(), entries[0].as_str()), ("", 2, "main · linux"));
        assert_eq!(split(&labels(&["main", "main/linux"])).1, ["main", "main · linux"]);
    }
}
