//! Where people find a report: in the web console if the server says where that is, or else at the server itself. What
//! is on this machine has no address.

use tidemark_api::{Report, Url, Visibility};
use tidemark_client::{Client, server};

use super::comment::window;
use crate::verdict::Row;

/// The addresses of a report and of what it is about.
pub(crate) struct Links {
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
    /// Asks the server where its console is. Links into it are the public ones if the project is, or if that is wanted.
    pub(crate) fn find(client: &Client, host: Option<&Url>, report: &Report, public: bool) -> Self {
        let Some(host) = host else { return Self { console: None, report: None } };
        let slug = &report.project.slug;
        let console = client.send(&server::console()).ok().map(|console| {
            let root = console.url.as_str().trim_end_matches('/').to_owned();
            let (project, plot) = match report.project.visibility {
                Visibility::Private if !public => {
                    let project = format!("{root}/console/projects/{slug}");
                    (project.clone(), format!("{project}/perf"))
                }
                Visibility::Private | Visibility::Public => {
                    let project = format!("{root}/perf/{slug}");
                    (project.clone(), project)
                }
            };
            Console { root, project, plot }
        });
        let project = match &console {
            Some(console) => console.project.clone(),
            None => format!("{}/v0/projects/{slug}", host.as_str().trim_end_matches('/')),
        };
        Self { report: Some(format!("{project}/reports/{}", report.uuid)), console }
    }

    /// The report.
    pub(crate) fn report(&self) -> Option<String> {
        self.report.clone()
    }

    /// The project.
    pub(crate) fn project(&self) -> Option<String> {
        self.console.as_ref().map(|console| console.project.clone())
    }

    /// Where somebody can claim a project that nobody owns.
    pub(crate) fn claim(&self, report: &Report) -> Option<String> {
        let unclaimed = report.project.claimed.is_none();
        let console = self.console.as_ref().filter(|_| unclaimed)?;
        Some(format!("{}/auth/signup?claim={}", console.root, report.project.organization))
    }

    /// The history of a row as a plot.
    pub(crate) fn plot(&self, report: &Report, row: &Row<'_>) -> Option<String> {
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
