"""A worker whose context can be filled, and that says that it ends while it goes on."""
import http.client
import json
import os
import socket
import time

SOCKET, TOKEN, RUN = (os.environ[k] for k in ("GC_WORKER_SOCKET", "GC_WORKER_TOKEN", "GC_RUN_ID"))


def request(method, path, body=None):
    while True:  # a repetition is harmless
        try:
            conn = http.client.HTTPConnection("city")
            conn.sock = socket.socket(socket.AF_UNIX)
            conn.sock.connect(SOCKET)
            conn.request(method, path, body and json.dumps({"run_id": RUN, **body}),
                         {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"})
            answer = conn.getresponse()
            if answer.status < 300:
                return answer
            if answer.status != 503:
                raise SystemExit(f"{method} {path}: {answer.read().decode()}")
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.1)


def post(path, **body):
    request("POST", path, body).read()


def messages():
    done = set()
    while True:
        try:
            kind = ""
            for line in request("GET", "/stream?run_id=" + RUN):
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    kind = value
                elif name == "data" and kind == "end":
                    return
                elif name == "data" and kind not in ("gap", "lagged"):
                    message = json.loads(value)
                    if message["id"] not in done:
                        yield message
                    done.add(message["id"])
        except (OSError, http.client.HTTPException):
            pass


def turn(message):
    text = message["data"]["content"]
    post("/lifecycle", event="busy", metadata={"prompt_id": message["id"]})
    if text.startswith("fill"):
        post("/telemetry", events=[{"type": "context_pressure", "message_id": message["id"], "context_usage": 0.95}])
    print("did:", text, flush=True)
    post("/ack", id=message["id"], state="consumed")
    if text.startswith("leave"):
        post("/lifecycle", event="stopped", metadata={"exit_code": int(text.split()[1])})
        time.sleep(1000)  # its place does not see an end
    post("/lifecycle", event="idle", metadata={"prompt_id": message["id"]})


post("/lifecycle", event="started", metadata={"offers": os.environ.get("OFFERS", "compact,context").split(",")})
post("/lifecycle", event="ready")
for message in messages():
    nonces = []
    if message["kind"] == "prompt":
        turn(message)
        continue
    if message["kind"] == "compact":
        print("compacts", flush=True)
        while os.path.exists(os.environ["TOLD"] + ".hold"):
            time.sleep(0.05)
    if message["kind"] == "context":
        data = message["data"]
        for section in data["sections"]:
            nonces.append(section["nonce"])
        text = "\n\n".join(s["content"].removesuffix("\n\n[" + s["nonce"] + "]") for s in data["sections"])
        with open(os.environ["TOLD"], "a") as told:
            told.write(f"== {data['mode']} {data.get('epoch', 0)}\n{text}\n")
    post("/ack", id=message["id"], state="consumed", nonces=nonces)
