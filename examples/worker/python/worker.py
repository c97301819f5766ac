"""A complete worker of the Factory Worker API, with the standard library alone."""
import http.client
import json
import os
import socket

SOCKET, TOKEN, RUN = (os.environ[k] for k in ("GC_WORKER_SOCKET", "GC_WORKER_TOKEN", "GC_RUN_ID"))


def request(method, path, body=None, **header):
    conn = http.client.HTTPConnection("city")
    conn.sock = socket.socket(socket.AF_UNIX)
    conn.sock.connect(SOCKET)
    header |= {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"}
    conn.request(method, path, body and json.dumps({"run_id": RUN, **body}), header)
    answer = conn.getresponse()
    if answer.status >= 300:
        raise SystemExit(f"{method} {path}: {answer.read().decode()}")
    return answer


def post(path, **body):
    text = request("POST", path, body).read()
    return json.loads(text) if text else None


def messages():
    last, seen = {}, set()
    while True:  # a stream that breaks goes on where it was
        kind = ""
        for line in request("GET", "/stream?run_id=" + RUN, **last):
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "event":
                kind = value
            elif name == "data" and kind == "end":
                return
            elif name == "data" and kind not in ("gap", "lagged"):
                message = json.loads(value)
                last = {"Last-Event-ID": str(message["seq"])}
                if message["id"] not in seen:  # one that comes twice is acted on once
                    seen.add(message["id"])
                    yield message


post("/lifecycle", event="started", metadata={"agent": "python"})
post("/lifecycle", event="ready")
for message in messages():
    if message["kind"] != "prompt":
        post("/ack", id=message["id"], state="refused")
        continue
    post("/lifecycle", event="busy", metadata={"prompt_id": message["id"]})
    post("/ack", id=message["id"], state="submitted")
    content = message["data"]["content"]
    if content.startswith("run: "):
        decision = post("/authorize", tool="Bash", input={"command": content[5:]})
        content = f"allowed: {decision['allowed']} {decision.get('reason', '')}"
    print("answer:", content, flush=True)
    post("/lifecycle", event="idle", metadata={"prompt_id": message["id"]})
    post("/ack", id=message["id"], state="consumed")
