//! `/v2/{name}/blobs/uploads`: uploads of blobs.
//!
//! The body of each request is streamed to a new object while its digest is computed; memory use does not depend on its size.
//! The number of concurrent uploads and their minimum rate are limited. If one request uploads the whole blob, its object
//! becomes the blob; several objects are concatenated once at the end. A blob is not visible before its digest is verified.

use axum::{
    body::{Body, HttpBody},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use futures_util::StreamExt;
use tidemark_store::{Tx, UploadId, WriteContext, blob, repository, upload};
use uuid::Uuid;

use super::{
    DOCKER_CONTENT_DIGEST,
    access::{self, Repository},
    digest::{Algorithm, Digest, Hasher},
    error::{Error, Result, insert},
    minimum_rate::MinimumRate,
    query, quota,
    range::parse_content_range,
    route::{Name, parse_digest},
};
use crate::domain::app::App;

const DOCKER_UPLOAD_UUID: HeaderName = HeaderName::from_static("docker-upload-uuid");
const OCI_CHUNK_MIN_LENGTH: HeaderName = HeaderName::from_static("oci-chunk-min-length");

/// Recommended chunk size for clients: each chunk becomes an object. Smaller chunks are accepted.
const CHUNK_MIN: &str = "1048576";
/// The total of all unclaimed organizations is a sum over all their images, so it is not checked for every chunk: only when the
/// upload has grown by this number of bytes, and at its end.
const TOTAL_STEP: u64 = 1 << 20;
/// Maximum number of requests per upload.
const PARTS_MAX: u32 = 10_000;

/// Progress of an upload, for the headers of a response.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    name: String,
    upload: Uuid,
    size: u64,
}

impl Progress {
    /// Sets the headers with the location and the range of the received bytes.
    pub(super) fn set_headers(&self, headers: &mut HeaderMap) {
        let Self { name, upload, size } = self;
        insert(headers, header::LOCATION, &format!("/v2/{name}/blobs/uploads/{upload}"));
        // The end is the position of the last received byte; clients expect `0-0` for an empty upload too.
        insert(headers, header::RANGE, &format!("0-{}", size.saturating_sub(1)));
        insert(headers, DOCKER_UPLOAD_UUID, &upload.to_string());
    }

    fn answer(&self, status: StatusCode) -> Response {
        let mut response = status.into_response();
        self.set_headers(response.headers_mut());
        response
    }
}

/// Starts an upload, or creates a blob directly: mounted from another repository, or from the body of the request.
pub(super) async fn begin(app: &App, parts: &Parts, name: Name, body: Body) -> Result<Response> {
    let mounted = query(parts, "mount").map(|digest| parse_digest(&digest)).transpose()?;
    let whole = query(parts, "digest").map(|digest| parse_digest(&digest)).transpose()?;
    let from = query(parts, "from").map(|name| name.parse::<Name>()).transpose()?;
    let opened = access::push(app, parts, name).await?;
    if let Some(digest) = mounted
        && mount(app, &opened, &digest, from).await?
    {
        return Ok(created(&opened, &digest));
    }
    if let Some(digest) = whole {
        return store_whole(app, parts, opened, body, &digest).await;
    }
    let (fresh, cloned, storage) = (app.fresh(), opened.clone(), quota::storage_limits(app, &opened));
    let upload = app
        .db
        .write(move |tx| {
            let repository = repository::ensure(tx, cloned.project, cloned.name.path(), fresh.now)?;
            let upload = upload::create(tx, &fresh, repository)?;
            quota::check_storage(tx, cloned.organization, storage)?;
            Ok::<_, Error>(upload)
        })
        .await?;
    let progress = Progress { name: opened.name.as_str().to_owned(), upload, size: 0 };
    let mut response = progress.answer(StatusCode::ACCEPTED);
    response.headers_mut().insert(OCI_CHUNK_MIN_LENGTH, HeaderValue::from_static(CHUNK_MIN));
    Ok(response)
}

/// Uploads a whole blob with a single PUT, as clients of the reference implementation do.
pub(super) async fn put(app: &App, parts: &Parts, name: Name, body: Body) -> Result<Response> {
    let digest = wanted_digest(parts)?;
    let opened = access::push(app, parts, name).await?;
    store_whole(app, parts, opened, body, &digest).await
}

async fn store_whole(
    app: &App,
    parts: &Parts,
    opened: Repository,
    body: Body,
    digest: &Digest,
) -> Result<Response> {
    quota::check_traffic(app, &opened).await?;
    let received = receive(app, parts, body, digest.algorithm(), 0, None).await?;
    quota::count_traffic(app, &opened, received.size).await?;
    store(app, opened, received, digest, None).await
}

/// Returns the digest in the query.
fn wanted_digest(parts: &Parts) -> Result<Digest> {
    let digest = query(parts, "digest").ok_or_else(|| {
        Error::DigestInvalid("The digest of the blob is missing; add ?digest=sha256:….".into())
    })?;
    parse_digest(&digest)
}

/// Mounts a blob of another repository, if it exists and the caller may read it.
async fn mount(app: &App, opened: &Repository, digest: &Digest, from: Option<Name>) -> Result<bool> {
    let storage = quota::storage_limits(app, opened);
    let (now, opened, digest) = (app.clock.now(), opened.clone(), digest.clone());
    let write = move |tx: &mut Tx<'_>| {
        let source = match &from {
            None => Some(blob::MountSource::Anywhere(opened.project)),
            Some(from) => match opened.holder.source(tx, from)? {
                Some(project) => {
                    repository::find(tx, project, from.path())?.map(blob::MountSource::Repository)
                }
                None => None,
            },
        };
        let Some(source) = source else { return Ok(false) };
        let repository = repository::ensure(tx, opened.project, opened.name.path(), now)?;
        let mounted = blob::mount(tx, repository, digest.as_str(), source, now)?;
        if mounted {
            quota::check_storage(tx, opened.organization, storage)?;
        }
        Ok::<_, Error>(mounted)
    };
    app.db.write(write).await
}

/// Returns the progress of an upload.
pub(super) async fn status(app: &App, parts: &Parts, name: Name, upload: Option<Uuid>) -> Result<Response> {
    let (_, session) = open(app, parts, name, upload).await?;
    Ok(session.progress.answer(StatusCode::NO_CONTENT))
}

/// Appends a chunk to an upload.
pub(super) async fn append(
    app: &App,
    parts: &Parts,
    name: Name,
    upload: Option<Uuid>,
    body: Body,
) -> Result<Response> {
    let (opened, mut session) = open(app, parts, name, upload).await?;
    let announced = session.announced_length(&parts.headers)?;
    quota::check_traffic(app, &opened).await?;
    let received = session.receive(app, parts, body, Algorithm::Sha256, announced).await?;
    quota::count_traffic(app, &opened, received.size).await?;
    session.add(app, &opened, received).await?;
    Ok(session.progress.answer(StatusCode::ACCEPTED))
}

/// Appends the last chunk, if any, and turns the upload into a blob.
pub(super) async fn finish(
    app: &App,
    parts: &Parts,
    name: Name,
    upload: Option<Uuid>,
    body: Body,
) -> Result<Response> {
    let digest = wanted_digest(parts)?;
    let (opened, mut session) = open(app, parts, name, upload).await?;
    let announced = session.announced_length(&parts.headers)?;
    quota::check_traffic(app, &opened).await?;
    if session.found.parts == 0 {
        let received = session.receive(app, parts, body, digest.algorithm(), announced).await?;
        quota::count_traffic(app, &opened, received.size).await?;
        return store(app, opened, received, &digest, Some(session)).await;
    }
    if announced.is_some() || !body.is_end_stream() {
        let received = session.receive(app, parts, body, Algorithm::Sha256, announced).await?;
        quota::count_traffic(app, &opened, received.size).await?;
        session.add(app, &opened, received).await?;
    }
    let id = session.found.id;
    let parts = app.db.read(move |tx| upload::parts(tx, id)).await.map_err(Error::from)?;
    session.objects = parts.iter().map(|part| part.object).collect();
    let whole = match parts.as_slice() {
        [only] if digest.algorithm() == Algorithm::Sha256 => Received {
            object: only.object,
            size: only.size,
            digest: only.digest.parse().map_err(|_| Error::UploadUnknown)?,
        },
        _ => assemble(app, &session, &parts, digest.algorithm()).await?,
    };
    store(app, opened, whole, &digest, Some(session)).await
}

/// Cancels an upload.
pub(super) async fn cancel(app: &App, parts: &Parts, name: Name, upload: Option<Uuid>) -> Result<Response> {
    let (_, session) = open(app, parts, name, upload).await?;
    let found = session.found;
    let write = move |tx: &mut Tx<'_>| {
        let parts = upload::parts(tx, found.id)?;
        if upload::end(tx, &found)? { Ok(parts) } else { Err(Error::UploadUnknown) }
    };
    let parts = app.db.write(write).await?;
    discard(app, parts.into_iter().map(|part| part.object)).await;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// An upload that a request continues.
struct Session {
    found: upload::UploadRow,
    progress: Progress,
    /// The known objects of the upload.
    objects: Vec<Uuid>,
}

/// Finds an upload of a repository that the caller may push to.
async fn open(app: &App, parts: &Parts, name: Name, upload: Option<Uuid>) -> Result<(Repository, Session)> {
    let opened = access::push_to_existing(app, parts, name).await?;
    let upload = upload.ok_or(Error::UploadUnknown)?;
    let (project, path) = (opened.project, opened.name.path().to_owned());
    let read = move |tx: &mut Tx<'_>| {
        let repository = repository::find(tx, project, &path)?.ok_or(Error::UploadUnknown)?;
        upload::find(tx, repository, upload)?.ok_or(Error::UploadUnknown)
    };
    let found = app.db.read(read).await?;
    let progress = Progress { name: opened.name.as_str().to_owned(), upload, size: found.size };
    Ok((opened, Session { found, progress, objects: Vec::new() }))
}

impl Session {
    /// Returns the length of the chunk in the header, if given. The chunk must continue the received bytes.
    fn announced_length(&self, headers: &HeaderMap) -> Result<Option<u64>> {
        let Some(value) = headers.get(header::CONTENT_RANGE) else { return Ok(None) };
        let range = value.to_str().ok().and_then(parse_content_range);
        match range {
            Some((first, length)) if first == self.found.size => Ok(Some(length)),
            _ => Err(Error::OutOfOrder(self.progress.clone())),
        }
    }

    /// Reads the body of a request, which must have the announced length.
    async fn receive(
        &self,
        app: &App,
        parts: &Parts,
        body: Body,
        algorithm: Algorithm,
        announced: Option<u64>,
    ) -> Result<Received> {
        if self.found.parts >= PARTS_MAX {
            return Err(Error::UploadInvalid(
                "The upload has too many chunks; start a new upload with larger chunks.".into(),
            ));
        }
        let received = receive(app, parts, body, algorithm, self.found.size, Some(self.found.id)).await?;
        if announced.is_some_and(|announced| announced != received.size) {
            app.blobs.discard(received.object).await;
            return Err(Error::OutOfOrder(self.progress.clone()));
        }
        Ok(received)
    }

    /// Adds the received object to the upload, unless another request has continued the upload in the meantime.
    async fn add(&mut self, app: &App, opened: &Repository, received: Received) -> Result<()> {
        let Received { object, size, digest } = received;
        if size == 0 {
            app.blobs.discard(object).await;
            return Ok(());
        }
        let (found, now) = (self.found, app.clock.now());
        let part = upload::UploadPart { object, size, digest: digest.to_string() };
        let (organization, mut storage) = (opened.organization, quota::storage_limits(app, opened));
        if found.size / TOTAL_STEP == (found.size + size) / TOTAL_STEP {
            storage = storage.without_total();
        }
        let append = move |tx: &mut Tx<'_>| {
            let appended = upload::append(tx, &found, &part, now)?;
            if appended {
                quota::check_storage(tx, organization, storage)?;
            }
            Ok::<_, Error>(appended)
        };
        let appended = app.db.write(append).await;
        if !matches!(appended, Ok(true)) {
            app.blobs.discard(object).await;
        }
        if !appended? {
            return Err(Error::OutOfOrder(self.progress.clone()));
        }
        self.found.size += size;
        self.found.parts += 1;
        self.progress.size = self.found.size;
        Ok(())
    }
}

/// An object that no row refers to yet.
struct Received {
    object: Uuid,
    size: u64,
    digest: Digest,
}

/// Streams the body of a request to a new object. `before` is the number of bytes of the blob that were already received.
async fn receive(
    app: &App,
    parts: &Parts,
    body: Body,
    algorithm: Algorithm,
    before: u64,
    upload: Option<UploadId>,
) -> Result<Received> {
    let most = app.config.plus.registry.max_body_size;
    let too_large = || {
        Error::TooLarge(format!(
            "A blob has at most {most} bytes on this server; the operator can raise plus.registry.max_body_size."
        ))
    };
    let room = most.saturating_sub(before);
    if body.size_hint().lower() > room {
        return Err(too_large());
    }
    let _permit = quota::permit_upload(app, parts, &body)?;
    let object = app.fresh().uuid();
    let mut writer = app.blobs.write(object);
    let mut hasher = Hasher::new(algorithm);
    let mut size = 0;
    let mut heartbeat = Heartbeat::new(app, upload);
    let mut bytes = body.into_data_stream();
    let mut rate = MinimumRate::default();
    while let Some(chunk) = rate.next_chunk(&mut bytes).await? {
        let chunk = chunk.map_err(|_| incomplete_body())?;
        size += chunk.len() as u64;
        if size > room {
            return Err(too_large());
        }
        hasher.update(&chunk);
        writer.write(chunk).await?;
        heartbeat.touch().await?;
    }
    writer.finish().await?;
    Ok(Received { object, size, digest: hasher.finish() })
}

fn incomplete_body() -> Error {
    Error::UploadInvalid("The body is incomplete; send it again.".into())
}

/// Concatenates the objects of an upload.
async fn assemble(
    app: &App,
    session: &Session,
    parts: &[upload::UploadPart],
    algorithm: Algorithm,
) -> Result<Received> {
    let object = app.fresh().uuid();
    let mut writer = app.blobs.write(object);
    let mut hasher = Hasher::new(algorithm);
    let mut heartbeat = Heartbeat::new(app, Some(session.found.id));
    for part in parts {
        let mut bytes = app.blobs.read(part.object, 0..part.size).await?;
        while let Some(chunk) = bytes.next().await {
            let chunk = chunk?;
            hasher.update(&chunk);
            writer.write(chunk).await?;
            heartbeat.touch().await?;
        }
    }
    writer.finish().await?;
    Ok(Received { object, size: session.found.size, digest: hasher.finish() })
}

/// Marks an upload as active from time to time, so that a slow upload does not expire.
struct Heartbeat<'a> {
    app: &'a App,
    upload: Option<UploadId>,
    last: tidemark_api::Timestamp,
}

impl<'a> Heartbeat<'a> {
    fn new(app: &'a App, upload: Option<UploadId>) -> Self {
        Self { app, upload, last: app.clock.now() }
    }

    async fn touch(&mut self) -> Result<()> {
        let Some(upload) = self.upload else { return Ok(()) };
        let now = self.app.clock.now();
        if now >= self.last.plus_seconds(self.app.config.plus.registry.timeout_seconds() / 4) {
            self.last = now;
            self.app.db.write(move |tx| upload::touch(tx, upload, now)).await.map_err(Error::from)?;
        }
        Ok(())
    }
}

/// Turns an object into the blob with this digest, if the digest matches, and ends its upload.
async fn store(
    app: &App,
    opened: Repository,
    received: Received,
    wanted: &Digest,
    session: Option<Session>,
) -> Result<Response> {
    let Received { object, size, digest } = received;
    let (found, mut objects) = match session {
        Some(session) => (Some(session.found), session.objects),
        None => (None, Vec::new()),
    };
    if digest != *wanted {
        // The received bytes are wrong, and further bytes cannot correct them.
        let ended = match found {
            Some(found) => app.db.write(move |tx| upload::end(tx, &found)).await.map_err(Error::from)?,
            None => true,
        };
        let own = !objects.contains(&object);
        if !ended {
            objects.clear();
        }
        discard(app, objects.into_iter().chain(own.then_some(object))).await;
        return Err(Error::DigestInvalid(format!(
            "The digest of the received data is {digest}, which differs from the requested digest; send the \
             data again."
        )));
    }
    let (fresh, cloned) = (app.fresh(), opened.clone());
    let storage = quota::storage_limits(app, &cloned);
    let text = digest.to_string();
    let kept = app
        .db
        .write(move |tx| commit(tx, &fresh, &cloned, object, (&text, size), found.as_ref(), storage))
        .await;
    match kept {
        Ok(kept) => {
            // Discard the parts, and the object if another request has stored the same blob before.
            objects.retain(|part| *part != object);
            objects.extend((kept != object).then_some(object));
            discard(app, objects.into_iter()).await;
            Ok(created(&opened, &digest))
        }
        Err(error) => {
            // The parts still belong to the upload. After an error of the database it is unknown whether a blob refers to the
            // object; if not, the search for unused objects deletes it later.
            if !objects.contains(&object) && !matches!(error, Error::Other(_)) {
                app.blobs.discard(object).await;
            }
            Err(error)
        }
    }
}

/// Returns the object that the blob refers to after the commit.
fn commit(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    opened: &Repository,
    object: Uuid,
    (digest, size): (&str, u64),
    upload: Option<&upload::UploadRow>,
    storage: quota::StorageLimits,
) -> Result<Uuid> {
    let repository = repository::ensure(tx, opened.project, opened.name.path(), fresh.now)?;
    if let Some(upload) = upload
        && !upload::end(tx, upload)?
    {
        return Err(Error::UploadUnknown);
    }
    let (blob, kept) = blob::store(tx, fresh, object, digest, size)?;
    blob::link(tx, repository, blob, fresh.now)?;
    quota::check_storage(tx, opened.organization, storage)?;
    Ok(kept)
}

async fn discard(app: &App, objects: impl Iterator<Item = Uuid>) {
    for object in objects {
        app.blobs.discard(object).await;
    }
}

/// Returns the response for a stored blob.
fn created(opened: &Repository, digest: &Digest) -> Response {
    let mut response = StatusCode::CREATED.into_response();
    let headers = response.headers_mut();
    insert(headers, header::LOCATION, &format!("/v2/{}/blobs/{digest}", opened.name.as_str()));
    insert(headers, DOCKER_CONTENT_DIGEST, digest.as_str());
    response
}
