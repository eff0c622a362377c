//! Exports: every metric once, and the same in all formats.

use std::collections::HashSet;

use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, Request, Response, header},
};
use parquet::{
    file::{
        metadata::RowGroupMetaData,
        reader::{FileReader, SerializedFileReader},
    },
    record::{Field, RowAccessor},
    schema::parser::parse_message_type,
};
use serde_json::{Map, Value, json};
use tidemark_api::Timestamp;
use tidemark_store::{
    Error, ReportId, Tx,
    export::{self, ExportFilter},
};

use crate::{Engine, Lab, both, server::OWN_DATABASE};

impl Lab {
    async fn export(&self, query: &str, headers: &[(header::HeaderName, &str)]) -> Response<Bytes> {
        let mut request = Request::builder().uri(format!("/v0/projects/lab/export{query}"));
        request = request.header(header::AUTHORIZATION, format!("Bearer {}", self.token));
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        let response = self.server.raw(request.body(Body::empty()).unwrap()).await;
        assert_eq!(response.status(), 200, "{query}");
        response
    }

    async fn export_text(&self, query: &str) -> String {
        String::from_utf8(self.export(query, &[]).await.into_body().to_vec()).unwrap()
    }

    async fn export_json(&self, query: &str) -> Vec<Value> {
        let text = self.export_text(&format!("?format=ndjson{query}")).await;
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    async fn export_parquet(&self, query: &str) -> SerializedFileReader<Bytes> {
        let response = self.export(&format!("?format=parquet{query}"), &[]).await;
        SerializedFileReader::new(response.into_body()).unwrap()
    }

    /// Fills a project with everything that an export distinguishes.
    async fn furnish(&self) {
        let first = json!([
            json!({ "comma, \"quote\"\nline": { "latency": { "value": 0.1 + 0.2, "lower_value": 0.1, "upper_value": 5e-324 } },
                    "plain": { "throughput": { "value": 1e300 }, "latency": { "value": 100 } } }).to_string(),
            json!([{ "name": "fib", "parameters": { "n": 10, "mode": "fast" }, "measures": { "latency": { "value": 5 } } },
                   { "name": "fib", "parameters": { "n": 2 }, "measures": { "latency": { "value": -4.25 } } },
                   { "name": "plain", "measures": { "latency": { "value": 101 } } }]).to_string(),
        ]);
        let more = json!({
            "hash": "0123456789abcdef0123456789abcdef01234567",
            "thresholds": { "models": { "latency": { "test": "static", "lower_boundary": -4, "upper_boundary": 100.5 } } },
            "settings": { "adapter": "json" },
        });
        self.report(first, more).await.expect(201);
        // The export does not repeat what the branch inherits from its start point.
        let more = json!({
            "branch": "feature/x", "start_point": { "branch": "main", "clone_thresholds": true }, "testbed": "Büro",
            "start_time": "2026-01-02T00:00:00.125Z", "end_time": "2026-01-02T00:02:00Z",
        });
        self.report(json!([json!({ "plain": { "latency": { "value": 7 } } }).to_string()]), more)
            .await
            .expect(201);
    }

    /// Sends a report with this number of metrics, and copies it.
    pub(crate) async fn multiply(&self, metrics: usize, copies: i64) {
        let results: Map<String, Value> = (0..metrics)
            .map(|number| (format!("bench {number}"), json!({ "latency": { "value": number } })))
            .collect();
        self.report(json!([Value::Object(results).to_string()]), json!({})).await.expect(201);
        let uuid = match self.server.engine {
            Engine::Sqlite => "printf('%08x-0000-7000-8000-000000000000', n)",
            Engine::Postgres => "(lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid",
        };
        let report = format!(
            "with recursive number (n) as (select 1 union all select n + 1 from number where n < {copies})
             insert into report (uuid, project_id, branch_id, head_id, version_id, testbed_id, adapter, start_time,
                                 end_time, counts, iterations, metrics, created)
             select {uuid}, project_id, branch_id, head_id, version_id, testbed_id, adapter, start_time, end_time, counts,
                    iterations, metrics, created from number cross join report"
        );
        self.sql(&report, Vec::new()).await;
        let metric = "insert into metric (bucket, report_id, first, body)
             select bucket, report.id, first, body from metric join report on report.id > metric.report_id";
        self.sql(metric, Vec::new()).await;
    }
}

/// Returns the rows of a Parquet file in the form of the newline-delimited JSON.
fn rows(file: &SerializedFileReader<Bytes>) -> Vec<Value> {
    let value = |field: &Field| match field {
        Field::Null => Value::Null,
        Field::Str(text) => json!(text),
        Field::Long(number) => json!(number),
        Field::Double(number) => json!(number),
        Field::TimestampMillis(millis) => json!(Timestamp::from_micros(millis * 1_000).to_string()),
        other => panic!("{other} is in no column"),
    };
    file.get_row_iter(None)
        .unwrap()
        .map(|row| row.unwrap().get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect())
        .collect()
}

/// Returns a short name for each row.
fn names(rows: &[Value]) -> Vec<String> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    rows.iter()
        .map(|row| ["branch", "testbed", "benchmark", "measure"].map(|key| text(row, key)).join(" "))
        .collect()
}

both! {
    async fn a_project_is_exported_whole(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.furnish().await;
        let csv = lab.export_text("").await;
        insta::assert_snapshot!("csv", lab.server.redact(&csv));
        let ndjson = lab.export_text("?format=ndjson").await;
        insta::assert_snapshot!("ndjson", lab.server.redact(&ndjson));
        let lines = lab.export_json("").await;
        assert_eq!(rows(&lab.export_parquet("").await), lines);
        for (record, line) in csv::Reader::from_reader(csv.as_bytes()).records().zip(&lines) {
            let record = record.unwrap();
            assert_eq!(record[13].parse::<f64>().unwrap(), line["value"].as_f64().unwrap());
            let metric = lab.get(&format!("metrics/{}", &record[1])).await.expect(200);
            assert_eq!(metric.body["metric"]["value"], line["value"]);
            assert_eq!(metric.body["report"], line["report"]);
            assert_eq!(metric.body["alert"]["status"], line["alert"]);
        }
        assert_eq!(lines.len(), 7);
    }

    async fn an_empty_project_has_columns(server: TestServer) {
        let lab = Lab::open(server).await;
        assert_eq!(lab.export_text("").await.lines().count(), 1);
        assert_eq!(lab.export_text("?format=ndjson").await, "");
        let file = lab.export_parquet("").await;
        let metadata = file.metadata().file_metadata();
        assert_eq!((metadata.num_rows(), metadata.schema_descr().num_columns()), (0, 21));
    }

    async fn the_format_is_asked_for(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.furnish().await;
        let cases = [
            ("", "*/*", "text/csv", "csv"),
            ("", "text/html, text/csv;q=0.9", "text/csv", "csv"),
            ("", "application/x-ndjson", "application/x-ndjson", "ndjson"),
            ("", "application/vnd.apache.parquet", "application/vnd.apache.parquet", "parquet"),
            ("?format=csv", "application/x-ndjson", "text/csv", "csv"),
            ("?format=ndjson", "text/csv", "application/x-ndjson", "ndjson"),
            ("?format=parquet", "", "application/vnd.apache.parquet", "parquet"),
        ];
        for (query, accept, media_type, extension) in cases {
            let response = lab.export(query, &[(header::ACCEPT, accept)]).await;
            assert_eq!(response.headers()[header::CONTENT_TYPE], media_type, "{query} {accept}");
            let file = format!("attachment; filename=\"lab.{extension}\"");
            assert_eq!(response.headers()[header::CONTENT_DISPOSITION], file, "{query} {accept}");
        }
        let packed = async |format| {
            let response = lab.export(&format!("?format={format}"), &[(header::ACCEPT_ENCODING, "zstd")]).await;
            response.headers().get(header::CONTENT_ENCODING).cloned()
        };
        assert_eq!(packed("csv").await, Some(HeaderValue::from_static("zstd")));
        assert_eq!(packed("parquet").await, None);
    }

    async fn filters_narrow_it(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.furnish().await;
        let uuid = async |noun: &str, name: &str| {
            lab.get(&format!("{noun}?name={name}")).await.expect(200).text("/0/uuid")
        };
        let main = uuid("branches", "main").await;
        let feature = uuid("branches", "feature/x").await;
        let local = uuid("testbeds", "localhost").await;
        let plain = uuid("benchmarks", "plain").await;
        let fib = uuid("benchmarks", "fib").await;
        let latency = uuid("measures", "Latency").await;
        let throughput = uuid("measures", "Throughput").await;
        let nothing = "00000000-0000-4000-8000-000000000000";
        let cases = [
            (format!("&branches={feature}"), 1),
            (format!("&branches={main},{feature}"), 7),
            (format!("&branches={nothing}"), 0),
            (format!("&testbeds={local}"), 6),
            (format!("&branches={feature}&testbeds={local}"), 0),
            (format!("&benchmarks={plain}"), 4),
            (format!("&benchmarks={plain},%20{fib}"), 6),
            (format!("&measures={throughput}"), 1),
            (format!("&benchmarks={fib}&measures={throughput}"), 0),
            (format!("&benchmarks={plain}&measures={latency}&branches={main}"), 2),
            (format!("&benchmarks={latency}"), 0),
            // 2026-01-02T00:00:00.125Z, and 2026-01-01T00:01:00Z.
            ("&start_time=1767312000125".to_owned(), 1),
            ("&start_time=1767312000126".to_owned(), 0),
            ("&end_time=1767225660000".to_owned(), 6),
            ("&end_time=1767225659999".to_owned(), 0),
        ];
        for (query, count) in cases {
            let found = lab.export_json(&query).await;
            assert_eq!(found.len(), count, "{query}: {:?}", names(&found));
            assert_eq!(rows(&lab.export_parquet(&query).await), found, "{query}");
        }
        let both = lab.export_json(&format!("&branches={feature}")).await;
        assert_eq!(names(&both), ["feature/x Büro plain Latency"]);
    }

    async fn an_invalid_query_is_rejected(server: TestServer) {
        let lab = Lab::open(server).await;
        let mut lines = Vec::new();
        for query in ["branches=main", "testbeds=", "benchmarks=,", "measures=a,b", "format=xlsx", "start_time=today"] {
            lines.push(format!("{query}: {}", lab.get(&format!("export?{query}")).await.expect(400).line()));
        }
        insta::assert_snapshot!("errors", lines.join("\n"));
    }

    async fn a_private_project_is_hidden(server: TestServer) {
        let ada = server.person("Ada").await;
        let eve = server.person("Eve").await;
        let path = server.project(&ada, json!({ "name": "Secret", "visibility": "private" })).await;
        server.get(&format!("{path}/export"), &ada.token).await.expect(200);
        server.get(&format!("{path}/export"), &eve.token).await.expect(404);
        let open = server.project(&ada, json!({ "name": "Open" })).await;
        server.get(&format!("{open}/export"), "").await.expect(200);
    }

    async fn metrics_of_many_batches_come_once_and_in_order(server: TestServer) {
        let lab = Lab::open(server).await;
        // More metrics than a batch and a row group hold; batch limits fall inside reports.
        lab.multiply(97, 700).await;
        let csv = lab.export_text("").await;
        let mut reports: Vec<&str> = Vec::new();
        let mut metrics = HashSet::new();
        for line in csv.lines().skip(1) {
            let mut cells = line.split(',');
            let (report, metric) = (cells.next().unwrap(), cells.next().unwrap());
            if reports.last() != Some(&report) {
                reports.push(report);
            }
            assert!(metrics.insert(metric), "{metric} comes twice");
        }
        assert_eq!((reports.len(), metrics.len()), (701, 701 * 97));
        assert!(reports[1..].is_sorted());
        let file = lab.export_parquet("").await;
        let groups: Vec<i64> = file.metadata().row_groups().iter().map(RowGroupMetaData::num_rows).collect();
        assert_eq!(groups, [65_536, 701 * 97 - 65_536]);
        let metric = parse_message_type("message metric { OPTIONAL BYTE_ARRAY metric (STRING); }").unwrap();
        let seen = file.get_row_iter(Some(metric)).unwrap();
        let seen: Vec<String> = seen.map(|row| row.unwrap().get_string(0).unwrap().clone()).collect();
        let expected: Vec<&str> = csv.lines().skip(1).map(|line| &line[37..73]).collect();
        assert_eq!(seen, expected);
    }

    async fn the_reports_of_others_are_passed_over(server: TestServer = OWN_DATABASE) {
        let lab = Lab::open(server).await;
        lab.server.post("/v0/organizations/ada/projects", &lab.token, json!({ "name": "Other" })).await.expect(201);
        lab.multiply(1, 5_000).await;
        let other = "update report set project_id = (select id from project where slug = 'other') where id % 50 <> 1";
        lab.sql(other, Vec::new()).await;
        let project = lab.id;
        let read = move |tx: &mut Tx<'_>| {
            let batch = export::batch(tx, project, &ExportFilter::default(), ReportId::from(0))?;
            assert_eq!(batch.entries().count(), 101);
            Ok::<_, Error>(())
        };
        // PostgreSQL soon analyzes changed tables itself; SQLite may have no statistics for long.
        if lab.server.engine == Engine::Sqlite {
            let plans = lab.server.app.db.explain(read).await.unwrap();
            assert!(plans[0].contains("report_key"), "{}", plans[0]);
        }
        lab.sql("analyze", Vec::new()).await;
        let plans = lab.server.app.db.explain(read).await.unwrap();
        assert!(plans[0].contains("report_key"), "{}", plans[0]);
    }

    async fn the_cost_grows_with_batches_alone(server: TestServer) {
        let lab = Lab::open(server).await;
        let cost = async |lab: &Lab| lab.cost(async |_| { lab.export("", &[]).await; }).await;
        lab.multiply(1, 1).await;
        let two = cost(&lab).await;
        lab.sql("delete from report", Vec::new()).await;
        lab.multiply(1, 1_000).await;
        assert_eq!(cost(&lab).await, two);
        lab.sql("delete from report", Vec::new()).await;
        lab.multiply(1, 1_100).await;
        assert!(cost(&lab).await <= 2 * two);
        assert_eq!(lab.export_text("").await.lines().count(), 1_102);
    }
}
