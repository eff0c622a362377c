//! Sends the results of a job to the server: in the message about its end, or in a separate upload if they are too
//! large for a message.

use std::{
    fs::File,
    io::{Cursor, ErrorKind, Read},
    path::Path,
    time::Duration,
};

use serde::Deserialize;
use tidemark_api::channel::{FromRunner, OUTPUT_MAX, OUTPUT_PATH};
use tidemark_client::agent;
use tokio::task::spawn_blocking;
use ureq::SendBody;

use super::{
    ChannelSettings, job_end,
    journal::{EndedJob, Journal},
};
use crate::{error, measure};

/// Timeout of an upload.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(600);
/// Timeout of the response to the head of an upload. The server rejects an upload before the body is sent.
const CONTINUE_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size in bytes of results that are sent in a message; larger results are uploaded.
const INLINE_MAX: u64 = 1 << 20;
/// Maximum attempts to upload the output of a job. With the delays between them, they take about 14 minutes.
const UPLOAD_ATTEMPTS_MAX: u32 = 20;
/// Maximum number of bytes read from a response.
const RESPONSE_MAX: u64 = 64 << 10;

/// Why the results of a job were not uploaded.
#[derive(Debug, PartialEq, Eq)]
enum UploadError {
    /// The server rejects the results permanently.
    Rejected(String),
    /// A retry may succeed.
    Failed(String),
}

/// Body of an error response.
#[derive(Deserialize)]
struct ErrorBody {
    message: String,
}

/// Sends the results of an ended job to the server. Returns the message about its end, or the reason for a retry. A
/// job whose results the server rejects ends without them, so that the runner can take the next job.
pub(super) async fn deliver(
    settings: &ChannelSettings,
    journal: &mut Journal,
    ended: EndedJob,
) -> error::Result<Result<FromRunner, String>> {
    let job = job_end::job(&ended.message);
    let reason = match attach(settings, &ended.message, &journal.results(job)).await {
        Ok(message) => return Ok(Ok(message)),
        Err(UploadError::Rejected(reason)) => reason,
        Err(UploadError::Failed(reason)) => {
            let attempts = journal.count_failed_upload(job)?;
            if attempts < UPLOAD_ATTEMPTS_MAX {
                return Ok(Err(reason));
            }
            format!("{reason} The runner gave up after {attempts} attempts.")
        }
    };
    tracing::warn!(%job, reason, "output of the job discarded");
    let message = job_end::without_results(ended.message, &reason);
    journal.end_without_results(message.clone())?;
    Ok(Ok(message))
}

/// Returns the message about the end of a job with its results; uploads large results.
async fn attach(
    settings: &ChannelSettings,
    message: &FromRunner,
    results: &Path,
) -> Result<FromRunner, UploadError> {
    let unreadable = |_| UploadError::Rejected("The runner cannot read the results of the job.".to_owned());
    let file = match File::open(results) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(message.clone()),
        file => file.map_err(unreadable)?,
    };
    let size = file.metadata().map_err(unreadable)?.len();
    let mut message = message.clone();
    if size <= INLINE_MAX {
        let read = measure::parse(&file).map_err(|error| UploadError::Rejected(error.to_string()))?;
        if let Some(results) = job_end::results(&mut message) {
            *results = read;
        }
        return Ok(message);
    }
    upload(settings, &message, file, size).await?;
    if let FromRunner::Completed { uploaded, .. }
    | FromRunner::Failed { uploaded, .. }
    | FromRunner::Canceled { uploaded, .. } = &mut message
    {
        *uploaded = true;
    }
    Ok(message)
}

/// Uploads the results in a file of this size.
async fn upload(
    settings: &ChannelSettings,
    message: &FromRunner,
    file: File,
    size: u64,
) -> Result<(), UploadError> {
    let error = match message {
        FromRunner::Failed { error, .. } => {
            format!(",\"error\":{}", serde_json::Value::from(error.as_str()))
        }
        _ => String::new(),
    };
    let (before, after) = ("{\"results\":[", format!("]{error}}}"));
    let size = before.len() as u64 + size + after.len() as u64;
    if size > OUTPUT_MAX {
        return Err(UploadError::Rejected(format!(
            "The output of the job has {size} bytes; the maximum is {OUTPUT_MAX}. Print less, or run fewer iterations."
        )));
    }
    let base = settings.host.as_ref().trim_end_matches('/').to_owned();
    let address =
        format!("{base}/v0/runners/{}/jobs/{}/{OUTPUT_PATH}", settings.runner, job_end::job(message));
    let key = format!("Bearer {}", settings.key);
    let put = spawn_blocking(move || {
        let body = before.as_bytes().chain(file).chain(Cursor::new(after));
        let request = agent(&base, UPLOAD_TIMEOUT, false).put(address).header("authorization", key);
        let request = request.header("content-type", "application/json").header("content-length", size);
        // A server or a proxy that rejects the body responds before the body is sent. During the body, the connection
        // may break before the response is read.
        let request = request.header("expect", "100-continue");
        let request = request.config().timeout_await_100(Some(CONTINUE_TIMEOUT)).build();
        let answer = request.send(SendBody::from_owned_reader(body))?;
        let status = answer.status().as_u16();
        let mut text = String::new();
        // A response that is not text is ignored.
        drop(answer.into_body().into_reader().take(RESPONSE_MAX).read_to_string(&mut text));
        Ok::<_, ureq::Error>((status, text))
    });
    match put.await {
        // Status 409: the server has the results already because an earlier response was lost.
        Ok(Ok((200..300 | 409, _))) => Ok(()),
        Ok(Ok((status, text))) => {
            let message =
                serde_json::from_str(&text).map_or_else(|_| String::new(), |ErrorBody { message }| message);
            let reason = format!(
                "The server rejected the output of the job, {size} bytes, with status {status}. {message}"
            );
            let reason = reason.trim_end().to_owned();
            let is_final = (400..500).contains(&status) && !matches!(status, 408 | 425 | 429);
            Err(if is_final { UploadError::Rejected(reason) } else { UploadError::Failed(reason) })
        }
        Ok(Err(error)) => {
            Err(UploadError::Failed(format!("The output of the job cannot be uploaded: {error}.")))
        }
        Err(_) => Err(UploadError::Failed("The upload of the output of the job has failed.".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::{BufRead, BufReader, Write},
        net::{TcpListener, TcpStream},
        thread,
    };

    use tidemark_api::{JobUuid, channel::PollTimeout};
    use uuid::Uuid;

    use super::*;
    use crate::measure::OutputLimits;

    /// Returns a journal with one job whose results have this size.
    fn journal(folder: &Path, size: u64) -> Journal {
        let mut journal = Journal::open(folder.to_owned()).unwrap();
        let job = JobUuid::from(Uuid::from_u128(1));
        journal.begin(job).unwrap();
        File::create(journal.results(job)).unwrap().set_len(size).unwrap();
        journal.end(FromRunner::Completed { job, results: Vec::new(), uploaded: false }).unwrap();
        journal
    }

    /// Returns settings for a test server that calls `handle` for each connection after the head of the request. It is a
    /// socket, because these tests respond before the body and break connections.
    fn settings(handle: impl Fn(&str, &mut BufReader<TcpStream>) + Send + 'static) -> ChannelSettings {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.unwrap());
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).unwrap() > 0 {}
                handle(&head, &mut stream);
            }
        });
        ChannelSettings {
            host,
            runner: "box".parse().unwrap(),
            key: "key".to_owned(),
            poll: PollTimeout::try_from(1).unwrap(),
            folder: std::env::temp_dir(),
            bounds: OutputLimits::default(),
            allows_network: false,
            on_version: Box::new(|_| ()),
        }
    }

    fn error(message: &FromRunner) -> &str {
        match message {
            FromRunner::Failed { error, uploaded: false, results, .. } if results.is_empty() => error,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_job_fails_immediately_if_its_output_is_rejected_before_the_body() {
        let settings = settings(|head, stream| {
            assert!(head.contains("expect: 100-continue\r\n"), "{head}");
            assert!(head.contains("content-length: 1048591\r\n"), "{head}");
            let body = r#"{"message":"The maximum is 7."}"#;
            let answer = format!("HTTP/1.1 413 X\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
        });
        let folder = tempfile::tempdir().unwrap();
        let mut journal = journal(folder.path(), INLINE_MAX + 1);
        let ended = journal.first().unwrap().clone();
        let message = deliver(&settings, &mut journal, ended).await.unwrap().unwrap();
        assert_eq!(
            error(&message),
            "The server rejected the output of the job, 1048591 bytes, with status 413. The maximum is 7."
        );
        // Nothing is sent again, even after a restart.
        let journal = Journal::open(folder.path().to_owned()).unwrap();
        assert_eq!(journal.first().unwrap().message, message);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_job_fails_after_the_maximum_number_of_upload_attempts() {
        let settings = settings(|_, stream| {
            stream.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
            stream.read_exact(&mut [0; 1000]).unwrap();
        });
        let folder = tempfile::tempdir().unwrap();
        drop(journal(folder.path(), 64 << 20));
        for _ in 1..UPLOAD_ATTEMPTS_MAX {
            // Attempts of an earlier runner process count.
            let mut journal = Journal::open(folder.path().to_owned()).unwrap();
            let ended = journal.first().unwrap().clone();
            let reason = deliver(&settings, &mut journal, ended).await.unwrap().unwrap_err();
            assert!(reason.starts_with("The output of the job cannot be uploaded: "), "{reason}");
        }
        let mut journal = Journal::open(folder.path().to_owned()).unwrap();
        let ended = journal.first().unwrap().clone();
        let message = deliver(&settings, &mut journal, ended).await.unwrap().unwrap();
        assert!(error(&message).ends_with("The runner gave up after 20 attempts."), "{message:?}");
    }

    #[tokio::test]
    async fn an_output_over_the_maximum_is_not_sent() {
        let settings = settings(|head, _| panic!("{head}"));
        let folder = tempfile::tempdir().unwrap();
        let mut journal = journal(folder.path(), 300 << 20);
        let ended = journal.first().unwrap().clone();
        let message = deliver(&settings, &mut journal, ended).await.unwrap().unwrap();
        assert_eq!(
            error(&message),
            "The output of the job has 314572814 bytes; the maximum is 268435456. Print less, or run fewer iterations."
        );
    }
}
