//! Adapter for the JSON of iperf3, as one document or a line per event. The direction and the number of streams are parameters.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use tidemark_api::Adapter;

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document, ndjson,
    text::Unit, variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Iperf3,
    title: "iperf3",
    metrics: "bandwidth at the receiver; for TCP the retransmits; for UDP the jitter and the packet loss; the direction and the number of streams are parameters; the title (`--title`) or the protocol is the name of the benchmark",
    parameters: "`direction`; `streams`",
    averages: &[],
    formats: &[
        Format::new(
            Syntax::Ndjson,
            "iperf3 -c HOST --json-stream",
            &[r#""event""#, r#""data""#, r#""iperf 3"#],
            parse_stream,
        ),
        Format::new(
            Syntax::Json,
            "iperf3 -c HOST --json",
            &[r#""start""#, r#""end""#, r#""intervals""#, r#""iperf 3"#],
            parse,
        ),
    ],
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    start: ShapeStart,
    intervals: IgnoredAny,
    end: IgnoredAny,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "its presence identifies the tool")]
struct ShapeStart {
    version: IgnoredAny,
}

#[derive(Deserialize)]
struct Document {
    title: Option<String>,
    error: Option<String>,
    start: Start,
    end: End,
}

#[derive(Deserialize)]
struct Start {
    version: String,
    test_start: Option<Test>,
}

#[derive(Deserialize)]
struct Test {
    protocol: String,
    num_streams: u64,
    /// Whether the server sends.
    #[serde(default)]
    reverse: u8,
}

#[derive(Default, Deserialize)]
struct End {
    /// Only for UDP.
    sum: Option<Sum>,
    sum_sent: Option<Sum>,
    sum_received: Option<Sum>,
    sum_bidir_reverse: Option<Sum>,
    sum_sent_bidir_reverse: Option<Sum>,
    sum_received_bidir_reverse: Option<Sum>,
}

#[derive(Clone, Copy, Deserialize)]
struct Sum {
    bits_per_second: f64,
    retransmits: Option<f64>,
    jitter_ms: Option<f64>,
    lost_percent: Option<f64>,
}

/// Sums of one direction.
struct Direction {
    name: &'static str,
    both: Option<Sum>,
    sent: Option<Sum>,
    received: Option<Sum>,
}

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    entries(document::read::<Shape, _>(input.text)?)
}

/// A line of `--json-stream`.
#[derive(Deserialize)]
struct Event {
    event: String,
    data: Value,
}

/// Parses the events of `--json-stream`, of which the first and the last one contain the test and its sums.
fn parse_stream(input: &Input<'_>) -> Result<Entries, Failure> {
    let (mut start, mut end, mut error) = (None, None, None);
    ndjson::read(input, |line, Event { event, data }| {
        let invalid = |_| line.invalid("an event of iperf 3 with all of its members");
        match event.as_str() {
            "start" => start = Some(serde_json::from_value(data).map_err(invalid)?),
            "end" => end = Some(serde_json::from_value(data).map_err(invalid)?),
            "error" => error = data.as_str().map(str::to_owned),
            _ => {}
        }
        Ok(())
    })?;
    let missing = |event: &str| Failure::unrecognized(format!("a line with `\"event\":\"{event}\"`"));
    let start = start.ok_or_else(|| missing("start"))?;
    let end = match (end, &error) {
        (Some(end), _) => end,
        (None, Some(_)) => End::default(),
        (None, None) => return Err(missing("end")),
    };
    entries(Document { title: None, error, start, end })
}

fn entries(document: Document) -> Result<Entries, Failure> {
    let Document { title, error, start, end } = document;
    if !start.version.starts_with("iperf 3") {
        return Err(Failure::unrecognized("a document of iperf 3"));
    }
    if let Some(error) = error {
        return Err(Failure::invalid(Position::Path("error".to_owned()), "a test without errors", &error));
    }
    let test = start
        .test_start
        .ok_or_else(|| Failure::missing(Position::Path("start".to_owned()), "the member `test_start`"))?;
    let name = title.unwrap_or_else(|| format!("iperf3 {}", test.protocol));
    // Both directions at once share the network, so they are no variants of one direction.
    let is_both = end.sum_received_bidir_reverse.or(end.sum_bidir_reverse).is_some();
    let (first, second) = match (is_both, test.reverse) {
        (true, _) => ("bidirectional send", "bidirectional receive"),
        (false, 0) => ("send", "receive"),
        (false, _) => ("receive", "send"),
    };
    let directions = [
        Direction { name: first, both: end.sum, sent: end.sum_sent, received: end.sum_received },
        Direction {
            name: second,
            both: end.sum_bidir_reverse,
            sent: end.sum_sent_bidir_reverse,
            received: end.sum_received_bidir_reverse,
        },
    ];
    let position = || Position::Path("end".to_owned());
    let mut entries = Entries::default();
    for direction in directions {
        let Some(metrics) = direction.metrics(&test.protocol) else { continue };
        let parameters =
            [("direction", direction.name.to_owned()), ("streams", test.num_streams.to_string())];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value)).into();
        let parameters = variant::of_texts(position, parameters)?;
        entries.push(Entry { parameters, ..Entry::new(position, &name, metrics)? });
    }
    document::require_entries(entries, "end")
}

impl Direction {
    /// Returns the metrics, or `None` if nothing was measured in this direction.
    fn metrics(&self, protocol: &str) -> Option<Vec<ParsedMetric>> {
        let received = self.received.or(self.both)?;
        let mut metrics = vec![ParsedMetric::of("bandwidth", received.bits_per_second / 8.0)];
        if protocol == "UDP" {
            // Only the receiver knows them; the sum contains them too.
            let receiver = self.both.unwrap_or(received);
            let jitter = receiver.jitter_ms.map(|jitter| Unit::Milliseconds.nanoseconds(jitter));
            metrics.extend(jitter.map(|jitter| ParsedMetric::of("jitter", jitter)));
            metrics.extend(receiver.lost_percent.map(|loss| ParsedMetric::of("packet-loss", loss)));
        } else {
            let retransmits = self.sent.and_then(|sent| sent.retransmits);
            metrics.extend(retransmits.map(|count| ParsedMetric::of("retransmits", count)));
        }
        Some(metrics)
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Iperf3, Magic};

    use crate::tests::read;

    const TCP: &str = include_str!("../fixtures/iperf3/tcp.json");

    #[test]
    fn a_stream_has_the_same_sums_as_the_document() {
        let stream = include_str!("../fixtures/iperf3/stream.ndjson");
        assert_eq!(read(Magic, stream), read(Iperf3, include_str!("../fixtures/iperf3/tcp.json")));
        let start = stream.lines().next().unwrap();
        let errors = [
            start.to_owned(),
            format!("{start}\n{{\"event\":\"error\",\"data\":\"unable to connect\"}}\n"),
            format!("{start}\n{{\"event\":\"end\",\"data\":[]}}\n"),
        ];
        insta::assert_snapshot!(errors.map(|text| read(Iperf3, &text)).join("\n"), @r#"
        The adapter `iperf3` cannot read the output: expected the member `start`.
        The adapter `iperf3` cannot read the output at `error`: expected a test without errors, found `unable to connect`.
        The adapter `iperf3` cannot read the output at line 2: expected an event of iperf 3 with all of its members, found `{"event":"end","data":[]}`.
        "#);
    }

    #[test]
    fn real_runs() {
        insta::assert_snapshot!(read(Iperf3, TCP), @"
        iperf3 TCP {direction=send, streams=1} bandwidth 4654135168.606772
        iperf3 TCP {direction=send, streams=1} retransmits 1
        ");
        let reverse = include_str!("../fixtures/iperf3/reverse.json");
        insta::assert_snapshot!(read(Iperf3, reverse), @"
        iperf3 TCP {direction=receive, streams=2} bandwidth 5535630389.807
        iperf3 TCP {direction=receive, streams=2} retransmits 0
        ");
        let udp = include_str!("../fixtures/iperf3/udp.json");
        insta::assert_snapshot!(read(Iperf3, udp), @"
        iperf3 UDP {direction=send, streams=1} bandwidth 1277650.4744880209
        iperf3 UDP {direction=send, streams=1} jitter 271954.2855371635
        iperf3 UDP {direction=send, streams=1} packet-loss 0
        ");
        let bidir = include_str!("../fixtures/iperf3/bidir.json");
        insta::assert_snapshot!(read(Iperf3, bidir), @"
        iperf3 TCP {direction=bidirectional send, streams=1} bandwidth 802503750.17807
        iperf3 TCP {direction=bidirectional send, streams=1} retransmits 3
        iperf3 TCP {direction=bidirectional receive, streams=1} bandwidth 688643797.3379662
        iperf3 TCP {direction=bidirectional receive, streams=1} retransmits 16
        ");
        for text in [TCP, reverse, udp, bidir] {
            assert_eq!(read(Magic, text), read(Iperf3, text));
        }
        let titled = TCP.replacen('{', r#"{"title": "loopback","#, 1);
        assert!(read(Iperf3, &titled).starts_with("loopback {direction=send, streams=1} bandwidth "));
    }

    #[test]
    fn errors_have_the_path() {
        let errors = [
            include_str!("../fixtures/iperf3/refused.json").to_owned(),
            TCP.replace("test_start", "test"),
            TCP.replace(r#""sum_received""#, r#""sum_other""#),
            TCP.replace("iperf 3", "netperf 2"),
            "{}".to_owned(),
        ]
        .map(|text| read(Iperf3, &text));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `iperf3` cannot read the output at `error`: expected a test without errors, found `unable to connect to server: Connection refused`.
        The adapter `iperf3` cannot read the output at `start`: expected the member `test_start`.
        The adapter `iperf3` cannot read the output at `end`: expected at least one benchmark.
        The adapter `iperf3` cannot read the output: expected a document of iperf 3.
        The adapter `iperf3` cannot read the output: expected the member `start`.
        ");
    }
}
