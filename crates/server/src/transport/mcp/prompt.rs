//! Two prompts that users can select in the menu of their agent.

use rmcp::{
    ErrorData,
    model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role},
};

const INVESTIGATE: &str = "investigate_regression";
const SET_UP: &str = "set_up_benchmarking";

/// Returns all prompts.
pub(super) fn list() -> Vec<Prompt> {
    let argument = |name: &str, description: &str, required: bool| {
        PromptArgument::new(name).with_description(description).with_required(required)
    };
    vec![
        Prompt::new(
            INVESTIGATE,
            Some("Find out whether a benchmark regressed, and what caused the regression."),
            Some(vec![
                argument("project", "The slug of the project.", true),
                argument("alert", "The UUID of the alert; default: the newest active alert.", false),
            ]),
        )
        .with_title("Investigate a regression"),
        Prompt::new(
            SET_UP,
            Some(
                "Set up continuous benchmarking: choose the benchmarks, record their results, and check them \
                 in CI.",
            ),
            Some(vec![argument("project", "The slug of the new project.", false)]),
        )
        .with_title("Set up benchmarking in this repository"),
    ]
}

/// Returns one prompt with its arguments filled in.
pub(super) fn get(name: &str, arguments: &JsonObject) -> Result<GetPromptResult, ErrorData> {
    let given = |name: &str| {
        let text = arguments.get(name).and_then(|value| value.as_str()).map(str::trim);
        text.filter(|text| !text.is_empty())
    };
    let text = match name {
        INVESTIGATE => {
            let project = given("project").ok_or_else(|| {
                ErrorData::invalid_params("The prompt requires the argument `project`.", None)
            })?;
            investigate(project, given("alert"))
        }
        SET_UP => set_up(given("project")),
        _ => {
            let message = format!("Unknown prompt `{name}`; prompts/list lists the prompts.");
            return Err(ErrorData::invalid_params(message, None));
        }
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}

fn investigate(project: &str, alert: Option<&str>) -> String {
    let first = match alert {
        Some(alert) => format!("1. Call explain_alert with project `{project}` and alert `{alert}`."),
        None => format!(
            "1. Call list_alerts with project `{project}` and status `active`, and select the newest alert. \
             Alerts of the same report belong together: list all of them. Then call explain_alert for the \
             newest alert."
        ),
    };
    format!(
        "Investigate a performance regression in the Tidemark project `{project}`.\n\n{first}\n\
         2. Decide from its verdict, levels and noise whether there is a change. If the change is smaller \
         than the smallest detectable change, or the next run was normal, report this, propose to measure \
         again, and stop.\n\
         3. Call perf_summary for other benchmarks of the same branch, testbed and measure. If all of them \
         changed, suspect the machine or the toolchain; if only a few changed, suspect the code that they \
         share.\n\
         4. If there is a real change, inspect the commits in the repository after the last good version up \
         to the first bad version, and list the commits and lines that can explain the change.\n\
         5. Propose the smallest experiment that would prove the cause, for example measuring the suspected \
         commit and its parent with `tidemark compare PARENT COMMIT -- COMMAND`.\n\
         6. Report: what regressed and by how much, the confidence, the probable commit, and what to do. Do \
         not dismiss the alert unless you are asked to."
    )
}

fn set_up(project: Option<&str>) -> String {
    let project = match project {
        Some(project) => format!("Use the project slug `{project}`."),
        None => "Choose a slug for the project from the name of the repository.".to_owned(),
    };
    format!(
        "Set up continuous benchmarking with Tidemark in this repository. {project}\n\n\
         1. Find the existing benchmarks and the command that runs them. If there are none, write a few \
         benchmarks of operations that users wait for, with the usual tool of the language, and keep each \
         run short.\n\
         2. Run `tidemark init`, which detects the tool and writes the settings of the repository, and read \
         the written settings.\n\
         3. Run the benchmarks once with `tidemark run \"COMMAND\"`. Without a server the results stay on \
         this machine; `tidemark login` connects to one.\n\
         4. Run them several more times, and check the noise with perf_summary. A benchmark that varies by \
         more than a few percent needs longer runs, fewer other processes on the machine, or a measure with \
         less variation, for example instructions.\n\
         5. Configure the CI of this repository to run the benchmarks on every push to the main branch and \
         on pull requests against it. Store the project key in a secret, never in a file.\n\
         6. Show your changes, and report which benchmarks are recorded and the smallest change that each \
         can detect."
    )
}
