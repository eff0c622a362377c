"""Use every tool of a live server with the clients that agents are made of, and fail if one is left out.

Usage: converse.py SERVER DATA TIDEMARK NODE INSPECTOR, the last the file that `mcp-inspector --cli` runs. The clients
are the official Python SDK, over HTTP in both lifecycles of the protocol and over `tidemark mcp`, with the server and
with the store on this machine; and the command line of the MCP inspector. In the server's data folder is an outbox with
every message.
"""

import asyncio
import contextlib
import email
import email.policy
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

# A JSON Web Token: three parts in base64url.
TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")
# Stops a hang; nothing that makes progress takes this long.
PATIENCE_SECONDS = 600
NOWHERE = str(uuid.UUID(int=1))

server, data, tidemark, node, inspector = sys.argv[1], pathlib.Path(sys.argv[2]), *sys.argv[3:6]


def rest(path: str, body: dict | None = None, session: str = "") -> dict:
    """POST the body, or GET without one, and return the answer."""
    headers = {"Content-Type": "application/json"}
    if session:
        headers["Authorization"] = f"Bearer {session}"
    content = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(server + path, content, headers)) as answer:
        return json.load(answer)


def sign_up() -> str:
    """Make the account of the administrator and return a session."""
    rest("/v0/auth/signup", {"name": "Ada", "email": "ada@example.com", "i_agree": True})
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        for message in (data / "outbox").glob("*.eml"):
            with message.open("rb") as file:
                text = email.message_from_binary_file(file, policy=email.policy.default).get_body(("plain", "html"))
            if text and (match := TOKEN.search(text.get_content())):
                return rest("/v0/auth/confirm", {"token": match[0]})["token"]
        time.sleep(0.1)
    sys.exit(f"No message with a token reached the outbox within {PATIENCE_SECONDS} seconds.")


class Refused(Exception):
    """A tool failed, as its answer says."""


async def walk(list_tools, use, project: str, session: str) -> None:
    """Use every tool that is listed, each as an agent would."""
    listed = {tool["name"] for tool in await list_tools()}
    used = set()

    async def call(name: str, /, **arguments):
        used.add(name)
        return await use(name, arguments)

    async def refused(status: int, name: str, /, **arguments) -> None:
        try:
            answer = await call(name, **arguments)
        except Refused as reason:
            assert str(reason).startswith(f"{status}: "), reason
        else:
            sys.exit(f"{name} with {arguments} should fail, and answered {answer}")

    def run(value: float, number: int) -> dict:
        results = json.dumps({"parse": {"latency": {"value": value}}})
        return {
            "branch": "main",
            "testbed": "localhost",
            "hash": f"{number:040x}",
            "start_time": "2026-01-01T00:00:00Z",
            "end_time": "2026-01-01T00:01:00Z",
            "results": [results],
            "thresholds": {"models": {"latency": {"test": "percentage", "upper_boundary": 0.2}}},
        }

    named = {"tidemark.dev/v0/repo/name": project}
    for number in range(3):
        await call("submit_run", project=project, context=named, **run(100 + number, number))
    report = await call("create_report", project=project, **run(200, 3))
    assert len(report["alerts"]) == 1, report
    alert = report["alerts"][0]["uuid"]
    result = report["results"][0][0]
    measured = result["measures"][0]
    assert project in {row["slug"] for row in (await call("list_projects", search=project))["data"]}
    assert (await call("view_project", project=project))["slug"] == project
    assert (await call("list_reports", project=project))["total_count"] == 4
    assert (await call("view_report", project=project, report=report["uuid"]))["uuid"] == report["uuid"]
    assert (await call("view_metric", project=project, metric=measured["metric"]["uuid"]))["metric"]["value"] == 200

    for one, many, more in [
        ("branch", "branches", {}),
        ("testbed", "testbeds", {}),
        ("benchmark", "benchmarks", {}),
        ("measure", "measures", {"units": "items"}),
    ]:
        made = await call(f"create_{one}", project=project, name="by-hand", slug="made", **more)
        assert (await call(f"view_{one}", project=project, **{one: "made"}))["uuid"] == made["uuid"]
        changed = await call(f"update_{one}", project=project, **{one: "made", "name": "renamed", "archived": True})
        assert changed["name"] == "renamed" and changed["archived"], changed
        rows = (await call(f"list_{many}", project=project, archived=True))["data"]
        assert [row["slug"] for row in rows] == ["made"], rows
        await refused(404, f"view_{one}", project=project, **{one: "nowhere"})

    made = await call("create_branch", project=project, name="feature")
    places = {"branch": "feature", "testbed": "localhost", "measure": "latency"}
    threshold = await call("create_threshold", project=project, test="t_test", upper_boundary=0.99, **places)
    here = {"project": project, "threshold": threshold["uuid"]}
    assert (await call("view_threshold", **here))["uuid"] == threshold["uuid"]
    assert (await call("update_threshold", test=None, **here))["model"] is None
    assert (await call("list_thresholds", project=project, branch="feature"))["total_count"] == 1

    here = {"project": project, "alert": alert}
    assert (await call("list_alerts", project=project, status="active"))["total_count"] == 1
    assert (await call("view_alert", **here))["uuid"] == alert
    explained = await call("explain_alert", **here)
    assert explained["likely_first_bad"]["hash"] == f"{3:040x}", explained
    assert (await call("dismiss_alert", **here))["status"] == "dismissed"
    assert (await call("update_alert", status="active", **here))["status"] == "active"

    series = {
        "project": project,
        "branches": report["branch"]["uuid"],
        "testbeds": report["testbed"]["uuid"],
        "benchmarks": result["benchmark"]["uuid"],
        "measures": measured["measure"]["uuid"],
    }
    assert len((await call("query_perf", **series))["results"][0]["metrics"]) == 4
    assert (await call("perf_summary", **series))["series"][0]["count"] == 4
    assert (await call("perf_image", **series)) == "image/jpeg"
    sides = {"base": f"version:main@{2:040x}", "new": f"report:{report['uuid']}"}
    assert (await call("compare", project=project, **sides))["comparisons"][0]["benchmark"]["name"] == "parse"

    for number in range(14):
        level = 100 if number < 9 else 150
        trend = run(level + number % 3, number) | {"branch": "trend", "thresholds": None}
        last = await call("create_report", project=project, **trend)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (verdict := await call("view_verdict", project=project, report=last["uuid"]))["settled"]:
        assert time.monotonic() < deadline, verdict
    assert verdict["counts"]["regressions"] + verdict["counts"]["inconclusive"] == 1, verdict
    changes = (await call("list_changes", project=project, branch="trend"))["data"]
    assert [change["at"]["version"]["hash"] for change in changes] == [f"{9:040x}"], changes
    here = {"project": project, "change": changes[0]["uuid"]}
    assert (await call("view_change", **here))["direction"] == "regression"
    assert "data" in await call("list_pulls", project=project)
    assert (await call("list_events", project=project, branch="trend"))["total_count"] == 1
    here = {"project": project, "event": changes[0]["event"]}
    assert (await call("view_event", **here))["status"] == "open"
    assert (await call("update_event", status="expected", note="a slower parser", **here))["status"] == "expected"
    muted = await call("create_mute", project=project, benchmark="pa*", branch="trend", reason="flaky", ttl=60)
    assert (await call("list_mutes", project=project, expired=False))["data"] == [muted]
    assert (await call("view_detection", project=project))["notifies"] == "changes"
    tested = await call("backtest", project=project, branch="trend", sensitivity=1)
    assert (tested["raised"], tested["found"], tested["missed"]) == (1, 1, 0), tested

    if session:
        plot = {
            key: [series[key]] for key in ("branches", "testbeds", "benchmarks", "measures")
        } | {"x_axis": "date_time", "window": 86400, "lower_value": False, "upper_value": False}
        plot |= {"lower_boundary": False, "upper_boundary": True}
        plot = rest(f"/v0/projects/{project}/plots", plot, session)["uuid"]
        assert (await call("view_plot", project=project, plot=plot))["uuid"] == plot
    else:
        await refused(404, "view_plot", project=project, plot=NOWHERE)
    assert (await call("list_plots", project=project))["total_count"] == bool(session)
    assert (await call("list_jobs", project=project))["total_count"] == 0
    # Without a runner there are no jobs to look at.
    await refused(404, "view_job", project=project, job=NOWHERE)
    assert used == listed, f"not used: {sorted(listed - used)}; not listed: {sorted(used - listed)}"


async def with_sdk(what: str, transport, mode: str, project: str, session: str) -> None:
    """Use every tool, resource and prompt with the Python SDK."""
    async with Client(transport, mode=mode) as client:

        async def list_tools():
            return [tool.model_dump() for tool in (await client.list_tools()).tools]

        async def use(name: str, arguments: dict):
            result = await client.call_tool(name, arguments)
            if result.is_error:
                raise Refused(result.content[-1].text)
            if result.structured_content is None:
                return result.content[0].mime_type
            return result.structured_content

        await walk(list_tools, use, project, session)
        uris = [str(one.uri) for one in (await client.list_resources()).resources]
        assert f"tidemark://project/{project}" in uris, uris
        assert len((await client.list_resource_templates()).resource_templates) == 5
        for path in ["", "/alerts", "/reports"]:
            read = await client.read_resource(f"tidemark://project/{project}{path}")
            json.loads(read.contents[0].text)
        for prompt in (await client.list_prompts()).prompts:
            got = await client.get_prompt(prompt.name, {"project": project})
            assert project in got.messages[0].content.text
        print(f"The Python SDK used every tool {what}, in version {client.protocol_version} of the protocol.")


def over_http(session: str):
    """The transport to the server, with the credential in the header."""

    @contextlib.asynccontextmanager
    async def connect():
        async with create_mcp_http_client(headers={"Authorization": f"Bearer {session}"}) as http:
            async with streamable_http_client(f"{server}/mcp", http_client=http) as streams:
                yield streams

    return connect()


def over_stdio(home: str, **environment: str) -> StdioServerParameters:
    """The same through `tidemark mcp`, as a client starts it."""
    environment = {"PATH": os.environ["PATH"], "HOME": home, **environment}
    return StdioServerParameters(command=tidemark, args=["mcp"], env=environment, cwd=home)


async def with_inspector(session: str, home: str) -> None:
    """Use every tool with the command line of the inspector."""
    environment = {"PATH": os.environ["PATH"], "HOME": home}
    command = [node, pathlib.Path(__file__).with_name("inspect.mjs"), inspector]
    log = pathlib.Path(home, "inspector.log")
    with log.open("w") as errors:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors, "text": True}
        process = subprocess.Popen(command, env=environment, cwd=home, **pipes)

    def ask(*arguments: str) -> dict:
        command = [f"{server}/mcp", "--transport", "http", "--format", "json", "--quiet"]
        command += ["--header", f"Authorization: Bearer {session}", *arguments]
        process.stdin.write(json.dumps(command) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        try:
            answer = json.loads(json.loads(line))
        except json.JSONDecodeError:
            sys.exit(f"The inspector failed with {arguments}: {line}{log.read_text()}")
        return answer.get("result", answer)

    async def list_tools():
        return ask("--method", "tools/list", "--strict")["tools"]

    async def use(name: str, arguments: dict):
        result = ask("--method", "tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))
        if result.get("isError"):
            raise Refused(result["content"][-1]["text"])
        return result.get("structuredContent") or result["content"][0]["mimeType"]

    with process:
        await walk(list_tools, use, "inspected", session)
        process.stdin.close()
    print("The inspector used every tool.")


async def main() -> None:
    session = sign_up()
    # The SDK takes a bad credential for what it is.
    try:
        async with Client(over_http("nonsense")) as client:
            await client.call_tool("list_projects", {})
    except* Exception:
        pass
    else:
        sys.exit("A bad credential was taken.")
    await with_sdk("over HTTP", over_http(session), "auto", "newest", session)
    await with_sdk("over HTTP", over_http(session), "legacy", "older", session)
    with tempfile.TemporaryDirectory() as home:
        remote = over_stdio(home, TIDEMARK_HOST=server, TIDEMARK_API_TOKEN=session)
        await with_sdk("over `tidemark mcp`", remote, "auto", "piped", session)
        local = over_stdio(home, TIDEMARK_DATA_DIR=f"{home}/data")
        await with_sdk("over `tidemark mcp` without a server", local, "auto", "local", "")
        await with_inspector(session, home)


asyncio.run(main())
