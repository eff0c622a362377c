//! The cost of a list or a report: as many statements for many rows as for one.

use std::ops::Range;

use axum::{
    body::Body,
    http::{Request, header},
};
use serde_json::{Map, Value, json};
use tidemark_api::{
    Benchmark, Branch, Measure, NewModel, OrganizationRole, ProjectRole, ResourceId, Testbed, ThresholdUuid,
    Visibility, XAxis, YAxis,
};
use tidemark_store::{
    Dimension, Tx, head, invitation, key, member, organization, plot, project, project_key, project_member,
    threshold, user,
};

use crate::{
    Lab, Person, TestServer, both,
    report::{bench, record, report_body},
};

const LISTS: &[&str] = &[
    "/v0/projects",
    "/v0/organizations",
    "/v0/organizations/ada/projects",
    "/v0/organizations/ada/members",
    "/v0/organizations/ada/invitations",
    "/v0/organizations/ada/audit",
    "/v0/server/audit",
    "/v0/users",
    "/v0/users/ada/keys",
    "/v0/projects/lab/keys",
    "/v0/projects/lab/members",
    "/v0/projects/lab/branches",
    "/v0/projects/lab/branches?sort=newest_run",
    "/v0/projects/lab/branches?search=main",
    "/v0/projects/lab/testbeds",
    "/v0/projects/lab/testbeds?sort=newest_run",
    "/v0/projects/lab/benchmarks",
    "/v0/projects/lab/benchmarks?search=main",
    "/v0/projects/lab/measures",
    "/v0/projects/lab/measures?sort=newest_run",
    "/v0/projects/lab/thresholds",
    "/v0/projects/lab/thresholds?branch=main-0&testbed=main-0",
    "/v0/projects/lab/plots",
    "/v0/projects/lab/plots?sort=title",
    "/v0/projects/lab/reports",
    "/v0/projects/lab/reports?branch=main-0",
    "/v0/projects/lab/reports?start_time=0",
    EXPANDED,
    "/v0/projects/lab/alerts",
    "/v0/projects/lab/alerts?sort=created&status=active",
];

/// The list with the most content.
const EXPANDED: &str = "/v0/projects/lab/reports?expand=true";

/// Minimum number of items of each list at the end.
const MANY: usize = 40;

/// Adds one item per number in the range to every list, and returns the last threshold.
async fn add(server: &TestServer, ada: &Person, numbers: Range<usize>) -> ThresholdUuid {
    let (fresh, slug) = (server.app.fresh(), ResourceId::Slug(ada.slug.parse().unwrap()));
    let fill = move |tx: &mut Tx<'_>| {
        let ada = user::find(tx, &slug)?.id;
        let home = organization::find(tx, &slug)?.id;
        let project = tx.value("select id from project where slug = 'lab'", &[])?;
        let mut last = None;
        for number in numbers {
            let text = format!("main-{number}");
            let name = text.parse().unwrap();
            let email = format!("{text}@example.org").parse().unwrap();
            let person = user::create(tx, &fresh, &text.parse().unwrap(), None, &email)?.id;
            let own = organization::create(tx, &fresh, None, &name, None)?.id;
            member::add(tx, own, ada, OrganizationRole::Leader, fresh.now)?;
            member::add(tx, home, person, OrganizationRole::Member, fresh.now)?;
            let guest = format!("guest-{number}@example.org").parse().unwrap();
            invitation::create(
                tx,
                &fresh,
                home,
                &guest,
                OrganizationRole::Member,
                ada,
                fresh.now.plus_seconds(60),
            )?;
            let new = project::NewProjectRow {
                organization: home,
                uuid: None,
                name: &name,
                slug: None,
                url: None,
                visibility: Visibility::Public,
            };
            project::create(tx, &fresh, &new)?;
            project_member::add(tx, project, person, ProjectRole::Viewer, fresh.now)?;
            let hash = fresh.uuid().as_bytes().repeat(2);
            let key = key::NewKeyRow { name: &name, hash: &hash, expires: fresh.now.plus_seconds(60) };
            project_key::create(tx, &fresh, project, ada, key)?;
            key::create(tx, &fresh, ada, key)?;
            tx.execute(
                "insert into audit (uuid, created, actor_kind, action, target, organization_id, detail)
                 select $1, created, actor_kind, action, target, organization_id, detail from audit
                 where organization_id = $2 limit 1",
                &[&fresh.uuid(), &home],
            )?;
            let branch = Branch::create(tx, &fresh, project, &text, None, ())?;
            head::create(tx, &fresh, branch, None, 0)?;
            let testbed = Testbed::create(tx, &fresh, project, &name, None, None)?;
            let benchmark = Benchmark::create(tx, &fresh, project, &text, None, ())?;
            let measure = Measure::create(tx, &fresh, project, &name, None, name.as_str())?;
            let model: NewModel = serde_json::from_value(json!({ "test": "t_test" })).unwrap();
            let model = model.complete(Measure::view(tx, measure)?.worse()).unwrap();
            let threshold = threshold::create(tx, &fresh, project, branch, testbed, measure, &model)?;
            let first = tx.value("select min(id) from threshold", &[])?;
            threshold::replace_model(tx, &fresh, first, Some(&model))?;
            last = Some(threshold.threshold.uuid);
            let limit = json!({ "models": { "latency": { "test": "static", "upper_boundary": 0 } } });
            let more = json!({ "branch": text, "testbed": text, "thresholds": limit });
            record(tx, &fresh, (home, project), json!([bench(1.0)]), more);
            let dimensions = plot::PlotDimensions {
                branches: vec![threshold.threshold.branch.uuid],
                testbeds: vec![threshold.threshold.testbed.uuid],
                benchmarks: vec![Benchmark::view(tx, benchmark)?.uuid],
                measures: vec![threshold.threshold.measure.uuid],
            };
            let settings = plot::PlotSettings {
                title: Some(name),
                lower_value: true,
                upper_value: true,
                lower_boundary: true,
                upper_boundary: true,
                x_axis: XAxis::Version,
                y_axis: YAxis::Auto,
                window: 60.try_into().unwrap(),
            };
            plot::create(tx, &fresh, project, 0, &settings, &dimensions)?;
        }
        Ok::<_, tidemark_store::Error>(last)
    };
    server.app.db.write(fill).await.unwrap().unwrap()
}

/// Returns how many rows a list shows, and how many statements it needs.
async fn cost(server: &TestServer, path: &str, token: &str) -> (usize, u64) {
    let path = format!("{path}{}per_page=255", if path.contains('?') { "&" } else { "?" });
    let mut least = (0, u64::MAX);
    // A worker may still finish its last round.
    for _ in 0..3 {
        let before = server.app.db.statements();
        let list = server.get(&path, token).await.expect(200);
        let statements = server.app.db.statements() - before;
        least = (list.body.as_array().unwrap().len(), least.1.min(statements));
    }
    least
}

both! {
    async fn a_list_costs_the_same_for_many_rows(server: TestServer) {
        let ada = server.person("Ada").await;
        server.stop_workers().await;
        server.project(&ada, json!({ "name": "Lab" })).await;
        let threshold = add(&server, &ada, 0..1).await;
        let models = format!("/v0/projects/lab/thresholds/{threshold}/models");
        let lists: Vec<&str> = LISTS.iter().copied().chain([models.as_str()]).collect();
        let mut few = Vec::new();
        for list in &lists {
            few.push(cost(&server, list, &ada.token).await);
        }
        add(&server, &ada, 1..MANY).await;
        for (list, (rows, statements)) in lists.iter().zip(few) {
            let (more_rows, more_statements) = cost(&server, list, &ada.token).await;
            // Each item has its own branch.
            let added = if list.contains("?branch=") { 0 } else { MANY - 1 };
            assert!(more_rows >= rows + added, "{list} has {more_rows} rows, {rows} before");
            assert!(more_statements <= statements, "{list}: {more_statements} statements, {statements} before");
            let most = if *list == EXPANDED { 15 } else { 10 };
            assert!(statements <= most, "{list}: {statements} statements");
        }
    }
    async fn a_report_costs_the_same_for_many_benchmarks(server: TestServer) {
        let lab = Lab::open(server).await;
        let limits = json!({ "models": { "latency": { "test": "t_test" }, "throughput": { "test": "static", "upper_boundary": 0 } } });
        let send = async |place: String, count: usize| {
            let measures = json!({ "latency": { "value": 1 }, "throughput": { "value": 1 } });
            let results: Map<String, Value> = (0..count).map(|number| (format!("{place} {number}"), measures.clone())).collect();
            let more = json!({ "branch": place, "testbed": place, "thresholds": limits });
            let body = report_body(json!([Value::Object(results).to_string()]), more).to_string();
            let request = Request::post("/v0/projects/lab/reports")
                .header(header::AUTHORIZATION, format!("Bearer {}", lab.token))
                .header(header::CONTENT_TYPE, "application/json");
            // Not validated against the description, which is slow for a response of this size.
            assert_eq!(lab.server.raw(request.body(Body::from(body)).unwrap()).await.status(), 201);
        };
        let mut costs = Vec::new();
        for count in [10, 1_000] {
            let first = lab.cost(async |round| send(format!("new-{count}-{round}"), count).await).await;
            let later = lab.cost(async |_| send(format!("new-{count}-0"), count).await).await;
            costs.push((first, later));
        }
        assert_eq!(costs[0], costs[1]);
        let (first, later) = costs[0];
        assert!(first <= 60 && later <= 50, "{costs:?}");
    }
}
