//! Tests of whole pictures.

use proptest::prelude::*;
use resvg::usvg::roxmltree::Document;
use uuid::Uuid;

use super::*;

fn point(day: i64, value: f64) -> Point {
    Point {
        time: Timestamp::from_micros(1_767_225_600_000_000).plus_seconds(day * 86_400),
        version: u32::try_from(day).unwrap_or(0),
        value,
        lower_value: None,
        upper_value: None,
        lower_limit: None,
        upper_limit: None,
        alert: false,
    }
}

fn line(benchmark: &str, measure: u128, points: Vec<Point>) -> Line {
    let (measure_name, units) = match measure {
        1 => ("Latency", "nanoseconds (ns)"),
        2 => ("Throughput", "operations / second (ops/s)"),
        _ => ("File Size", "bytes (B)"),
    };
    Line {
        label: ["main", "linux", benchmark, measure_name].map(str::to_owned).to_vec(),
        measure: Uuid::from_u128(measure).into(),
        measure_name: measure_name.to_owned(),
        units: units.to_owned(),
        points,
    }
}

fn picture(lines: Vec<Line>) -> Picture {
    Picture {
        title: "Nightly".to_owned(),
        theme: Theme::Light,
        x: XAxis::DateTime,
        y: YAxis::Auto,
        lower_value: true,
        upper_value: true,
        lower_boundary: true,
        upper_boundary: true,
        lines,
        hidden: 0,
    }
}

/// Returns the texts of a drawing, in document order.
fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.map(|node| node.text().unwrap_or_default().to_owned()).collect()
}

fn says(picture: &Picture, text: &str) -> bool {
    texts(&svg(picture)).iter().any(|said| said == text)
}

#[test]
fn a_small_picture() {
    let mut points = vec![point(0, 1_200.0), point(1, 1_250.0), point(2, 1_900.0)];
    points[1].lower_value = Some(1_225.0);
    points[1].upper_value = Some(1_290.0);
    for point in &mut points[1..] {
        point.lower_limit = Some(1_100.0);
        point.upper_limit = Some(1_400.0);
    }
    points[2].alert = true;
    insta::assert_snapshot!(svg(&picture(vec![line("parse", 1, points)])));
}

#[test]
fn a_wild_limit_does_not_flatten_the_lines() {
    let watched = |first: f64, later: f64| {
        let mut points: Vec<Point> = (0..9).map(|day| point(day, 100.0 + (day % 3) as f64)).collect();
        for point in &mut points {
            point.upper_limit = Some(later);
        }
        points[0].upper_limit = Some(first);
        Picture { x: XAxis::Version, ..picture(vec![line("parse", 1, points)]) }
    };
    let highest = |picture: &Picture| {
        texts(&svg(picture))
            .iter()
            .filter_map(|text| text.replace(',', "").parse::<f64>().ok())
            .fold(0.0, f64::max)
    };
    assert!(highest(&watched(90_000.0, 103.0)) < 200.0, "after the first value a limit may lie anywhere");
    assert!(highest(&watched(400.0, 400.0)) >= 400.0, "where limits usually lie can be seen");
    // A limit outside the range is not drawn.
    let usual = svg(&watched(103.0, 103.0)).matches("stroke-dasharray").count();
    assert_eq!(svg(&watched(90_000.0, 103.0)).matches("stroke-dasharray").count(), usual);
}

#[test]
fn measures_take_their_sides() {
    let points = || vec![point(0, 2_000.0), point(1, 3_000.0)];
    let mut picture = picture(vec![line("parse", 1, points()), line("parse", 2, points())]);
    assert!(says(&picture, "Latency (µs)") && says(&picture, "Throughput (ops/s × 1e3)"));
    picture.lines.push(line("parse", 3, points()));
    assert!(says(&picture, "Latency (ns), File Size (B)") && says(&picture, "Throughput (ops/s × 1e3)"));
}

#[test]
fn what_goes_logarithmic() {
    let of = |values: [f64; 2], y| {
        let points = vec![point(0, values[0]), point(1, values[1])];
        let picture = Picture { y, ..picture(vec![line("parse", 1, points)]) };
        let chart = chart::Chart::of(&picture);
        chart.axes.is_some_and(|axes| axes.left.scale.is_log())
    };
    assert!(of([1.0, 10.0], YAxis::Auto) && of([5.0, 6.0], YAxis::Log));
    assert!(!of([1.0, 9.9], YAxis::Auto) && !of([1.0, 1e6], YAxis::Linear));
    assert!(!of([0.0, 1e6], YAxis::Auto) && !of([0.0, 1e6], YAxis::Log) && !of([-1.0, 5.0], YAxis::Log));
}

#[test]
fn what_cannot_be_shown_is_said() {
    assert!(says(&picture(Vec::new()), "No data"));
    assert!(says(&picture(vec![line("parse", 1, vec![point(0, f64::NAN)])]), "No data"));
    let many: Vec<Line> = (0..13).map(|index| line(&format!("b{index}"), 1, vec![point(0, 5.0)])).collect();
    let many = picture(many);
    assert!(says(&many, "and 3 more") && says(&many, "b9") && !says(&many, "b10"));
    assert!(says(&Picture { hidden: 4, ..many }, "and 7 more"));
}

#[test]
fn texts_are_texts() {
    let mut picture = picture(vec![line("<script>&\"'\u{0}\u{ffff}", 1, vec![point(0, 5.0)])]);
    picture.title = "</title><script>".to_owned();
    let svg = svg(&picture);
    assert!(!svg.contains("<script") && !svg.contains("href"));
    assert!(texts(&svg).contains(&"</title><script>".to_owned()));
}

#[test]
fn a_line_of_any_length_costs_the_same() {
    let noisy = |count: i64| {
        let points = (0..count).map(|index| Point {
            alert: true,
            lower_limit: (index % 3 > 0).then_some(-5.0),
            upper_limit: (index % 3 > 0).then_some(((index * 7_919) % 1_013) as f64),
            ..point(index, ((index * 104_729) % 1_009) as f64)
        });
        svg(&picture(vec![line("parse", 1, points.collect())])).len()
    };
    assert!(noisy(200_000) < 110_000);
}

#[test]
fn both_kinds_of_pixels() {
    for theme in [Theme::Light, Theme::Dark] {
        let svg = svg(&Picture { theme, ..picture(vec![line("parse", 1, vec![point(0, 5.0)])]) });
        let decoder = png::Decoder::new(std::io::Cursor::new(super::png(&svg).unwrap()));
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (WIDTH, HEIGHT));
        let ground = if theme == Theme::Light { [0xff, 0xff, 0xff] } else { [0x10, 0x16, 0x1f] };
        assert_eq!(pixels[..3], ground);
        assert!(pixels.as_chunks().0.iter().filter(|pixel| **pixel != ground).count() > 1_000);
        assert!(jpeg(&svg).unwrap().starts_with(&[0xff, 0xd8, 0xff]));
    }
    assert!(super::png("<svg").is_err());
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -1e3..1e6_f64,
        1 => any::<f64>(),
        1 => prop::sample::select(vec![0.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, f64::NAN, f64::INFINITY]),
    ]
}

prop_compose! {
    fn any_point()(
        micros in any::<i64>(), day in 0_i64..400, far in any::<bool>(), version in any::<u32>(), value in number(),
        bounds in prop::array::uniform4(prop::option::of(number())), alert in any::<bool>(),
    ) -> Point {
        let [lower_value, upper_value, lower_limit, upper_limit] = bounds;
        let near = point(day, value);
        let time = if far { Timestamp::from_micros(micros) } else { near.time };
        Point { time, version, lower_value, upper_value, lower_limit, upper_limit, alert, ..near }
    }
}

prop_compose! {
    fn any_line()(
        label in prop::collection::vec(any::<String>(), 0..5), measure in 0_u128..4, measure_name in any::<String>(),
        units in prop_oneof![Just("nanoseconds (ns)".to_owned()), any::<String>()],
        points in prop::collection::vec(any_point(), 0..12),
    ) -> Line {
        Line { label, measure: Uuid::from_u128(measure).into(), measure_name, units, points }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn anything_can_be_drawn(
        title in any::<String>(), dark in any::<bool>(), version in any::<bool>(), shown in prop::array::uniform4(any::<bool>()),
        y in prop::sample::select(vec![YAxis::Auto, YAxis::Linear, YAxis::Log]),
        lines in prop::collection::vec(any_line(), 0..13), hidden in 0_usize..3,
    ) {
        let [lower_value, upper_value, lower_boundary, upper_boundary] = shown;
        let picture = Picture {
            title: title.repeat(5),
            theme: if dark { Theme::Dark } else { Theme::Light },
            x: if version { XAxis::Version } else { XAxis::DateTime },
            y, lower_value, upper_value, lower_boundary, upper_boundary, lines, hidden,
        };
        let svg = svg(&picture);
        let document = Document::parse(&svg).unwrap();
        for node in document.descendants() {
            for name in ["x", "cx"] {
                if let Some(x) = node.attribute(name) {
                    prop_assert!((0.0..=f64::from(WIDTH)).contains(&x.parse::<f64>().unwrap()), "{}", x);
                }
            }
            for name in ["y", "cy"] {
                if let Some(y) = node.attribute(name) {
                    prop_assert!((0.0..=f64::from(HEIGHT)).contains(&y.parse::<f64>().unwrap()), "{}", y);
                }
            }
        }
        prop_assert!(resvg::usvg::Tree::from_str(&svg, &resvg::usvg::Options::default()).is_ok());
    }
}
