//! The console computes limits in the browser to preview a threshold. Its tests compare its results with a table of samples
//! and limits; this test compares the table with this crate.

use tidemark_stats::{Limits, Model, PreparedModel};

/// Test, lower and upper boundary, values from newest to oldest, baseline, lower and upper limit.
const TABLE: &str = include_str!("../../../console/src/stats/server.tsv");

#[test]
fn the_table_of_the_console_has_our_limits() {
    let number = |text: &str| (!text.is_empty()).then(|| text.parse::<f64>().unwrap());
    for row in TABLE.lines() {
        let columns: [&str; 7] = row.split('\t').collect::<Vec<_>>().try_into().expect("seven columns");
        let [test, lower, upper, values, limits @ ..] = columns;
        let model = Model {
            lower_boundary: number(lower),
            upper_boundary: number(upper),
            ..Model::new(test.parse().unwrap())
        };
        let sample: Vec<f64> = values.split(',').filter_map(number).collect();
        let ours = PreparedModel::new(&model)
            .limits(&sample)
            .map_or([None; 3], |Limits { baseline, lower, upper }| [baseline, lower, upper]);
        for (ours, theirs) in ours.into_iter().zip(limits.into_iter().map(number)) {
            let same = match (ours, theirs) {
                (Some(ours), Some(theirs)) => (ours - theirs).abs() <= 1e-12 * theirs.abs(),
                _ => ours == theirs,
            };
            assert!(same, "{ours:?} instead of {theirs:?} in {row}");
        }
    }
}
