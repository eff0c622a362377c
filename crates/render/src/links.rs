//! Where people find a report: in the web console if the server says where that is, or else at the server itself. What
//! is on this machine has no address.

use crate::metric::MetricRow;
use tidemark_api::{Millis, Report, Slug, Url, Visibility};

/// The addresses of a report and of what it is about.
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
    /// The links of what is on this machine: none.
    pub fn none() -> Self {
        Self { console: None, report: None }
    }

    /// The links of a report of the server at `host`, whose console is there if it is known. Links into it are the
    /// public ones if the project is, or if that is wanted.
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

    /// The report.
    pub fn report(&self) -> Option<String> {
        self.report.clone()
    }

    /// The project.
    pub fn project(&self) -> Option<String> {
        self.console.as_ref().map(|console| console.project.clone())
    }

    /// Where somebody can claim a project that nobody owns.
    pub fn claim(&self, report: &Report) -> Option<String> {
        let unclaimed = report.project.claimed.is_none();
        let console = self.console.as_ref().filter(|_| unclaimed)?;
        Some(format!("{}/auth/signup?claim={}", console.root, report.project.organization))
    }

    /// The history of a row as a plot.
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

/// The page of a project in the console: the one that everybody sees, or that of its members.
pub fn project_page(console: &Url, slug: &Slug, public: bool) -> String {
    let root = console.as_str().trim_end_matches('/');
    if public { format!("{root}/perf/{slug}") } else { format!("{root}/console/projects/{slug}") }
}

/// The span of time that a plot shows: the month before a run, and the run.
fn window(report: &Report) -> (Millis, Millis) {
    const MONTH: i64 = 30 * 24 * 60 * 60;
    (report.start_time.plus_seconds(-MONTH).into(), report.end_time.into())
}
