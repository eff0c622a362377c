"""A mail server that keeps nothing: says its port on stdout, then each mail it accepts as one line of JSON.

Usage: smtp_sink.py MODE REFUSALS [CERTIFICATE KEY]

MODE is plain, starttls or implicit; the two latter ask for a sign-in. The first REFUSALS attempts to name a
recipient are put off with 451. A recipient called "nobody" is refused for good.
"""

import base64
import email.policy
import json
import socket
import ssl
import sys
import threading

MODE, REFUSALS = sys.argv[1], int(sys.argv[2])
LOCK = threading.Lock()
TLS = None
if MODE != "plain":
    TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    TLS.load_cert_chain(sys.argv[3], sys.argv[4])


def say(value):
    with LOCK:
        print(json.dumps(value), flush=True)


def refuse_once_more():
    global REFUSALS
    with LOCK:
        REFUSALS -= 1
        return REFUSALS >= 0


def report(sender, recipients, login, secure, data):
    mail = email.message_from_bytes(data, policy=email.policy.default)
    say({
        "from": sender,
        "to": recipients,
        "login": login,
        "secure": secure,
        "headers": {name.lower(): str(value) for name, value in mail.items()},
        "parts": {part.get_content_type(): part.get_content() for part in mail.iter_parts()},
    })


def serve(connection):
    secure = MODE == "implicit"
    if secure:
        connection = TLS.wrap_socket(connection, server_side=True)
    stream = connection.makefile("rwb")

    def reply(*lines):
        for line in lines:
            stream.write(line.encode() + b"\r\n")
        stream.flush()

    sender, recipients, login = None, [], None
    reply("220 sink ready")
    while line := stream.readline().decode():
        line = line.strip()
        command = line.upper()
        if command.startswith("EHLO"):
            extension = "AUTH PLAIN" if secure else "STARTTLS" if TLS else "8BITMIME"
            reply("250-sink", "250 " + extension)
        elif command == "STARTTLS" and TLS and not secure:
            reply("220 go ahead")
            connection = TLS.wrap_socket(connection, server_side=True)
            stream, secure = connection.makefile("rwb"), True
        elif command.startswith("AUTH PLAIN ") and secure:
            login = base64.b64decode(line.split()[2]).decode().split("\0")[1:]
            reply("235 welcome")
        elif TLS and login is None and command != "QUIT":
            reply("530 sign in first")
        elif command.startswith("MAIL FROM:"):
            sender, recipients = line[10:].split()[0].strip("<>"), []
            reply("250 fine")
        elif command.startswith("RCPT TO:"):
            recipient = line[8:].split()[0].strip("<>")
            if recipient.startswith("nobody@"):
                reply(f"550 <{recipient}> does not live here")
            elif refuse_once_more():
                reply("451 come back later")
            else:
                recipients.append(recipient)
                reply("250 fine")
        elif command == "DATA":
            reply("354 go on")
            lines = list(iter(stream.readline, b".\r\n"))
            data = b"".join(line[1:] if line.startswith(b".") else line for line in lines)
            report(sender, recipients, login, secure, data)
            reply("250 accepted")
        elif command == "QUIT":
            reply("221 bye")
            return
        else:
            reply("250 fine" if command in ("RSET", "NOOP") else "502 no such command")


def serve_quietly(connection):
    try:
        serve(connection)
    except OSError:
        pass  # A client that hangs up, or trusts no such certificate, is part of the test.


listener = socket.create_server(("127.0.0.1", 0))
say(listener.getsockname()[1])
while True:
    threading.Thread(target=serve_quietly, args=(listener.accept()[0],), daemon=True).start()
