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
    /// Returns the verdict on the report of one side. The tool has a separate input schema.
    Comparison,
}

/// All tools, in the order of the list.
pub const TOOLS: &[Tool] = &[
    tool(
        "submit_run",
        "run_post",
        "Record benchmark results, like `tidemark run`: creates the project, branch, testbed, benchmarks and measures if they do not exist, and returns the report with its alerts. `results` contains the output of the benchmark tool; with `job`, a runner runs the benchmarks instead. A new project requires a `context` with its name: `{\"tidemark.dev/v0/repo/name\": \"NAME\"}`.",
    ),
    tool(
        "list_projects",
        "projects_get",
        "List the projects you can view: public projects and your own; with a project key, only that project. Start here to get the slug that other tools accept as `project`.",
    ),
    tool("view_project", "project_get", "Show one project."),
    tool(
        "list_reports",
        "proj_reports_get",
        "List the reports of a project, newest first. A report is one run of benchmarks for one commit, branch and testbed. `expand` adds results and alerts, which makes the response long.",
    ),
    tool(
        "create_report",
        "proj_report_post",
        "Record benchmark results in an existing project. `results` contains the output of the benchmark tool, one string per iteration.",
    ),
    tool("view_report", "proj_report_get", "Show one report with its results and alerts.").large(),
    tool(
        "list_branches",
        "proj_branches_get",
        "List the branches of a project, to get the UUIDs that `query_perf` and other tools accept.",
    ),
    tool("create_branch", "proj_branch_post", "Create a branch, empty or with the history of a start point."),
    tool("view_branch", "proj_branch_get", "Show one branch with its current head, or with the requested head."),
    tool(
        "update_branch",
        "proj_branch_patch",
        "Rename, archive or restart a branch. Archive a branch that is no longer measured; its data is kept.",
    ),
    tool(
        "list_pulls",
        "proj_pulls_get",
        "List the branches that start from another branch, for example those of pull requests, with the newest report of each testbed. Use `view_verdict` to compare a report with the start point.",
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
        "List the benchmarks of a project; `search` filters by a part of the name.",
    ),
    tool(
        "create_benchmark",
        "proj_benchmark_post",
        "Create a benchmark. Recorded results create missing benchmarks automatically.",
    ),
    tool("view_benchmark", "proj_benchmark_get", "Show one benchmark."),
    tool("update_benchmark", "proj_benchmark_patch", "Rename or archive a benchmark."),
    tool(
        "list_measures",
        "proj_measures_get",
        "List the measures of a project, such as latency or throughput, with their units and directions.",
    ),
    tool("create_measure", "proj_measure_post", "Create a measure with its units and direction."),
    tool("view_measure", "proj_measure_get", "Show one measure."),
    tool("update_measure", "proj_measure_patch", "Rename or archive a measure, or change its units or direction."),
    tool(
        "list_thresholds",
        "proj_thresholds_get",
        "List the thresholds of a project: branch, testbed, measure and model of each.",
    ),
    tool(
        "create_threshold",
        "proj_threshold_post",
        "Create a threshold for a measure of a branch on a testbed: new results that cross a limit of the model create alerts.",
    ),
    tool(
        "view_threshold",
        "proj_threshold_get",
        "Show one threshold with its current model, or with the requested model.",
    ),
    tool(
        "update_threshold",
        "proj_threshold_put",
        "Replace the model of a threshold; `test: null` removes the model, so that the threshold creates no \
         alerts.",
    ),
    tool(
        "list_alerts",
        "proj_alerts_get",
        "List the alerts of a project, newest first. Filter with `status: active` for alerts that were not \
         dismissed.",
    ),
    tool(
        "view_alert",
        "proj_alert_get",
        "Show one alert: the metric, the crossed limit and the threshold.",
    ),
    tool(
        "update_alert",
        "proj_alert_patch",
        "Dismiss an alert, or make it active again.",
    ),
    tool(
        "list_changes",
        "proj_changes_get",
        "List the changes: lasting shifts of the level of a series, newest or largest first. Changes require no threshold. Filter with `status: open` for changes that need review.",
    ),
    tool(
        "view_change",
        "proj_change_get",
        "Show one change: both levels, the reports between which it began, its confidence, and whether the machine is the probable cause.",
    ),
    tool(
        "list_events",
        "proj_events_get",
        "List the events, with the possible first commits of each. An event groups changes of several benchmarks that began together, and values outside a threshold. Filter with `status: open` and `change_direction: regression` for regressions that need review.",
    ),
    tool(
        "view_event",
        "proj_event_get",
        "Show one event: its changes, its alerts with value and limit, the possible first commits, its status, and who set the status and why.",
    ),
    tool(
        "update_event",
        "proj_event_patch",
        "Set the status of an event and of all its changes and alerts, with a note: expected, fixed, false alarm, or open.",
    ),
    tool(
        "list_mutes",
        "proj_mutes_get",
        "List the mutes: patterns of benchmarks, branches and testbeds that cause no notifications and no failing gates for a period. Filter with `expired: false` for mutes that have effect.",
    ),
    tool(
        "create_mute",
        "proj_mute_post",
        "Mute benchmarks, branches or testbeds by name or pattern, for a number of seconds (`ttl`) and with a reason. They are still measured, and their results are marked as muted.",
    ),
    tool(
        "view_verdict",
        "proj_report_verdict_get",
        "Compare a report with its baseline, the previous runs or the branch that its own branch starts from: regressed, improved, unchanged and inconclusive series with confidence intervals, and whether the machine is the probable cause.",
    ),
    tool(
        "view_detection",
        "proj_detection_get",
        "Show the change detection of a project: whether it notifies about alerts or changes, the false-alarm budget, and the number of false alarms so far.",
    ),
    tool(
        "backtest",
        "proj_backtest_post",
        "Run a sensitivity or the model of a threshold over the whole history, to see the notifications and alerts it would have caused. Changes nothing.",
    ),
    tool("view_metric", "proj_metric_get", "Show one metric with its report, branch, testbed, benchmark, measure and threshold."),
    tool(
        "query_perf",
        "proj_perf_get",
        "Show every value of the selected series over time. Select series with comma-separated UUIDs. Long histories return statistics instead.",
    )
    .answering(Answer::Series)
    .large(),
    tool(
        "perf_image",
        "proj_perf_img_get",
        "Plot the selected series over time as an image. Accepts the same arguments as `query_perf`.",
    )
    .with(&[("format", "jpeg")]),
    tool(
        "list_plots",
        "proj_plots_get",
        "List the pinned plots of a project, with the UUIDs of their dimensions.",
    ),
    tool("view_plot", "proj_plot_get", "Show one pinned plot."),
    tool(
        "list_jobs",
        "proj_jobs_get",
        "List the jobs of a project that run on runners: waiting, running and ended.",
    ),
    tool("view_job", "proj_job_get", "Show one job, with its output if it has ended."),
    tool(
        "explain_alert",
        "proj_alert_get",
        "Explain an alert: the levels of its history, the noise and the smallest detectable change, the probable first bad version with its commit, and links. Call this tool first to investigate an alert.",
    )
    .answering(Answer::Explanation)
    .large(),
    tool(
        "dismiss_alert",
        "proj_alert_patch",
        "Dismiss an alert after review; `update_alert` makes it active again.",
    )
    .with(&[("status", "dismissed")]),
    tool(
        "perf_summary",
        "proj_perf_get",
        "Show statistics of the selected series instead of every value: count, first and last value, range, median, noise, trend, last change of level and alerts. Accepts the same arguments as `query_perf`.",
    )
    .answering(Answer::Summary)
    .large(),
    tool(
        "compare",
        "proj_report_verdict_get",
        "Compare two reports, branches or versions, or a branch with its start point: the answer of `view_verdict` for the newest report of the side `new`.",
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
