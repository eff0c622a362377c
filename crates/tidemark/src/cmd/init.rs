//! `tidemark init`: creates the `tidemark.toml` of a repository from its files and, on a terminal, from the answers of the user.

mod detect;

use std::{
    env, fs,
    io::{self, BufRead, IsTerminal},
    path::{Path, PathBuf},
};

use tidemark_api::{Adapter, MeasureDirection, ResourceId, Url};

use self::detect::Tool;
use crate::{
    context::ProjectIdentity,
    failure::{Failure, Result, print, write_message},
    manifest::{self, Manifest},
};

/// Arguments of `tidemark init`.
#[derive(clap::Args)]
pub(crate) struct Init {
    /// Accept the detected values without prompting
    #[arg(long, short)]
    yes: bool,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

/// Settings of the file.
struct Answers {
    project: String,
    command: String,
    files: Vec<String>,
    adapter: Adapter,
    host: String,
    tolerance: f64,
}

impl Init {
    pub(crate) fn run(self) -> Result {
        let here = env::current_dir()
            .map_err(|error| Failure::new(format!("The current folder cannot be determined ({error}).")))?;
        let root = here.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&here);
        let file = root.join(manifest::FILE);
        if file.exists() && !self.force {
            return Err(Failure::usage(format!(
                "{} already exists; use --force to overwrite it.",
                file.display()
            )));
        }
        let found = detect_settings(root)?;
        let answers = if self.yes {
            found
        } else if io::stdin().is_terminal() && io::stderr().is_terminal() {
            ask(&found)?
        } else {
            return Err(Failure::usage(
                "Standard input is not a terminal; use --yes to accept the detected values.",
            ));
        };
        write(&file, &answers.text())?;
        // Verify that the written file is valid, regardless of the answers.
        Manifest::read(&file)?;
        print(&format!("Wrote {}.\n\n{}", file.display(), answers.next()))
    }
}

/// Detects the settings of a repository.
fn detect_settings(root: &Path) -> Result<Answers> {
    let slug = ProjectIdentity::of(root)?.slug;
    let tool = detect::detect(root);
    let Tool { adapter, command, files, .. } = tool.unwrap_or(&detect::UNKNOWN);
    Ok(Answers {
        project: slug.into(),
        command: (*command).to_owned(),
        files: files.iter().map(|file| (*file).to_owned()).collect(),
        adapter: *adapter,
        host: String::new(),
        tolerance: 10.0,
    })
}

/// Prompts for each setting; an empty answer accepts the detected value.
fn ask(found: &Answers) -> Result<Answers> {
    message!("Press Return to accept the value in brackets.\n");
    let project = question("Project, lower-case letters, digits and dashes", &found.project, |text| {
        text.parse::<ResourceId>().map(|id| id.to_string()).map_err(|error| error.to_string())
    })?;
    let command = question("Command that runs the benchmarks", &found.command, |text| {
        if text.is_empty() { Err("enter the command to run".to_owned()) } else { Ok(text.to_owned()) }
    })?;
    let shown = found.files.join(" ");
    let files = question("Files with the results, if the command does not print them", &shown, |text| {
        Ok(text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    })?;
    let adapter = question("Adapter, magic detects the tool", found.adapter.short(), |text| {
        let tools = || Adapter::ALL.iter().filter(|adapter| adapter.plain() == **adapter);
        let allowed = || tools().map(|adapter| adapter.short()).collect::<Vec<_>>().join(" ");
        let named = |adapter: &&Adapter| adapter.short() == text || adapter.as_str() == text;
        Adapter::ALL.iter().find(named).copied().ok_or_else(|| format!("use one of: {}", allowed()))
    })?;
    let host = question("Server, empty to keep results on this machine", "", |text| match text {
        "" => Ok(String::new()),
        text => text.parse::<Url>().map(String::from).map_err(|error| error.to_string()),
    })?;
    let tolerance = question("Allowed regression in percent", &found.tolerance.to_string(), |text| {
        let number = text.trim_end_matches('%').trim().parse::<f64>();
        number
            .ok()
            .filter(|number| *number > 0.0 && number.is_finite())
            .ok_or("use a number above 0".to_owned())
    })?;
    Ok(Answers { project, command, files, adapter, host, tolerance })
}

/// Prompts until the answer is valid.
fn question<T>(
    what: &str,
    default: &str,
    read: impl Fn(&str) -> std::result::Result<T, String>,
) -> Result<T> {
    loop {
        // If the prompt cannot be printed, the user can still answer.
        write_message(format!("{what} [{default}]: ").as_bytes());
        let mut line = String::new();
        match io::stdin().lock().read_line(&mut line) {
            Ok(0) => {
                return Err(Failure::usage(
                    "Nothing was written: the input ended before all questions were answered.",
                ));
            }
            Ok(_) => {}
            Err(error) => {
                return Err(Failure::new(format!("Standard input cannot be read ({error}).")));
            }
        }
        let answer = line.trim();
        match read(if answer.is_empty() { default } else { answer }) {
            Ok(value) => return Ok(value),
            Err(reason) => message!("  Invalid value: {reason}."),
        }
    }
}

impl Answers {
    /// Returns the content of the file.
    fn text(&self) -> String {
        let Self { project, command, files, adapter, host, tolerance } = self;
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let host = match host.as_str() {
            "" => "# host = \"https://tidemark.example.com\"   # without a server, results stay on the machine\n".to_owned(),
            host => format!("host = {}\n", quoted(host)),
        };
        let files = match files.as_slice() {
            [] => String::new(),
            files => {
                format!("file = [{}]\n", files.iter().map(|file| quoted(file)).collect::<Vec<_>>().join(", "))
            }
        };
        let measure = detect::measure(*adapter);
        let side = match MeasureDirection::resolve(measure, None) {
            Some(MeasureDirection::HigherIsBetter) => "lower_boundary",
            _ => "upper_boundary",
        };
        let share = tolerance / 100.0;
        format!(
            "# Settings of `tidemark run` in this repository. Flags and variables take precedence. Do not store keys here.\n\
             project = {}\n{host}adapter = {}\ncommand = {}\n{files}\n\
             # A value more than {tolerance} % worse than the mean of the newest values is a regression. With ten values or\n\
             # more, use a t_test with {side} = 0.99, which estimates the noise. Other measures have no threshold.\n\
             [thresholds.{measure}]\ntest = \"percentage\"\nmax_sample_size = 16\n{side} = {share}\n",
            quoted(project),
            quoted(adapter.short()),
            quoted(command),
        )
    }

    /// Returns the next steps.
    fn next(&self) -> String {
        let mut lines =
            "Next:\n  tidemark run      runs the benchmarks; the second run is compared with the first\n"
                .to_owned();
        if self.host.is_empty() {
            lines.push_str("  tidemark serve    shows the results on this machine\n");
            lines.push_str("  tidemark push     copies them to a server\n");
        } else {
            lines.push_str(
                "  tidemark login    stores a key for the server on this machine; on CI, set \
                 TIDEMARK_API_KEY\n",
            );
        }
        lines.push_str(&format!("Commit {} so that other users and CI measure the same.\n", manifest::FILE));
        lines
    }
}

/// Writes the file atomically.
fn write(file: &Path, text: &str) -> Result {
    let draft: PathBuf = file.with_extension("toml.new");
    fs::write(&draft, text)
        .and_then(|()| fs::rename(&draft, file))
        .map_err(|error| Failure::new(format!("{} cannot be written ({error}).", file.display())))
}
