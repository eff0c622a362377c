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
            Some("Find out what made a benchmark worse, and whether it did become worse at all."),
            Some(vec![
                argument("project", "The slug of the project.", true),
                argument("alert", "The UUID of the alert; the newest active one when not given.", false),
            ]),
        )
        .with_title("Investigate a regression"),
        Prompt::new(
            SET_UP,
            Some("Make this repository measure itself: pick the benchmarks, record them, and judge them in CI."),
            Some(vec![argument("project", "The slug the project is to have.", false)]),
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
            let project = given("project")
                .ok_or_else(|| ErrorData::invalid_params("The prompt needs the argument `project`.", None))?;
            investigate(project, given("alert"))
        }
        SET_UP => set_up(given("project")),
        _ => {
            let message = format!("There is no prompt `{name}`; prompts/list names them.");
            return Err(ErrorData::invalid_params(message, None));
        }
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}

fn investigate(project: &str, alert: Option<&str>) -> String {
    let first = match alert {
        Some(alert) => format!("1. Call explain_alert with project `{project}` and alert `{alert}`."),
        None => format!(
            "1. Call list_alerts with project `{project}` and status `active`, and take the newest. Alerts of the same \
             report belong together: name them all. Then call explain_alert for it."
        ),
    };
    format!(
        "Investigate a performance regression in the Tidemark project `{project}`.\n\n{first}\n\
         2. Decide from its verdict, levels and noise whether there is a change at all. If the change is smaller than \
         the smallest visible one, or the next run was as usual, say so, and stop after proposing to measure again.\n\
         3. Call perf_summary for other benchmarks of the same branch, testbed and measure. If all of them moved, suspect \
         the machine or the toolchain; if few did, suspect the code they have in common.\n\
         4. If there is a real change, look in the repository at the commits after the last good version up to the first \
         bad one, and name those that can explain it, with the lines that do.\n\
         5. Propose the smallest experiment that would prove the cause, such as measuring the suspected commit and its \
         parent with `tidemark compare PARENT COMMIT -- COMMAND`.\n\
         6. Report: what got worse and by how much, how sure that is, the likely commit, and what to do. Do not dismiss \
         the alert unless you are asked to."
    )
}

fn set_up(project: Option<&str>) -> String {
    let project = match project {
        Some(project) => format!("The project is to be called `{project}`."),
        None => "Choose a slug for the project from the name of the repository.".to_owned(),
    };
    format!(
        "Set up continuous benchmarking with Tidemark in this repository. {project}\n\n\
         1. Find the benchmarks that are there, and the command that runs them. If there are none, write a few for what \
         users wait for, with the usual tool of the language, and keep each run short.\n\
         2. Run `tidemark init`, which finds the tool and writes the settings of the repository, and read what it wrote.\n\
         3. Run the benchmarks once with `tidemark run \"COMMAND\"`. Without a server the results stay on this machine; \
         `tidemark login` connects to one.\n\
         4. Run them several times more, and look at the noise with perf_summary. What varies by more than a few percent \
         needs longer runs, fewer neighbors on the machine, or a measure that varies less, such as instructions.\n\
         5. Make the CI of this repository do the same on every push to the main branch, and on pull requests against \
         it, with a key of the project in a secret and never in a file.\n\
         6. Show what you changed, and say which benchmarks are watched and what change they can show."
    )
}
