"""A complete worker of the Factory Worker API, with the standard library alone."""
import http.client
import json
import os
import socket
import time

SOCKET, TOKEN, RUN = (os.environ[k] for k in ("GC_WORKER_SOCKET", "GC_WORKER_TOKEN", "GC_RUN_ID"))


def request(method, path, body=None, **header):
    header |= {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"}
    while True:  # the city's controller may be restarted at any moment
        try:
            conn = http.client.HTTPConnection("city")
            conn.sock = socket.socket(socket.AF_UNIX)
            conn.sock.connect(SOCKET)
            conn.request(method, path, body and json.dumps({"run_id": RUN, **body}), header)
            answer = conn.getresponse()
            if answer.status < 300:
                return answer
            if answer.status != 503:
                raise SystemExit(f"{method} {path}: {answer.read().decode()}")
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.1)


def post(path, **body):
    text = request("POST", path, body).read()  # a repetition is harmless
    return json.loads(text) if text else None


def messages():
    last, done = {}, {}
    while True:  # a stream that breaks goes on where it was
        kind = ""
        try:
            for line in request("GET", "/stream?run_id=" + RUN, **last):
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    kind = value
                elif name == "data" and kind == "end":
                    return
                elif name == "data" and kind not in ("gap", "lagged"):
                    message = json.loads(value)
                    last = {"Last-Event-ID": str(message["seq"])}
                    if message["id"] in done:  # one that comes twice is acted on once
                        post("/ack", id=message["id"], state=done[message["id"]])
                        continue
                    done[message["id"]] = "consumed" if message["kind"] == "prompt" else "refused"
                    yield message
        except (OSError, http.client.HTTPException):
            pass


post("/lifecycle", event="started", metadata={"agent": "python"})
post("/authorize", tool="gc.canary")  # it shows that we ask: without it a city with a guard gives no work
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
    usage = {"input_tokens": len(message["data"]["content"]), "output_tokens": len(content), "model": "echo", "source": "estimate"}
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    post("/telemetry", events=[{"type": "turn_complete", "timestamp": now, "message_id": message["id"], "usage": usage}])
    post("/lifecycle", event="idle", metadata={"prompt_id": message["id"]})
    post("/ack", id=message["id"], state="consumed")
