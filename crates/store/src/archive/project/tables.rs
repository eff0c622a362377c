//! Tables of a project archive, and the tables that are not part of it.

use crate::ProjectId;

/// Rows of a table that belong to a project.
pub(super) struct ProjectTable {
    pub(super) name: &'static str,
    /// Condition of the rows; `$1` is the key of the project.
    rows: &'static str,
    /// Columns that contain keys, and the tables of the keys.
    pub(super) keys: &'static [(&'static str, &'static str)],
    /// Columns that refer to rows of the server, which are removed.
    pub(super) nulls: &'static [&'static str],
}

impl ProjectTable {
    /// Whether the rows have a key of their own.
    pub(super) fn has_key(&self) -> bool {
        self.keys.first().is_some_and(|(column, _)| *column == "id")
    }

    pub(super) fn condition(&self, project: ProjectId) -> String {
        self.rows.replace("$1", &project.get().to_string())
    }
}

const fn table(
    name: &'static str,
    rows: &'static str,
    keys: &'static [(&'static str, &'static str)],
) -> ProjectTable {
    ProjectTable { name, rows, keys, nulls: &[] }
}

const OF_PROJECT: &str = "project_id = $1";
const OF_BRANCH: &str = "branch_id in (select id from branch where project_id = $1)";
const OF_HEAD: &str = "head_id in (select head.id from head join branch on branch.id = head.branch_id where branch.project_id = $1)";
const OF_THRESHOLD: &str = "threshold_id in (select id from threshold where project_id = $1)";
const OF_PLOT: &str = "plot_id in (select id from plot where project_id = $1)";
const OF_REPORT: &str = "report_id in (select id from report where project_id = $1)";
const OF_EVENT: &str = "event_id in (select id from event where project_id = $1)";

/// Tables of a project, in an order in which foreign keys refer to earlier tables.
pub(super) const TABLES: &[ProjectTable] = &[
    table("project", "id = $1", &[("id", "project")]),
    table("branch", OF_PROJECT, &[("id", "branch"), ("project_id", "project")]),
    ProjectTable {
        name: "testbed",
        rows: OF_PROJECT,
        keys: &[("id", "testbed"), ("project_id", "project")],
        nulls: &["spec_id"],
    },
    table("benchmark", OF_PROJECT, &[("id", "benchmark"), ("project_id", "project")]),
    table("measure", OF_PROJECT, &[("id", "measure"), ("project_id", "project")]),
    table("dimension_count", OF_PROJECT, &[("project_id", "project")]),
    table(
        "head",
        OF_BRANCH,
        &[
            ("id", "head"),
            ("branch_id", "branch"),
            ("start_head_id", "head"),
            ("start_version_id", "version"),
        ],
    ),
    table("version", OF_HEAD, &[("id", "version"), ("head_id", "head")]),
    table("segment", OF_HEAD, &[("head_id", "head"), ("source_head_id", "head")]),
    table(
        "threshold",
        OF_PROJECT,
        &[
            ("id", "threshold"),
            ("project_id", "project"),
            ("branch_id", "branch"),
            ("testbed_id", "testbed"),
            ("measure_id", "measure"),
        ],
    ),
    table("model", OF_THRESHOLD, &[("id", "model"), ("threshold_id", "threshold")]),
    table("threshold_count", OF_THRESHOLD, &[("threshold_id", "threshold")]),
    table("plot", OF_PROJECT, &[("id", "plot"), ("project_id", "project")]),
    table("plot_branch", OF_PLOT, &[("plot_id", "plot"), ("dimension_id", "branch")]),
    table("plot_testbed", OF_PLOT, &[("plot_id", "plot"), ("dimension_id", "testbed")]),
    table("plot_benchmark", OF_PLOT, &[("plot_id", "plot"), ("dimension_id", "benchmark")]),
    table("plot_measure", OF_PLOT, &[("plot_id", "plot"), ("dimension_id", "measure")]),
    table(
        "variant",
        "benchmark_id in (select id from benchmark where project_id = $1)",
        &[("id", "variant"), ("benchmark_id", "benchmark")],
    ),
    table(
        "series",
        "testbed_id in (select id from testbed where project_id = $1)",
        &[
            ("id", "series"),
            ("testbed_id", "testbed"),
            ("benchmark_id", "benchmark"),
            ("variant_id", "variant"),
            ("measure_id", "measure"),
            ("since", "report"),
        ],
    ),
    ProjectTable {
        name: "report",
        rows: OF_PROJECT,
        keys: &[
            ("id", "report"),
            ("project_id", "project"),
            ("branch_id", "branch"),
            ("head_id", "head"),
            ("version_id", "version"),
            ("testbed_id", "testbed"),
        ],
        nulls: &["account_id", "spec_id"],
    },
    table("lane", OF_BRANCH, &[("branch_id", "branch"), ("testbed_id", "testbed")]),
    table("report_vector", OF_REPORT, &[("report_id", "report"), ("series", "series")]),
    table("metric", OF_REPORT, &[("bucket", "series"), ("report_id", "report"), ("body", "model")]),
    table("measure_report", OF_REPORT, &[("measure_id", "measure"), ("report_id", "report")]),
    table("report_factor", OF_REPORT, &[("report_id", "report"), ("factors", "measure")]),
    table(
        "pair_series",
        OF_REPORT,
        &[
            ("report_id", "report"),
            ("benchmark_id", "benchmark"),
            ("variant_id", "variant"),
            ("measure_id", "measure"),
        ],
    ),
    table(
        "event",
        OF_PROJECT,
        &[
            ("id", "event"),
            ("project_id", "project"),
            ("head_id", "head"),
            ("first_version", "version"),
            ("last_version", "version"),
        ],
    ),
    table("event_action", OF_EVENT, &[("id", "event_action"), ("event_id", "event")]),
    table(
        "event_series",
        OF_EVENT,
        &[
            ("event_id", "event"),
            ("testbed_id", "testbed"),
            ("measure_id", "measure"),
            ("benchmark_id", "benchmark"),
            ("variant_id", "variant"),
            ("first_version", "version"),
            ("last_version", "version"),
        ],
    ),
    ProjectTable {
        name: "confirmation",
        rows: OF_EVENT,
        keys: &[
            ("id", "confirmation"),
            ("event_id", "event"),
            ("report_id", "report"),
            ("base_version_id", "version"),
            ("head_version_id", "version"),
        ],
        nulls: &["job_id"],
    },
    table("bisection", OF_EVENT, &[("id", "bisection"), ("event_id", "event")]),
    table("mute", OF_PROJECT, &[("id", "mute"), ("project_id", "project")]),
    table(
        "alert",
        OF_PROJECT,
        &[
            ("id", "alert"),
            ("project_id", "project"),
            ("report_id", "report"),
            ("head_id", "head"),
            ("threshold_id", "threshold"),
            ("model_id", "model"),
            ("benchmark_id", "benchmark"),
            ("variant_id", "variant"),
            ("event_id", "event"),
            ("mute_id", "mute"),
        ],
    ),
    table(
        "change",
        OF_PROJECT,
        &[
            ("id", "change"),
            ("project_id", "project"),
            ("head_id", "head"),
            ("testbed_id", "testbed"),
            ("benchmark_id", "benchmark"),
            ("variant_id", "variant"),
            ("measure_id", "measure"),
            ("report_id", "report"),
            ("earliest_id", "report"),
            ("latest_id", "report"),
            ("found_id", "report"),
            ("raised_id", "report"),
            ("event_id", "event"),
        ],
    ),
];

/// Tables that are not part of a project archive: they belong to the server, to users, to jobs or to the registry.
pub(super) const OTHER_TABLES: &[&str] = &[
    "account",
    "audit",
    "bisection_search",
    "blob",
    "checkout",
    "code_host",
    "code_host_command",
    "customer",
    "delivery",
    "former_email",
    "identity",
    "invitation",
    "job",
    "manifest",
    "manifest_blob",
    "member",
    "migration",
    "notice",
    "oauth",
    "organization",
    "outbox",
    "plan",
    "project_key",
    "project_member",
    "rate_window",
    "registry_traffic",
    "repository",
    "repository_blob",
    "runner",
    "runner_spec",
    "server",
    "server_report",
    "session",
    "sign_in",
    "spec",
    "sso",
    "tag",
    "upload",
    "upload_part",
    "user_key",
    "user_token",
];
