"""Fill a fresh server with something of everything and print the session token of its administrator.

Usage: prepare.py SERVER DATA FOLDER. In the server's data folder are its secret and, without an SMTP server, an outbox
with every message. The identifiers of what was made go into the other folder, in the dictionaries that
schemathesis.toml names.
"""

import base64
import email.policy
import hmac
import json
import pathlib
import re
import sys
import time
import urllib.request

# A JSON Web Token: three parts in base64url.
TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")
# Stops a hang; nothing that makes progress takes this long.
PATIENCE_SECONDS = 600

server, data, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
outbox = data / "outbox"
read: set[pathlib.Path] = set()


def call(path: str, body: dict | None = None, session: str | None = None):
    """POST the body, or GET without one, and return the answer."""
    headers = {"Content-Type": "application/json"}
    if session:
        headers["Authorization"] = f"Bearer {session}"
    content = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(server + path, content, headers)) as answer:
        return json.load(answer)


def token_in(message: pathlib.Path) -> str | None:
    """The token in the text of a message, or None while there is none."""
    with message.open("rb") as file:
        text = email.message_from_binary_file(file, policy=email.policy.default).get_body(("plain", "html"))
    match = text and TOKEN.search(text.get_content())
    return match and match[0]


def next_token() -> str:
    """The token of the next message that has one."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        for message in set(outbox.glob("*.eml")) - read:
            if token := token_in(message):
                read.add(message)
                return token
        time.sleep(0.1)
    sys.exit(f"No message with a token reached {outbox} within {PATIENCE_SECONDS} seconds.")


def sign_up(name: str, **more) -> dict:
    """Make an account, confirm its address and return the user with a session."""
    call("/v0/auth/signup", {"name": name, "email": f"{name.lower()}@example.com", "i_agree": True, **more})
    return call("/v0/auth/confirm", {"token": next_token()})


def deprecated_token(session: str) -> str:
    """An API token, which servers of old signed and this one only takes: a session's claims for another audience."""
    header, claims, _ = session.split(".")
    claims = json.loads(base64.urlsafe_b64decode(claims + "=="))
    del claims["jti"]
    signed = f"{header}.{base64url(json.dumps(claims | {'aud': 'api_key'}).encode())}"
    secret = (data / "secret").read_bytes().strip()
    return f"{signed}.{base64url(hmac.digest(secret, signed.encode(), 'sha256'))}"


def base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def write_dictionary(name: str, *values: str) -> None:
    (folder / f"{name}.dict").write_text("".join(f'"{value}"\n' for value in values))


def prepare_project(organization: str, member: str, session: str) -> None:
    """Make projects, one of them with something of everything."""
    lab, changed, doomed = (
        call(f"/v0/organizations/{organization}/projects", {"name": name}, session)["uuid"]
        for name in ("Lab", "Changed lab", "Doomed lab")
    )
    write_dictionary("projects", lab)
    write_dictionary("changed-projects", changed)
    write_dictionary("doomed-projects", doomed)

    def make(noun: str, body: dict) -> str:
        return call(f"/v0/projects/{lab}/{noun}", body, session)["uuid"]

    branch = make("branches", {"name": "main"})
    testbed = make("testbeds", {"name": "localhost"})
    benchmark = make("benchmarks", {"name": "fib(20)"})
    measure = make("measures", {"name": "Latency", "units": "nanoseconds (ns)"})
    write_dictionary("branches", branch)
    write_dictionary("testbeds", testbed)
    write_dictionary("benchmarks", benchmark)
    write_dictionary("measures", measure)
    threshold = {"branch": branch, "testbed": testbed, "measure": measure, "test": "t_test"}
    write_dictionary("thresholds", make("thresholds", threshold))
    plot = dict.fromkeys(("lower_value", "upper_value", "lower_boundary", "upper_boundary"), False)
    plot |= {"x_axis": "version", "window": 60, "branches": [branch], "testbeds": [testbed]}
    plot |= {"benchmarks": [benchmark], "measures": [measure]}
    write_dictionary("plots", make("plots", plot))
    write_dictionary("project-keys", make("keys", {"name": "Key"}))
    make("members", {"user": member, "role": "viewer"})


def main() -> None:
    # The first account administers the server.
    administrator = sign_up("Administrator")
    session = administrator["token"]
    kept, doomed = (call("/v0/organizations", {"name": name}, session)["uuid"] for name in ("Kept", "Doomed"))
    members = f"/v0/organizations/{kept}/members"
    call(members, {"email": "guest@example.com", "role": "leader"}, session)
    guest = sign_up("Guest", invite=next_token())
    call(members, {"email": "stranger@example.com", "role": "member"}, session)
    next_token()
    invitations = call(f"/v0/organizations/{kept}/invitations", session=session)
    me, other = administrator["user"]["uuid"], guest["user"]["uuid"]
    key = call(f"/v0/users/{me}/keys", {"name": "Key"}, session)

    # Its first use makes the server remember it.
    tokens = call(f"/v0/users/{me}/tokens", session=deprecated_token(session))
    tokens = tokens or call(f"/v0/users/{me}/tokens", session=session)
    write_dictionary("tokens", tokens[0]["uuid"])

    house = call("/v0/organizations", {"name": "House"}, guest["token"])["uuid"]
    invite = {"email": administrator["user"]["email"], "role": "member"}
    call(f"/v0/organizations/{house}/members", invite, guest["token"])
    write_dictionary("invites", next_token())
    call("/v0/auth/login", {"email": guest["user"]["email"]})
    write_dictionary("sign-ins", next_token())

    prepare_project(kept, other, session)
    write_dictionary("users", me, other)
    write_dictionary("others", other)
    write_dictionary("organizations", kept)
    write_dictionary("doomed", doomed)
    write_dictionary("invitations", *(invitation["uuid"] for invitation in invitations))
    write_dictionary("keys", key["uuid"])
    print(session)


main()
