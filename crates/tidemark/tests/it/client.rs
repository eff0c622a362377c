//! A minimal HTTP client with one connection.

use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::process::{Server, wait_until};

/// A persistent connection, and the credential of every request.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    pub(crate) token: String,
    /// Seconds of the `Retry-After` header of the last response.
    pub(crate) retry_after: Option<u64>,
}

impl Client {
    pub(crate) fn connect(server: &Server) -> Self {
        let stream = server.connect();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream), token: String::new(), retry_after: None }
    }

    /// Uses an open connection, with the credential of a user.
    pub(crate) fn over(stream: TcpStream, token: &str) -> Self {
        Self { stream: BufReader::new(stream), token: token.to_owned(), retry_after: None }
    }

    /// Connects with the credential of a user.
    pub(crate) fn connect_as(server: &Server, token: &str) -> Self {
        let mut client = Self::connect(server);
        token.clone_into(&mut client.token);
        client
    }

    pub(crate) fn get(&mut self, path: &str) -> io::Result<(u16, Value)> {
        self.call("GET", path, "")
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) -> io::Result<(u16, Value)> {
        self.call("POST", path, &body.to_string())
    }

    pub(crate) fn patch(&mut self, path: &str, body: &Value) -> io::Result<(u16, Value)> {
        self.call("PATCH", path, &body.to_string())
    }

    /// Retries a POST while the server is too busy, which means that it has done nothing.
    pub(crate) fn post_with_retries(&mut self, path: &str, body: &Value) -> io::Result<(u16, Value)> {
        loop {
            match self.post(path, body)? {
                (503, _) => thread::sleep(Duration::from_millis(100)),
                answer => return Ok(answer),
            }
        }
    }

    fn call(&mut self, method: &str, path: &str, body: &str) -> io::Result<(u16, Value)> {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n", body.len());
        if !self.token.is_empty() {
            request.push_str(&format!("authorization: Bearer {}\r\n", self.token));
        }
        request.push_str("\r\n");
        request.push_str(body);
        self.stream.get_mut().write_all(request.as_bytes())?;

        let (mut status, mut length, mut in_chunks) = (0, 0, false);
        self.retry_after = None;
        for first in 0.. {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let line = line.trim_end().to_ascii_lowercase();
            if first == 0 {
                status = line.split(' ').nth(1).unwrap().parse().unwrap();
            } else if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().unwrap();
            } else if line == "transfer-encoding: chunked" {
                in_chunks = true;
            } else if let Some(value) = line.strip_prefix("retry-after: ") {
                self.retry_after = Some(value.parse().unwrap());
            } else if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        if in_chunks {
            body = self.chunks()?;
        }
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    }

    /// Reads a chunked body.
    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let mut size = String::new();
            self.stream.read_line(&mut size)?;
            let size =
                usize::from_str_radix(size.trim_end(), 16).map_err(|_| io::ErrorKind::UnexpectedEof)?;
            let start = body.len();
            // A line break ends each chunk.
            body.resize(start + size + 2, 0);
            self.stream.read_exact(&mut body[start..])?;
            body.truncate(start + size);
            if size == 0 {
                return Ok(body);
            }
        }
    }

    /// Signs a user up and in with the mail in the data folder of the server.
    pub(crate) fn sign_up(&mut self, name: &str, data: &Path) {
        let email = format!("{}@example.org", name.to_lowercase());
        let (status, answer) =
            self.post("/v0/auth/signup", &json!({ "name": name, "email": email, "i_agree": true })).unwrap();
        assert_eq!(status, 202, "{answer}");
        let mut token = None;
        wait_until("no mail arrives", || {
            token = mailed_token(data);
            token.is_some()
        });
        let (status, answer) = self.post("/v0/auth/confirm", &json!({ "token": token })).unwrap();
        assert_eq!(status, 200, "{answer}");
        self.token = answer["token"].as_str().unwrap().to_owned();
    }
}

fn mailed_token(data: &Path) -> Option<String> {
    let mut files = fs::read_dir(data.join("outbox")).unwrap().map(|entry| entry.unwrap().path());
    let mail = files.find(|file| file.extension().is_some_and(|kind| kind == "eml"))?;
    let mail = fs::read_to_string(mail).unwrap().replace("=\r\n", "").replace("=3D", "=");
    // The boundary between the parts of the mail is random and may look like the start of a token; the token of a
    // link follows `=`.
    let token = &mail[mail.find("=eyJ").unwrap() + 1..];
    let end = token.find(|character: char| !character.is_ascii_alphanumeric() && !"._-".contains(character));
    Some(token[..end.unwrap()].to_owned())
}
