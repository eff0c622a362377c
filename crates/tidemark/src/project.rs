//! Project of a command: the named project, the project of the project key, or the project of the current folder; and the check
//! that a named project exists.

use std::{path::Path, sync::OnceLock};

use tidemark_api::{Page, Project, ProjectFilter, ResourceId, Slug};
use tidemark_client::{Authentication, Client, Error, caller, projects};

use crate::{
    connection::Connection,
    context::{Environment, ProjectIdentity},
    failure::{Exit, Failure, Result},
    manifest,
};

/// Maximum number of projects to search for a similar slug: pages, and projects per page.
const PAGES: u32 = 4;
const PER_PAGE: u8 = 255;

/// Project of the project key of this command.
static OF_KEY: OnceLock<ResourceId> = OnceLock::new();
/// Project that this command selected because none is named.
static DEFAULT: OnceLock<Result<ResourceId>> = OnceLock::new();
/// Project that this command uses.
static USED: OnceLock<ResourceId> = OnceLock::new();

/// Returns the project of a command: the named project, otherwise the project of the project key, otherwise the project of the
/// current folder.
pub(crate) fn select(named: Option<&ResourceId>) -> Result<&ResourceId> {
    let selected = match named {
        Some(project) => project,
        None => DEFAULT.get_or_init(default_project).as_ref().map_err(Clone::clone)?,
    };
    // A command uses one project.
    let _ = USED.set(selected.clone());
    Ok(selected)
}

fn default_project() -> Result<ResourceId> {
    match OF_KEY.get() {
        Some(project) => Ok(project.clone()),
        None => Ok(ResourceId::Slug(ProjectIdentity::of(Path::new("."))?.slug)),
    }
}

/// Determines the project of a project key.
pub(crate) fn load_from_key(connection: &Connection, client: &Client) {
    if connection.has_project_key()
        && let Ok(caller) = client.send(&caller())
        && let Some(project) = caller.project
    {
        let _ = OF_KEY.set(ResourceId::Slug(project.slug));
    }
}

/// Returns the project that the environment or `tidemark.toml` names.
pub(crate) fn configured(environment: &Environment) -> Result<Option<ResourceId>> {
    match environment.get("TIDEMARK_PROJECT") {
        Some(text) => text.parse().map(Some).map_err(|error| {
            Failure::usage(format!("TIDEMARK_PROJECT is `{text}`, which is not a slug or UUID: {error}."))
        }),
        // Commands that use other settings of the file report its errors.
        None => Ok(manifest::current().ok().and_then(|manifest| manifest.project().cloned())),
    }
}

/// Returns a project that must exist, because its name may be misspelled.
pub(crate) fn require(client: &Client, connection: &Connection, id: &ResourceId) -> Result<Project> {
    match client.send(&projects().view(id)) {
        Err(Error::Refused { status: 404, request: Some(_), .. }) => {
            let failure = not_found(client, connection, id);
            Err(match id {
                ResourceId::Slug(_) if failure.is(Exit::Usage) => {
                    failure.and("Pass `--create` to create it.")
                }
                _ => failure,
            })
        }
        other => Ok(other?),
    }
}

/// Replaces the failure of a command whose project does not exist.
pub(crate) fn explain(client: &Client, connection: &Connection, failure: Failure) -> Failure {
    let Some(id) = USED.get().filter(|_| failure.is(Exit::Refused)) else { return failure };
    if !matches!(client.send(&projects().view(id)), Err(Error::Refused { status: 404, request: Some(_), .. }))
    {
        return failure;
    }
    let missing = not_found(client, connection, id);
    match DEFAULT.get().filter(|_| missing.is(Exit::Usage)) {
        Some(_) => missing.and(
            "It is the project of this repository or folder: record results with `tidemark run`, or name another \
             project, for example in TIDEMARK_PROJECT.",
        ),
        None => missing,
    }
}

fn not_found(client: &Client, connection: &Connection, id: &ResourceId) -> Failure {
    // For an invalid credential, the server hides private projects.
    if let Err(error @ Error::Refused { status: 401, authentication: Authentication::Credential, .. }) =
        client.send(&caller())
    {
        return error.into();
    }
    let failure = Failure::usage(format!("Project `{id}` not found."));
    let failure = match nearest(client, id) {
        Some(slug) => failure.and(&format!("Did you mean `{slug}`?")),
        None => failure,
    };
    match connection.target() {
        Ok(target) if target.host.is_some() && target.credential.is_none() => {
            failure.and("If the project is private, run `tidemark login` or set TIDEMARK_API_KEY.")
        }
        _ => failure,
    }
}

/// Returns the existing project with the most similar slug. A failure to list projects is not reported.
fn nearest(client: &Client, id: &ResourceId) -> Option<Slug> {
    let ResourceId::Slug(wanted) = id else { return None };
    let mut known = Vec::new();
    for page in 1..=PAGES {
        let page = Page { page, per_page: PER_PAGE, direction: None };
        let found = client.send(&projects().list(&ProjectFilter::default()).query(&page)).ok()?;
        let is_last = found.len() < usize::from(PER_PAGE);
        known.extend(found.into_iter().map(|project| project.slug));
        if is_last {
            break;
        }
    }
    most_similar(wanted.as_str(), known)
}

/// Returns the most similar slug, if at most every third letter differs.
pub(crate) fn most_similar(wanted: &str, known: impl IntoIterator<Item = Slug>) -> Option<Slug> {
    let distance = |slug: &Slug| {
        let slug = slug.as_str();
        let is_start = slug.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('-'));
        let whole = if is_start { 1 } else { strsim::damerau_levenshtein(wanted, slug) };
        // The name of a repository without the hash.
        let is_hash = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let name = slug.rsplit_once('-').filter(|(_, hash)| is_hash(hash)).map(|(name, _)| name);
        name.map_or(whole, |name| whole.min(1 + strsim::damerau_levenshtein(wanted, name)))
    };
    let ranked = known.into_iter().map(|slug| (distance(&slug), slug));
    let (distance, slug) =
        ranked.min_by(|one, other| one.0.cmp(&other.0).then_with(|| one.1.cmp(&other.1)))?;
    (distance * 3 <= wanted.len().max(3)).then_some(slug)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_slug_is_suggested() {
        let known = || ["tidemark", "tide", "widget-1a2b3c4d", "lab"].map(|slug| slug.parse().unwrap());
        for (wanted, expected) in [
            ("tidemrak", Some("tidemark")),
            ("tidmark", Some("tidemark")),
            ("widget", Some("widget-1a2b3c4d")),
            ("wigdet", Some("widget-1a2b3c4d")),
            ("wiget-1a2b3c4d", Some("widget-1a2b3c4d")),
            ("lba", Some("lab")),
            ("demo", None),
            ("x", None),
        ] {
            let found = most_similar(wanted, known());
            assert_eq!(found.as_ref().map(Slug::as_str), expected, "{wanted}");
        }
        assert_eq!(most_similar("tidemark", []), None);
    }
}
