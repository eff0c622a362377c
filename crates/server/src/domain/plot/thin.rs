//! Reduces the points of a line: only a few points in one column of pixels are visible.

use super::canvas::Dot;

/// An edge of a band.
#[derive(Clone, Copy, Debug)]
pub(super) enum Edge {
    /// The upper edge, which has the smaller `y`.
    Top,
    /// The lower edge.
    Bottom,
}

/// Keeps the first, the lowest, the highest and the last point of each column of pixels.
///
/// The points are ordered by `x` and stay ordered. A line through the remaining points covers the same pixels, and its length
/// depends only on the width of the picture.
pub(super) fn columns(points: &[Dot]) -> Vec<Dot> {
    let mut kept = Vec::with_capacity(points.len().min(4 * 1024));
    for column in points.chunk_by(|one, other| one.x.floor() == other.x.floor()) {
        if column.len() <= 2 {
            kept.extend_from_slice(column);
            continue;
        }
        let by_height = |one: &usize, other: &usize| column[*one].y.total_cmp(&column[*other].y);
        let mut indexes = [
            Some(0),
            (0..column.len()).min_by(by_height),
            (0..column.len()).max_by(by_height),
            Some(column.len() - 1),
        ];
        indexes.sort_unstable();
        let mut last = None;
        for index in indexes.into_iter().flatten() {
            if last != Some(index) {
                kept.push(column[index]);
                last = Some(index);
            }
        }
    }
    kept
}

/// Keeps only the topmost or the lowest included point of each `width` pixels; `None` if there is no included point.
pub(super) fn envelope(points: &[(Dot, bool)], width: f64, edge: Edge) -> Vec<Option<Dot>> {
    let stretch = |dot: &Dot| (dot.x / width).floor();
    let stretches = points.chunk_by(|(one, _), (other, _)| stretch(one) == stretch(other));
    let outermost = stretches.map(|stretch| {
        let counting = stretch.iter().filter(|(_, counts)| *counts).map(|(dot, _)| *dot);
        match edge {
            Edge::Top => counting.min_by(|one, other| one.y.total_cmp(&other.y)),
            Edge::Bottom => counting.max_by(|one, other| one.y.total_cmp(&other.y)),
        }
    });
    outermost.collect()
}

/// Keeps only the highest and the lowest marker of each `width` pixels, because markers would cover each other.
pub(super) fn markers(points: &[Dot], width: f64) -> Vec<Dot> {
    let mut kept = Vec::new();
    for stretch in points.chunk_by(|one, other| (one.x / width).floor() == (other.x / width).floor()) {
        let lowest = stretch.iter().min_by(|one, other| one.y.total_cmp(&other.y));
        let highest = stretch.iter().max_by(|one, other| one.y.total_cmp(&other.y));
        if let (Some(lowest), Some(highest)) = (lowest, highest) {
            kept.push(*lowest);
            if highest.y - lowest.y >= 1.0 {
                kept.push(*highest);
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dots(pairs: &[(f64, f64)]) -> Vec<Dot> {
        pairs.iter().map(|(x, y)| Dot { x: *x, y: *y }).collect()
    }

    #[test]
    fn extremes_survive_in_order() {
        let points =
            dots(&[(1.0, 5.0), (1.1, 9.0), (1.2, 6.0), (1.3, 1.0), (1.4, 6.0), (1.5, 5.0), (2.0, 7.0)]);
        let expected = dots(&[(1.0, 5.0), (1.1, 9.0), (1.3, 1.0), (1.5, 5.0), (2.0, 7.0)]);
        assert_eq!(columns(&points), expected);
        assert_eq!(columns(&points[..2]), dots(&[(1.0, 5.0), (1.1, 9.0)]));
        assert_eq!(columns(&[]), Vec::new());
    }

    #[test]
    fn an_envelope_is_outermost() {
        let points = dots(&[(0.0, 5.0), (1.0, 2.0), (2.0, 8.0), (3.0, 4.0), (6.0, 1.0), (7.0, 3.0)]);
        let counts = [true, true, true, false, true, false];
        let points: Vec<(Dot, bool)> = points.into_iter().zip(counts).collect();
        let kept = |edge| {
            envelope(&points, 3.0, edge).into_iter().map(|dot| dot.map(|dot| dot.y)).collect::<Vec<_>>()
        };
        assert_eq!(kept(Edge::Top), [Some(2.0), None, Some(1.0)]);
        assert_eq!(kept(Edge::Bottom), [Some(8.0), None, Some(1.0)]);
    }

    #[test]
    fn equal_points_become_two() {
        assert_eq!(columns(&dots(&[(3.0, 3.0); 50])).len(), 2);
        assert_eq!(markers(&dots(&[(3.0, 3.0); 50]), 4.0).len(), 1);
    }

    proptest! {
        #[test]
        fn bounded_and_true_to_the_extremes(mut pairs in prop::collection::vec((0.0..40.0_f64, 0.0..500.0_f64), 1..2_000)) {
            pairs.sort_by(|one, other| one.0.total_cmp(&other.0));
            let points = dots(&pairs);
            let kept = columns(&points);
            prop_assert!(kept.len() <= 4 * 40);
            prop_assert!(kept.is_sorted_by(|one, other| one.x <= other.x));
            let highest = |dots: &[Dot]| dots.iter().map(|dot| dot.y).fold(f64::MIN, f64::max);
            prop_assert_eq!(highest(&kept), highest(&points));
            prop_assert_eq!(kept.first(), points.first());
            prop_assert_eq!(kept.last(), points.last());
        }
    }
}
