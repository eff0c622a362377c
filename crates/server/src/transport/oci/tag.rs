//! `/v2/{name}/tags/list`

use axum::{
    Json,
    http::{header, request::Parts},
    response::{IntoResponse, Response},
};
use serde_json::json;
use tidemark_store::{repository, tag};

use super::{
    access,
    error::{Error, Result, insert},
    query,
    route::{Name, parse_tag},
};
use crate::domain::app::App;

/// Default and maximum number of tags per page.
const PAGE: u32 = 1_000;
const PAGE_MAX: u32 = 10_000;

/// Lists the tags of a repository.
pub(super) async fn list(app: &App, parts: &Parts, name: Name) -> Result<Response> {
    let count = match query(parts, "n") {
        // A number that does not fit is greater than the maximum.
        Some(n) if !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()) => {
            n.parse().unwrap_or(PAGE_MAX).min(PAGE_MAX)
        }
        Some(_) => return Err(Error::PageInvalid),
        None => PAGE,
    };
    let last = query(parts, "last").unwrap_or_default();
    if !last.is_empty() {
        parse_tag(&last)?;
    }
    let (opened, mut tags) = access::pull(app, parts, name, move |tx, opened| {
        Ok(match repository::find(tx, opened.project, opened.name.path())? {
            // One extra row shows whether there is another page.
            Some(repository) => tag::list(tx, repository, &last, count + 1)?,
            // The repository of a project exists before the first push.
            None if opened.name.path().is_empty() => Vec::new(),
            None => return Err(Error::NameUnknown),
        })
    })
    .await?;
    let size = usize::try_from(count).unwrap_or(usize::MAX);
    let more = tags.len() > size;
    tags.truncate(size);
    let name = opened.name.as_str();
    let mut response = Json(json!({ "name": name, "tags": tags })).into_response();
    if let (true, Some(last)) = (more, tags.last()) {
        let link = format!("</v2/{name}/tags/list?n={count}&last={last}>; rel=\"next\"");
        insert(response.headers_mut(), header::LINK, &link);
    }
    Ok(response)
}
