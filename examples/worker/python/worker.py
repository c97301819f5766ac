"""A complete worker of the Factory Worker API, with the standard library alone."""
import http.client
import json
import os
import socket
import time

SOCKET, TOKEN, RUN = (os.environ[k] for k in ("GC_WORKER_SOCKET", "GC_WORKER_TOKEN", "GC_RUN_ID"))


def request(method, path, body=None, header={}, tries=None, timeout=None):
    header = header | {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"}
    while True:  # the city's controller may be restarted at any moment
        try:
            conn = http.client.HTTPConnection("city")
            conn.sock = socket.socket(socket.AF_UNIX)
            conn.sock.settimeout(timeout)
            conn.sock.connect(SOCKET)
            conn.request(method, path, body and json.dumps({"run_id": RUN, **body}), header)
            answer = conn.getresponse()
            if answer.status < 300:
                return answer
            if answer.status != 503:
                raise SystemExit(f"{method} {path}: {answer.read().decode()}")
            tries = tries and tries - 1
        except (OSError, http.client.HTTPException) as error:
            tries = 0 if tries and isinstance(error, TimeoutError) else tries and tries - 1
        if tries == 0:
            raise ConnectionError("the city does not answer")
        time.sleep(0.1)


def post(path, **body):
    text = request("POST", path, body).read()  # a repetition is harmless
    return json.loads(text) if text else None


def ask(tool, **arguments):  # every error is a no; a city that restarts is waited for, and one that asks a person
    try:
        body = {"tool": tool, "input": arguments, "wait_seconds": 60}
        decision = json.loads(request("POST", "/authorize", body, tries=30, timeout=70).read())
        return decision["allowed"] is True, decision.get("reason", "")
    except (Exception, SystemExit) as error:
        return False, f"not authorized: {error}"


def messages():
    last, done = {}, {}
    while True:  # a stream that breaks goes on where it was
        kind = ""
        try:
            for line in request("GET", "/stream?run_id=" + RUN, header=last):
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
        content = "allowed: {} {}".format(*ask("Bash", command=content[5:]))
    print("answer:", content, flush=True)
    usage = {"input_tokens": len(message["data"]["content"]), "output_tokens": len(content), "model": "echo", "source": "estimate"}
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    post("/telemetry", events=[{"type": "turn_complete", "timestamp": now, "message_id": message["id"], "usage": usage}])
    post("/lifecycle", event="idle", metadata={"prompt_id": message["id"]})
    post("/ack", id=message["id"], state="consumed")
