"""A complete worker of the Factory Worker API, with the standard library alone."""
import http.client
import json
import os
import socket
import time

SOCKET, TOKEN, RUN = (os.environ[k] for k in ("GC_WORKER_SOCKET", "GC_WORKER_TOKEN", "GC_RUN_ID"))


def request(method, path, body=None, **header):
    """Ask until the city answers: it may be restarted at any time."""
    header |= {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"}
    while True:
        try:
            conn = http.client.HTTPConnection("city")
            conn.sock = socket.socket(socket.AF_UNIX)
            conn.sock.connect(SOCKET)
            conn.request(method, path, body and json.dumps({"run_id": RUN, **body}), header)
            answer = conn.getresponse()
        except (OSError, http.client.HTTPException):
            answer = None
        if answer and answer.status < 300:
            return answer
        if answer and answer.status != 503:  # 410: the run is over
            raise SystemExit(answer.status != 410 and f"{method} {path}: {answer.read().decode()}")
        time.sleep(0.1)


def post(path, **body):
    text = request("POST", path, body).read()
    return json.loads(text) if text else None


acks = {}  # the last word on each message


def ack(message, state):
    acks[message["id"]] = state
    post("/ack", id=message["id"], state=state)


def events(last):
    """The lines of one connection; a stream that breaks just ends."""
    try:
        for line in request("GET", "/stream?run_id=" + RUN, **{"Last-Event-ID": last}):
            yield line.decode().rstrip("\n").partition(": ")
    except (OSError, http.client.HTTPException):
        pass


def messages():
    last = "0"
    while True:
        kind = ""
        for name, _, value in events(last):
            if name == "event":
                kind = value
            elif name == "data" and kind == "end":
                return
            elif name == "data" and kind not in ("gap", "lagged"):
                message = json.loads(value)
                last = str(message["seq"])
                if message["id"] not in acks:
                    yield message
                else:  # one that comes twice is acted on once
                    ack(message, acks[message["id"]])
        time.sleep(0.1)


post("/lifecycle", event="started", metadata={"agent": "python"})
post("/lifecycle", event="ready")
for message in messages():
    if message["kind"] != "prompt":
        ack(message, "refused")
        continue
    post("/lifecycle", event="busy", metadata={"prompt_id": message["id"]})
    ack(message, "submitted")
    content = message["data"]["content"]
    if content.startswith("run: "):
        decision = post("/authorize", tool="Bash", input={"command": content[5:]})
        content = f"allowed: {decision['allowed']} {decision.get('reason', '')}"
    print("answer:", content, flush=True)
    post("/lifecycle", event="idle", metadata={"prompt_id": message["id"]})
    ack(message, "consumed")
