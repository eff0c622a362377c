//! The project side: projects and what they hold.

use serde_json::{Value, json};
use tidemark_api::*;
use tidemark_stats::{Test, Worse};
use uuid::Uuid;

use super::{check, reject, time};

fn project() -> Project {
    Project {
        uuid: Uuid::from_u128(7).into(),
        organization: Uuid::from_u128(2).into(),
        name: "Difference Engine".parse().unwrap(),
        slug: "difference-engine".parse().unwrap(),
        url: None,
        visibility: Visibility::Public,
        created: time(),
        modified: time(),
        claimed: None,
    }
}

fn hash() -> GitHash {
    "0123456789abcdef0123456789abcdef01234567".parse().unwrap()
}

fn branch() -> Branch {
    Branch {
        uuid: Uuid::from_u128(20).into(),
        project: Uuid::from_u128(7).into(),
        name: "feature/x".parse().unwrap(),
        slug: "feature-x".parse().unwrap(),
        head: Head {
            uuid: Uuid::from_u128(21).into(),
            start_point: None,
            version: None,
            created: time(),
            replaced: None,
        },
        created: time(),
        modified: time(),
        archived: None,
    }
}

fn spec() -> Spec {
    Spec {
        uuid: Uuid::from_u128(30).into(),
        name: "Metal".parse().unwrap(),
        slug: "metal".parse().unwrap(),
        os: OperatingSystem::Linux,
        architecture: Architecture::X8664,
        sandbox: None,
        cpu: 4.try_into().unwrap(),
        memory: (1 << 33).try_into().unwrap(),
        disk: (1 << 37).try_into().unwrap(),
        network: false,
        fallback: None,
        created: time(),
        modified: time(),
        archived: None,
    }
}

fn testbed() -> Testbed {
    Testbed {
        uuid: Uuid::from_u128(31).into(),
        project: Uuid::from_u128(7).into(),
        name: "ubuntu-latest".parse().unwrap(),
        slug: "ubuntu-latest".parse().unwrap(),
        spec: None,
        created: time(),
        modified: time(),
        archived: None,
    }
}

fn measure() -> Measure {
    Measure {
        uuid: Uuid::from_u128(40).into(),
        project: Uuid::from_u128(7).into(),
        name: "Latency".parse().unwrap(),
        slug: "latency".parse().unwrap(),
        units: "nanoseconds (ns)".parse().unwrap(),
        direction: None,
        created: time(),
        modified: time(),
        archived: None,
    }
}

fn model() -> Model {
    Model {
        uuid: Uuid::from_u128(50).into(),
        test: ModelTest(Test::Static),
        min_sample_size: None,
        max_sample_size: None,
        window: None,
        lower_boundary: Some((-5.0).try_into().unwrap()),
        upper_boundary: None,
        created: time(),
        replaced: None,
    }
}

fn plot() -> Plot {
    Plot {
        uuid: Uuid::from_u128(60).into(),
        project: Uuid::from_u128(7).into(),
        title: None,
        lower_value: false,
        upper_value: true,
        lower_boundary: false,
        upper_boundary: true,
        x_axis: XAxis::DateTime,
        y_axis: YAxis::Log,
        window: 2_592_000.try_into().unwrap(),
        branches: vec![Uuid::from_u128(20).into()],
        testbeds: vec![Uuid::from_u128(31).into()],
        benchmarks: vec![Uuid::from_u128(61).into()],
        measures: vec![Uuid::from_u128(40).into()],
        created: time(),
        modified: time(),
    }
}

/// Checks that an answer has these fields, and null where nothing is known.
#[track_caller]
fn nulls(answer: &impl serde::Serialize, fields: &[&str]) {
    let json = serde_json::to_value(answer).unwrap();
    let found: Vec<_> =
        json.as_object().unwrap().iter().filter(|(_, value)| value.is_null()).map(|(name, _)| name).collect();
    assert_eq!(found, fields);
}

#[test]
fn projects() {
    check(&project());
    nulls(&project(), &["claimed", "url"]);
    check(&Project {
        url: Some("https://example.org/a?b=c".parse().unwrap()),
        claimed: Some(time()),
        slug: Slug::from_uuid(Uuid::from_u128(7)),
        ..project()
    });
    check(&NewProject { name: "A".parse().unwrap(), slug: None, url: None, visibility: None });
    check(&NewProject {
        name: "A".parse().unwrap(),
        slug: Some("a".parse().unwrap()),
        url: Some("http://localhost".parse().unwrap()),
        visibility: Some(Visibility::Private),
    });
    check(&ProjectPatch::default());
    check(&ProjectPatch { url: Some(None), ..ProjectPatch::default() });
    check(&ProjectPatch {
        name: Some("B".parse().unwrap()),
        slug: Some("b".parse().unwrap()),
        url: Some(Some("https://example.org".parse().unwrap())),
        visibility: Some(Visibility::Public),
    });
    reject::<ProjectPatch>(&json!({ "name": null }));
    reject::<ProjectPatch>(&json!({ "organization": "x" }));
    reject::<ProjectPatch>(&json!({ "url": 7 }));
}

#[test]
fn project_members() {
    check(&ProjectMember {
        uuid: Uuid::from_u128(1).into(),
        name: "Ada".parse().unwrap(),
        slug: "ada".parse().unwrap(),
        role: ProjectRole::Developer,
        created: time(),
        modified: time(),
    });
    for user in ["ada".parse().unwrap(), ResourceId::Uuid(Uuid::from_u128(1))] {
        check(&NewProjectMember { user, role: ProjectRole::Viewer });
    }
    check(&ProjectMemberPatch::default());
    check(&ProjectMemberPatch { role: Some(ProjectRole::Maintainer) });
}

#[test]
fn branches() {
    check(&branch());
    nulls(&branch(), &["archived"]);
    nulls(&branch().head, &["replaced", "start_point", "version"]);
    let version = Version { number: u32::MAX, hash: Some(hash()) };
    let start_point = StartPoint {
        branch: Uuid::from_u128(22).into(),
        head: Uuid::from_u128(23).into(),
        version: Version { number: 0, hash: None },
    };
    nulls(&start_point.version, &["hash"]);
    check(&Branch {
        head: Head {
            start_point: Some(start_point),
            version: Some(version),
            replaced: Some(time()),
            ..branch().head
        },
        archived: Some(time()),
        ..branch()
    });
    check(&NewBranch { name: "main".parse().unwrap(), slug: None, start_point: None });
    check(&NewBranch {
        name: "main".parse().unwrap(),
        slug: Some("main".parse().unwrap()),
        start_point: Some(NewStartPoint {
            branch: "refs/heads/dev".parse().unwrap(),
            hash: Some(hash()),
            max_versions: Some(0),
            clone_thresholds: Some(true),
        }),
    });
    check(&BranchPatch::default());
    check(&BranchPatch {
        name: Some("main".parse().unwrap()),
        slug: Some("main".parse().unwrap()),
        archived: Some(true),
        start_point: Some(StartPointPatch {
            branch: Some("dev".parse().unwrap()),
            hash: Some(hash()),
            max_versions: Some(u32::MAX),
            clone_thresholds: Some(false),
            reset: Some(true),
        }),
    });
    reject::<NewBranch>(&json!({ "name": "a..b" }));
    reject::<NewBranch>(&json!({ "name": "a", "start_point": { "branch": "main", "max_versions": -1 } }));
    reject::<NewBranch>(&json!({ "name": "a", "start_point": { "branch": "main", "hash": "0123" } }));
}

#[test]
fn testbeds() {
    check(&testbed());
    nulls(&testbed(), &["archived", "spec"]);
    nulls(&spec(), &["archived", "fallback", "sandbox"]);
    let sandboxed = Spec {
        sandbox: Some(Sandbox::Firecracker),
        fallback: Some(time()),
        archived: Some(time()),
        memory: u64::try_from(i64::MAX).unwrap().try_into().unwrap(),
        ..spec()
    };
    for spec in [spec(), sandboxed] {
        check(&Testbed { spec: Some(spec), archived: Some(time()), ..testbed() });
    }
    check(&NewTestbed { name: "a".parse().unwrap(), slug: None, spec: None });
    check(&NewTestbed {
        name: "a".parse().unwrap(),
        slug: Some("a".parse().unwrap()),
        spec: Some("metal".parse().unwrap()),
    });
    check(&TestbedPatch::default());
    check(&TestbedPatch { spec: Some(None), ..TestbedPatch::default() });
    check(&TestbedPatch {
        name: Some("b".parse().unwrap()),
        slug: Some("b".parse().unwrap()),
        spec: Some(Some(ResourceId::Uuid(Uuid::from_u128(30)))),
        archived: Some(false),
    });
    reject::<TestbedPatch>(&json!({ "archived": null }));
    reject::<TestbedPatch>(&json!({ "units": "x" }));
    let mut without_cpu = serde_json::to_value(spec()).unwrap();
    without_cpu["cpu"] = json!(0);
    reject::<Spec>(&without_cpu);
}

#[test]
fn benchmarks_and_measures() {
    let benchmark = Benchmark {
        uuid: Uuid::from_u128(61).into(),
        project: Uuid::from_u128(7).into(),
        name: " tests::bench_a\n".parse().unwrap(),
        slug: "tests-bench-a".parse().unwrap(),
        created: time(),
        modified: time(),
        archived: None,
    };
    check(&benchmark);
    nulls(&benchmark, &["archived"]);
    check(&Benchmark { archived: Some(time()), ..benchmark });
    check(&NewBenchmark { name: "a".parse().unwrap(), slug: None });
    check(&BenchmarkPatch::default());
    check(&BenchmarkPatch {
        name: Some("a".parse().unwrap()),
        slug: Some("a".parse().unwrap()),
        archived: Some(true),
    });
    check(&measure());
    assert_eq!(measure().worse(), Worse::Up);
    assert_eq!(Measure { slug: "mine".parse().unwrap(), ..measure() }.worse(), Worse::Unknown);
    nulls(&measure(), &["archived"]);
    check(&Measure { archived: Some(time()), ..measure() });
    let direction = Some(MeasureDirection::HigherIsBetter);
    let higher = Measure { direction, ..measure() };
    check(&higher);
    assert_eq!(higher.worse(), Worse::Down);
    let new =
        NewMeasure { name: "a".parse().unwrap(), slug: None, units: "b".parse().unwrap(), direction: None };
    check(&new);
    check(&NewMeasure { direction, ..new });
    check(&MeasurePatch::default());
    check(&MeasurePatch {
        name: Some("a".parse().unwrap()),
        slug: Some("a".parse().unwrap()),
        units: Some("b".parse().unwrap()),
        direction: Some(direction),
        archived: Some(false),
    });
    check(&MeasurePatch { direction: Some(None), ..MeasurePatch::default() });
    reject::<MeasurePatch>(&json!({ "direction": "up" }));
    reject::<NewMeasure>(&json!({ "name": "a" }));
    reject::<NewBenchmark>(&json!({ "name": "" }));
}

#[test]
fn thresholds() {
    let full = Model {
        test: ModelTest(Test::TTest),
        min_sample_size: Some(2.try_into().unwrap()),
        max_sample_size: Some(u32::MAX.try_into().unwrap()),
        window: Some(1.try_into().unwrap()),
        upper_boundary: Some(0.99.try_into().unwrap()),
        replaced: Some(time()),
        ..model()
    };
    nulls(&model(), &["max_sample_size", "min_sample_size", "replaced", "upper_boundary", "window"]);
    let threshold = Threshold {
        uuid: Uuid::from_u128(51).into(),
        project: Uuid::from_u128(7).into(),
        branch: branch(),
        testbed: testbed(),
        measure: measure(),
        model: None,
        created: time(),
        modified: time(),
    };
    check(&threshold);
    nulls(&threshold, &["model"]);
    for model in [model(), full.clone()] {
        check(&Threshold { model: Some(model), ..threshold.clone() });
    }
    check(&ThresholdModel { uuid: threshold.uuid, project: threshold.project, model: full, created: time() });
    let new = json!({ "branch": "main", "testbed": "ubuntu", "measure": "Latency", "test": "z_score" });
    check(&serde_json::from_value::<NewThreshold>(new).unwrap());
}

#[test]
fn a_put_sets_or_removes_the_model_of_a_threshold() {
    let all = json!({
        "test": "iqr", "min_sample_size": 2, "max_sample_size": 64, "window": 60,
        "lower_boundary": 1.5, "upper_boundary": 3.0,
    });
    check(&serde_json::from_value::<NewModel>(all.clone()).unwrap());
    for put in [all, json!({ "test": "static", "upper_boundary": -5.0 }), json!({ "test": null })] {
        check(&serde_json::from_value::<ThresholdPut>(put).unwrap());
    }
    for put in [
        json!({}),
        json!({ "window": 60 }),
        json!({ "test": "median" }),
        json!({ "test": null, "window": 0 }),
        json!({ "test": "iqr", "model": {} }),
        json!({ "test": "iqr", "min_sample_size": 1.5 }),
        json!({ "test": "iqr", "max_sample_size": 4_294_967_296_u64 }),
        json!({ "test": "iqr", "upper_boundary": "0.5" }),
    ] {
        reject::<ThresholdPut>(&put);
    }
}

#[test]
fn plots() {
    check(&plot());
    nulls(&plot(), &["title"]);
    check(&Plot { title: Some("Speed".parse().unwrap()), ..plot() });
    let Plot { branches, testbeds, benchmarks, measures, window, .. } = plot();
    let new = NewPlot {
        index: None,
        title: None,
        lower_value: false,
        upper_value: false,
        lower_boundary: false,
        upper_boundary: false,
        x_axis: XAxis::Version,
        y_axis: YAxis::default(),
        window,
        branches: branches.clone(),
        testbeds: testbeds.clone(),
        benchmarks: benchmarks.clone(),
        measures: measures.clone(),
    };
    check(&new);
    check(&NewPlot {
        index: Some(64.try_into().unwrap()),
        title: Some("Speed".parse().unwrap()),
        ..new.clone()
    });
    let json = serde_json::to_value(new).unwrap();
    for (field, value) in
        [("branches", json!([])), ("index", json!(65)), ("window", json!(0)), ("y_axis", Value::Null)]
    {
        let mut wrong = json.clone();
        wrong[field] = value;
        reject::<NewPlot>(&wrong);
    }
    let mut plain = json;
    plain.as_object_mut().unwrap().remove("y_axis");
    assert!(super::validator::<NewPlot>().is_valid(&plain));
    check(&PlotPatch::default());
    check(&PlotPatch { title: Some(None), ..PlotPatch::default() });
    check(&PlotPatch {
        index: Some(0.try_into().unwrap()),
        title: Some(Some("Speed".parse().unwrap())),
        lower_value: Some(true),
        upper_value: Some(true),
        lower_boundary: Some(true),
        upper_boundary: Some(true),
        x_axis: Some(XAxis::DateTime),
        y_axis: Some(YAxis::Linear),
        window: Some(window),
        branches: Some(branches),
        testbeds: Some(testbeds),
        benchmarks: Some(benchmarks),
        measures: Some(measures),
    });
    reject::<PlotPatch>(&json!({ "window": null }));
    reject::<PlotPatch>(&json!({ "measures": [] }));
    reject::<PlotPatch>(&json!({ "name": "x" }));
}
