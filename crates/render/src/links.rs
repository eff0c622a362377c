//! Links to a report: to the web console if the server returns its address, otherwise to the API of the server. Results on this
//! machine have no links.

use crate::metric::MetricRow;
use tidemark_api::{Millis, Report, Slug, Url, Visibility};

/// URLs of a report, its project and its plots.
pub struct Links {
    console: Option<Console>,
    report: Option<String>,
}

/// Pages of the console.
struct Console {
    root: String,
    project: String,
    plot: String,
}

impl Links {
    /// Returns the links of results on this machine: none.
    pub fn none() -> Self {
        Self { console: None, report: None }
    }

    /// Returns the links of a report of the server at `host`, to its console if the address is known. The links are the public
    /// ones if the project is public or `public` is true.
    pub fn new(host: &Url, console: Option<&Url>, report: &Report, public: bool) -> Self {
        let slug = &report.project.slug;
        let console = console.map(|console| {
            let root = console.as_str().trim_end_matches('/').to_owned();
            let public = public || report.project.visibility == Visibility::Public;
            let project = project_page(console, slug, public);
            let plot = if public { project.clone() } else { format!("{project}/perf") };
            Console { root, project, plot }
        });
        let project = match &console {
            Some(console) => console.project.clone(),
            None => format!("{}/v0/projects/{slug}", host.as_str().trim_end_matches('/')),
        };
        Self { report: Some(format!("{project}/reports/{}", report.uuid)), console }
    }

    /// Returns the URL of the report.
    pub fn report(&self) -> Option<String> {
        self.report.clone()
    }

    /// Returns the URL of the project.
    pub fn project(&self) -> Option<String> {
        self.console.as_ref().map(|console| console.project.clone())
    }

    /// Returns the URL at which a user can claim an unclaimed project.
    pub fn claim(&self, report: &Report) -> Option<String> {
        let unclaimed = report.project.claimed.is_none();
        let console = self.console.as_ref().filter(|_| unclaimed)?;
        Some(format!("{}/auth/signup?claim={}", console.root, report.project.organization))
    }

    /// Returns the URL of a plot of the series of a row.
    pub fn plot(&self, report: &Report, row: &MetricRow<'_>) -> Option<String> {
        let (start, end) = window(report);
        Some(format!(
            "{}?branches={}&heads={}&testbeds={}&benchmarks={}&measures={}&start_time={start}&end_time={end}\
             &report={}&lower_boundary=true&upper_boundary=true",
            self.console.as_ref()?.plot,
            report.branch.uuid,
            report.branch.head.uuid,
            report.testbed.uuid,
            row.result.benchmark.uuid,
            row.measured.measure.uuid,
            report.uuid,
        ))
    }
}

/// Returns the URL of a project in the console: the public page, or the page for members.
pub fn project_page(console: &Url, slug: &Slug, public: bool) -> String {
    let root = console.as_str().trim_end_matches('/');
    if public { format!("{root}/perf/{slug}") } else { format!("{root}/console/projects/{slug}") }
}

/// Returns the time range of a plot: the month before a run, and the run.
fn window(report: &Report) -> (Millis, Millis) {
    const MONTH: i64 = 30 * 24 * 60 * 60;
    (report.start_time.plus_seconds(-MONTH).into(), report.end_time.into())
}
