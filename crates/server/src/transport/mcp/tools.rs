//! The tools. Each tool is an operation of the API with a name for agents. The input comes from the description of the
//! operation, and the handler of the operation checks the rights; neither is defined here.

/// A tool.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// Name of the tool.
    pub name: &'static str,
    /// ID of the operation that the tool calls. The rights of the operation apply.
    pub operation: &'static str,
    /// What the tool does and when to use it, for agents.
    pub description: &'static str,
    /// Arguments of the operation that the tool sets and does not offer.
    pub(super) fixed: &'static [(&'static str, &'static str)],
    /// How the tool converts the response.
    pub(super) answer: Answer,
    /// Whether responses often have megabytes, so that a call needs a permit before the operation runs.
    pub(super) is_large: bool,
}

/// How a tool converts the response of its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Returns it unchanged.
    Plain,
    /// Returns series, or their statistics if they are long.
    Series,
    /// Returns the statistics of series.
    Summary,
    /// Returns an alert explained by its history.
    Explanation,
    /// Returns a comparison of two sides. The tool has a separate input schema.
    Comparison,
}

/// All tools, in the order of the list.
pub const TOOLS: &[Tool] = &[
    tool(
        "submit_run",
        "run_post",
        "Record benchmark results, as `tidemark run` does: creates what is missing of project, branch, testbed, benchmarks and measures, and answers the report with its alerts. `results` holds what the benchmark tool printed; with `job`, a runner measures instead. A project that is not there yet needs a `context` to be named after: `{\"tidemark.dev/v0/repo/name\": \"NAME\"}`.",
    ),
    tool(
        "list_projects",
        "projects_get",
        "List the projects you can see: public ones and your own; with a project's key, only that one. Start here to learn the slug that other tools take as `project`.",
    ),
    tool("view_project", "project_get", "Show one project."),
    tool(
        "list_reports",
        "proj_reports_get",
        "List the reports of a project, the newest first: each is one run of benchmarks for one commit, branch and testbed. `expand` adds results and alerts, which makes answers long.",
    ),
    tool(
        "create_report",
        "proj_report_post",
        "Record benchmark results in a project that exists. `results` holds what the benchmark tool printed, a text for each iteration.",
    ),
    tool("view_report", "proj_report_get", "Show one report with its results and alerts.").large(),
    tool(
        "list_branches",
        "proj_branches_get",
        "List the branches of a project, to find the UUIDs that `query_perf` and others take.",
    ),
    tool("create_branch", "proj_branch_post", "Create a branch, empty or with the history of a start point."),
    tool("view_branch", "proj_branch_get", "Show one branch with its current head, or the one asked for."),
    tool(
        "update_branch",
        "proj_branch_patch",
        "Rename, archive or restart a branch. Archive what is no longer measured; nothing is lost.",
    ),
    tool(
        "list_testbeds",
        "proj_testbeds_get",
        "List the testbeds of a project: the machines that benchmarks run on.",
    ),
    tool("create_testbed", "proj_testbed_post", "Create a testbed."),
    tool("view_testbed", "proj_testbed_get", "Show one testbed."),
    tool(
        "update_testbed",
        "proj_testbed_patch",
        "Rename or archive a testbed, or change the specification of its machine.",
    ),
    tool(
        "list_benchmarks",
        "proj_benchmarks_get",
        "List the benchmarks of a project; `search` finds a part of a name.",
    ),
    tool(
        "create_benchmark",
        "proj_benchmark_post",
        "Create a benchmark; results that name a new one create it by themselves.",
    ),
    tool("view_benchmark", "proj_benchmark_get", "Show one benchmark."),
    tool("update_benchmark", "proj_benchmark_patch", "Rename or archive a benchmark."),
    tool(
        "list_measures",
        "proj_measures_get",
        "List the measures of a project, such as latency or throughput, with their units.",
    ),
    tool("create_measure", "proj_measure_post", "Create a measure with its units."),
    tool("view_measure", "proj_measure_get", "Show one measure."),
    tool("update_measure", "proj_measure_patch", "Rename or archive a measure, or change its units."),
    tool(
        "list_thresholds",
        "proj_thresholds_get",
        "List the thresholds of a project: which branch, testbed and measure are judged, and by which model.",
    ),
    tool(
        "create_threshold",
        "proj_threshold_post",
        "Judge a measure of a branch on a testbed from now on: new results that cross a limit of the model raise alerts.",
    ),
    tool(
        "view_threshold",
        "proj_threshold_get",
        "Show one threshold with its model, or the model asked for.",
    ),
    tool(
        "update_threshold",
        "proj_threshold_put",
        "Replace the model of a threshold; `test: null` removes it, so that nothing is judged.",
    ),
    tool(
        "list_alerts",
        "proj_alerts_get",
        "List the alerts of a project, the newest first. `status: active` are those that nobody has looked at.",
    ),
    tool(
        "view_alert",
        "proj_alert_get",
        "Show one alert: the metric, the limit it crossed and the threshold.",
    ),
    tool(
        "update_alert",
        "proj_alert_patch",
        "Dismiss an alert that needs no more attention, or make it active again.",
    ),
    tool(
        "list_changes",
        "proj_changes_get",
        "List where levels changed and stayed, the newest or the largest first; no threshold is needed for it. `status: active` are those that nobody has said anything of.",
    ),
    tool(
        "view_change",
        "proj_change_get",
        "Show one change: both levels, between which reports it began, how sure that is, and whether the machine seems to be behind it.",
    ),
    tool(
        "update_change",
        "proj_change_patch",
        "Say what a change is, with a note why: acknowledged, expected, fixed or a false alarm.",
    ),
    tool(
        "list_incidents",
        "proj_incidents_get",
        "List the events behind changes, with the commits that each may have begun with: changes of several benchmarks that began together are one.",
    ),
    tool(
        "view_verdict",
        "proj_report_verdict_get",
        "Hold a report against the runs before it, or against the branch that its own starts from: what changed, what did not, and what cannot be told, with intervals, and whether the machine is to blame.",
    ),
    tool(
        "view_detection",
        "proj_detection_get",
        "Show what a project is told of, alerts or changes, how many false alarms it takes and how many there were.",
    ),
    tool(
        "backtest",
        "proj_backtest_post",
        "Find out which alarms a sensitivity or the model of a threshold would have raised over the whole history, before changing anything.",
    ),
    tool("view_metric", "proj_metric_get", "Show one metric with all that it belongs to."),
    tool(
        "query_perf",
        "proj_perf_get",
        "Show every value of the chosen series over time, by comma-separated UUIDs. For long histories it answers statistics instead.",
    )
    .answering(Answer::Series)
    .large(),
    tool(
        "perf_image",
        "proj_perf_img_get",
        "Draw the chosen series over time as a picture, with the same arguments as `query_perf`.",
    )
    .with(&[("format", "jpeg")]),
    tool(
        "list_plots",
        "proj_plots_get",
        "List the plots that are pinned to a project's page, with the UUIDs of their dimensions.",
    ),
    tool("view_plot", "proj_plot_get", "Show one pinned plot."),
    tool(
        "list_jobs",
        "proj_jobs_get",
        "List the jobs of a project, which runners do: waiting, running and done.",
    ),
    tool("view_job", "proj_job_get", "Show one job, and once it has ended, what it printed."),
    tool(
        "explain_alert",
        "proj_alert_get",
        "Explain an alert, as the first thing to do about one: its history cut into levels, how noisy it is and what change can be seen at all, the likely first bad version with its commit, and links.",
    )
    .answering(Answer::Explanation)
    .large(),
    tool(
        "dismiss_alert",
        "proj_alert_patch",
        "Dismiss an alert that somebody has looked at; `update_alert` makes it active again.",
    )
    .with(&[("status", "dismissed")]),
    tool(
        "perf_summary",
        "proj_perf_get",
        "Show the statistics of the chosen series instead of every value: count, first and last, range, median, noise, trend, last change of level and alerts. Takes the same arguments as `query_perf`.",
    )
    .answering(Answer::Summary)
    .large(),
    tool(
        "compare",
        "proj_reports_get",
        "Compare two reports, branches or versions: for every benchmark and measure that both have, the change with its confidence interval and a verdict, the worst first.",
    )
    .answering(Answer::Comparison),
];

/// Returns the tool with this name.
pub(super) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Returns the tool with this name, for use by another tool.
pub(super) fn named(name: &'static str) -> &'static Tool {
    find(name).expect("a test calls every tool that needs another")
}

const fn tool(name: &'static str, operation: &'static str, description: &'static str) -> Tool {
    Tool { name, operation, description, fixed: &[], answer: Answer::Plain, is_large: false }
}

impl Tool {
    /// Returns the arguments of the operation that the tool does not offer.
    pub fn own_arguments(&self) -> impl Iterator<Item = &'static str> {
        self.fixed.iter().map(|(name, _)| *name)
    }

    const fn answering(mut self, answer: Answer) -> Self {
        self.answer = answer;
        self
    }

    const fn large(mut self) -> Self {
        self.is_large = true;
        self
    }

    const fn with(mut self, fixed: &'static [(&'static str, &'static str)]) -> Self {
        self.fixed = fixed;
        self
    }
}
