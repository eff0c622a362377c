//! Sends requests for one path on many persistent connections. Each connection has a thread that waits for the
//! response before it sends the next request, and does as little else as possible: on a small machine, it takes CPU
//! time from the server.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

use crate::Result;

/// Durations of all requests, sorted, and the total duration.
pub(crate) struct Load {
    times: Vec<Duration>,
    elapsed: Duration,
}

impl Load {
    pub(crate) fn per_second(&self) -> f64 {
        self.times.len() as f64 / self.elapsed.as_secs_f64()
    }

    /// Returns the time within which this share of all requests was answered.
    pub(crate) fn quantile(&self, part: f64) -> Duration {
        let index = (self.times.len() as f64 * part) as usize;
        self.times.get(index.min(self.times.len().saturating_sub(1))).copied().unwrap_or_default()
    }
}

/// Requests a path until the time is over; every response must have status 200.
pub(crate) fn run(
    address: SocketAddr,
    path: &str,
    token: &str,
    connections: usize,
    warm_up: Duration,
    measured: Duration,
) -> Result<Load> {
    let authorization =
        if token.is_empty() { String::new() } else { format!("authorization: Bearer {token}\r\n") };
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{authorization}\r\n");
    let begin = Instant::now() + warm_up;
    let end = begin + measured;
    let mut times = Vec::new();
    thread::scope(|scope| {
        let request = request.as_bytes();
        let threads: Vec<_> =
            (0..connections).map(|_| scope.spawn(move || ask(address, request, begin, end))).collect();
        for thread in threads {
            times.extend(thread.join().map_err(|_| "a client panicked")??);
        }
        Result::Ok(())
    })?;
    times.sort();
    Ok(Load { times, elapsed: measured })
}

fn ask(address: SocketAddr, request: &[u8], begin: Instant, end: Instant) -> Result<Vec<Duration>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let (mut times, mut buffer) = (Vec::new(), vec![0; 8192]);
    loop {
        let asked = Instant::now();
        if asked >= end {
            return Ok(times);
        }
        stream.write_all(request)?;
        let mut filled = 0;
        while !is_whole(&buffer[..filled])? {
            if filled == buffer.len() {
                buffer.resize(2 * filled, 0);
            }
            let read = stream.read(&mut buffer[filled..])?;
            if read == 0 {
                return Err("the server hung up".into());
            }
            filled += read;
        }
        if asked >= begin {
            times.push(asked.elapsed());
        }
    }
}

/// Whether a response is complete. Returns an error if it is not a 200 with a known length.
fn is_whole(answer: &[u8]) -> Result<bool> {
    let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(false) };
    let head = std::str::from_utf8(&answer[..end])?;
    if !head.starts_with("HTTP/1.1 200 ") {
        return Err(format!("the server answered {}", head.lines().next().unwrap_or_default()).into());
    }
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .and_then(|length| length.parse::<usize>().ok())
        .ok_or("an answer has no length")?;
    Ok(answer.len() >= end + 4 + length)
}
