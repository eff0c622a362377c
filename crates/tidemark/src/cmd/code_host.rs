//! `tidemark code-host`: the connection of a project to a code host, for commands in comments of pull requests.

use tidemark_api::{CodeHost, CodeHostProvider, CodeHostRepository, CodeHostSecret, NewCodeHost, Url};
use tidemark_client::{code_host, delete_code_host, put_code_host};

use crate::{
    failure::Result,
    output,
    resource::{Fields, Printable, ProjectArgument, Session, Verb, fixed_string_parser, optional},
};

/// Verbs of `tidemark code-host`.
#[derive(clap::Subcommand)]
pub(crate) enum CodeHostVerb {
    /// Show the connection and the URL of its webhook
    #[command(visible_alias = "get")]
    View {
        #[command(flatten)]
        project: ProjectArgument,
    },
    /// Connect a project to a repository; a created webhook secret is shown once
    Set(Connection),
    /// Disconnect a project from its code host
    #[command(visible_alias = "rm")]
    Delete {
        #[command(flatten)]
        project: ProjectArgument,
    },
}

/// Connection to set.
#[derive(clap::Args)]
pub(crate) struct Connection {
    #[command(flatten)]
    project: ProjectArgument,
    /// Kind of code host; forgejo also means Gitea
    #[arg(long, value_parser = fixed_string_parser::<CodeHostProvider>())]
    provider: CodeHostProvider,
    /// Repository, as OWNER/NAME
    #[arg(long, value_name = "OWNER/NAME")]
    repository: CodeHostRepository,
    /// URL of the API of the code host [default: the API of github.com, gitlab.com or codeberg.org]
    #[arg(long)]
    url: Option<Url>,
    /// Token for the API of the code host [default: the stored token]
    #[arg(long, value_name = "TOKEN", env = "TIDEMARK_CODE_HOST_TOKEN", hide_env_values = true)]
    code_host_token: Option<CodeHostSecret>,
    /// Secret of the webhook [default: the stored secret, or a created one]
    #[arg(long, value_name = "SECRET", env = "TIDEMARK_WEBHOOK_SECRET", hide_env_values = true)]
    webhook_secret: Option<CodeHostSecret>,
    /// Whether the server runs commands in comments [default: true]
    #[arg(long, value_name = "BOOL")]
    commands: Option<bool>,
}

impl Verb for CodeHostVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::View { project } => session.show(&code_host(project.id()?)),
            Self::Set(Connection {
                project,
                provider,
                repository,
                url,
                code_host_token,
                webhook_secret,
                commands,
            }) => {
                let new = NewCodeHost {
                    provider: *provider,
                    url: url.clone(),
                    repository: repository.clone(),
                    token: code_host_token.clone(),
                    secret: webhook_secret.clone(),
                    commands: *commands,
                };
                session.show(&put_code_host(project.id()?, &new))
            }
            Self::Delete { project } => session
                .confirm(&delete_code_host(project.id()?), "The project is disconnected from its code host."),
        }
    }
}

impl Printable for CodeHost {
    fn fields(&self) -> Fields {
        Fields::default()
            .column("Provider", self.provider)
            .text("Repository", &self.repository)
            .text("URL", &self.url)
            .column("Commands", if self.commands { "yes" } else { "no" })
            .detail("Webhook URL", &self.webhook_url)
            .detail("Secret", optional(self.secret.as_ref().map(CodeHostSecret::as_str)))
            .detail("Created", output::time(self.created))
            .detail("Modified", output::time(self.modified))
    }
}
