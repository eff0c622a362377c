//! `tidemark open`: opens the page of the last run of this folder in a browser.

use std::{
    env,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tidemark_api::{Slug, Url};
use tidemark_client::{Client, ClientSettings, RetryPolicy, server};
use tidemark_render::links::project_page;
use tidemark_server::infra::config::Flags;

use crate::{
    failure::{Failure, Result, print},
    last_run::{self, LastRun},
    settings,
};

/// Time in which a browser that cannot start reports an error.
const START_TIME: Duration = Duration::from_secs(1);
/// Time limit of the request to the server on this machine.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Arguments of `tidemark open`.
#[derive(clap::Args)]
pub(crate) struct Open {
    /// Slug of a project: open its last run of this folder [default: the last run of this folder]
    #[arg(long)]
    project: Option<Slug>,
    /// Print the URL, but do not start a browser
    #[arg(long)]
    print: bool,
}

impl Open {
    pub(crate) fn run(&self) -> Result {
        let is_wanted = |run: &LastRun| self.project.as_ref().is_none_or(|slug| slug.as_str() == run.project);
        let Some(run) = last_run::of_folder().into_iter().find(is_wanted) else {
            let of = self.project.as_ref().map_or_else(String::new, |slug| format!(" of the project {slug}"));
            return Err(Failure::new(format!(
                "There is no run{of} of this folder on this machine; run `tidemark run` in this folder first."
            )));
        };
        let url = match &run.url {
            Some(url) => url.clone(),
            None => self.local_page(&run)?,
        };
        print(&format!("{url}\n"))?;
        if self.print { Ok(()) } else { start_browser(&url) }
    }

    /// Returns the page of a run on this machine, if `tidemark serve` shows it.
    fn local_page(&self, run: &LastRun) -> Result<String> {
        let config = settings::load(settings::named_file(), &Flags::default())?;
        let console = &config.console.url;
        let slug: Slug = run.project.parse().map_err(|_| Failure::new("The stored run is invalid."))?;
        let url = format!("{}/reports/{}", project_page(console, &slug, true), run.report);
        if is_running(console) {
            return Ok(url);
        }
        let help = "The last run is stored on this machine, and no server shows it: start `tidemark serve`";
        if self.print {
            message!("note: {help}.");
            return Ok(url);
        }
        Err(Failure::new(format!("{help}, then run `tidemark open` again. The page will be {url}")))
    }
}

/// Whether a server of this API answers at an address.
fn is_running(console: &Url) -> bool {
    let retry_policy =
        RetryPolicy { timeout: TIMEOUT, attempts: 1, min_delay: Duration::ZERO, max_delay: Duration::ZERO };
    let settings = ClientSettings { host: console.clone(), credential: None, retry_policy, insecure: false };
    server::version(&Client::new(settings, |_| ())).is_ok()
}

/// Starts a browser: the program of `BROWSER`, or the default of the platform.
fn start_browser(url: &str) -> Result {
    let chosen = env::var("BROWSER").ok().filter(|program| !program.trim().is_empty());
    let mut command = match &chosen {
        Some(program) => Command::new(program),
        None if cfg!(target_os = "macos") => Command::new("open"),
        None if cfg!(windows) => {
            let mut command = Command::new("rundll32");
            command.arg("url.dll,FileProtocolHandler");
            command
        }
        None => Command::new("xdg-open"),
    };
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |reason: &str| {
        Failure::new(format!(
            "The browser {program} cannot be started ({reason}); open the URL above, or set BROWSER."
        ))
    };
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut browser = command.spawn().map_err(|error| failed(&error.to_string()))?;
    // A browser may run until the user closes it.
    let started = Instant::now();
    while started.elapsed() < START_TIME {
        match browser.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(failed(&status.to_string())),
            Ok(None) => thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(failed(&error.to_string())),
        }
    }
    Ok(())
}
