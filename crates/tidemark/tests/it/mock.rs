//! `tidemark mock`: the same seed creates the same results, and failures occur as requested.

use serde_json::Value;

use crate::{parse::with_input, process::tidemark};

fn mock(arguments: &[&str]) -> (Option<i32>, Value) {
    let output = tidemark(&["mock"]).args(arguments).output().unwrap();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default())
}

#[test]
fn a_seed_always_generates_the_same_results() {
    let arguments = ["--seed", "6", "--count", "2", "--measure", "latency", "--measure", "build-time"];
    let (code, results) = mock(&arguments);
    assert_eq!(code, Some(0));
    insta::assert_json_snapshot!(results, @r#"
    {
      "tidemark::mock_0": {
        "build-time": {
          "lower_value": 4.0168234864285095,
          "upper_value": 4.909450927857066,
          "value": 4.463137207142788
        },
        "latency": {
          "lower_value": 6.658353129195742,
          "upper_value": 8.137987157905906,
          "value": 7.398170143550824
        }
      },
      "tidemark::mock_1": {
        "build-time": {
          "lower_value": 9.949849645225498,
          "upper_value": 12.160927344164499,
          "value": 11.055388494694999
        },
        "latency": {
          "lower_value": 9.50708610541913,
          "upper_value": 11.61977190662338,
          "value": 10.563429006021256
        }
      }
    }
    "#);
    assert_eq!(mock(&arguments).1, results);
    assert_ne!(mock(&["--seed", "7", "--count", "2"]).1, results);
    assert_ne!(mock(&[]).1, mock(&[]).1);
}

#[test]
fn numbers_have_the_requested_size() {
    let (_, results) = mock(&["--count", "9", "--pow", "3"]);
    assert_eq!(results.as_object().unwrap().len(), 9);
    for index in 0..9 {
        let value = results[format!("tidemark::mock_{index}")]["latency"]["value"].as_f64().unwrap();
        let range = 1_000.0 * f64::from(index)..1_000.0 * f64::from(index + 1);
        assert!(range.contains(&value), "{value}");
    }
    let output = tidemark(&["mock"]).output().unwrap();
    assert!(with_input(&["parse"], &output.stdout).status.success());
}

#[test]
fn failures_can_be_generated() {
    let (code, results) = mock(&["--fail"]);
    assert_eq!((code, results.as_object().unwrap().len()), (Some(1), 5));
    let codes: Vec<_> =
        (0..16).map(|seed| mock(&["--flaky", "--count", "1", "--seed", &seed.to_string()]).0).collect();
    assert!(codes.contains(&Some(0)) && codes.contains(&Some(1)), "{codes:?}");
    assert_eq!(mock(&["--measure", "a", "--measure", "a"]).0, Some(2));
}
