// Made by gc. It reports to the agent's city what the agent does, and asks it before each
// tool. Outside a city it does nothing.
import * as http from "node:http";
import { createHash, randomBytes } from "node:crypto";

const env = process.env;
const socket = env.GC_WORKER_SOCKET, base = env.GC_WORKER_URL, token = env.GC_WORKER_TOKEN, run = env.GC_RUN_ID;
const inCity = token && run && (socket || base);
const typed = env.GC_CHANNEL === "typed"; // the city's configuration wants prompts to be typed
const decideWithin = 65_000, tellWithin = 3_000, holdWithin = 1_000, claimWithin = 1_500, again = 1_000, headStart = 500;
const silentWithin = 45_000, beginWithin = 15_000, enteredWithin = 3_000, soon = 50, patient = 30_000;
const maxAnswer = 1 << 20, maxUntold = 5_000, maxTries = 60, maxMessage = 16 << 20, maxWords = 1_000;

// post sends one report and resolves to the answer; it rejects upon everything else. Its error
// says whether the city refuses it for good, and whether there is no city.
function post(path, body, within) {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify({ run_id: run, ...body });
    const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text), Authorization: "Bearer " + token };
    const fail = (error) => {
      clearTimeout(timer);
      reject(error);
    };
    let answered = false;
    const request = http.request({ ...target(path), method: "POST", headers, agent: false }, (response) => {
      answered = true;
      let answer = "";
      response.setEncoding("utf8");
      response.on("data", (piece) => {
        answer += piece;
        if (answer.length > maxAnswer) giveUp("the city says too much");
      });
      response.on("error", fail);
      response.on("aborted", () => fail(new Error("the city broke off")));
      response.on("end", () => {
        clearTimeout(timer);
        const code = response.statusCode ?? 0;
        if (code < 200 || code > 299) {
          const refused = code >= 400 && code < 500 && code !== 408 && code !== 429;
          return reject(Object.assign(new Error("the city answers " + code + " " + answer.slice(0, 200)), { refused }));
        }
        try {
          resolve(answer === "" ? {} : JSON.parse(answer));
        } catch (error) {
          reject(error);
        }
      });
    });
    const giveUp = (why) => {
      fail(new Error(why)); // not every runtime reports it by an event
      request.destroy();
    };
    const timer = setTimeout(giveUp, within, "the city gave no answer in time");
    request.on("error", (error) => fail(Object.assign(error, { absent: !answered }))); // their codes differ
    request.end(text);
  });
}

// target is how to reach the city.
function target(path) {
  const url = base ? new URL(base) : undefined;
  return socket ? { socketPath: socket, path } : { host: url.hostname, port: url.port, path };
}

const pause = (within) => new Promise((resolve) => setTimeout(resolve, within).unref?.());

// attempt sends one report and returns its outcome.
async function attempt(report) {
  if (report.over?.()) return "told";
  try {
    await post(report.path, report.body, tellWithin);
  } catch (error) {
    if (!error?.refused) return error?.absent ? "absent" : "failed";
  }
  report.told();
  return "told";
}

function report(path, body, over) {
  const one = { path, body, over, tries: 0 };
  one.done = new Promise((resolve) => (one.told = resolve));
  return one;
}

function put(line, one) {
  if (line.length >= maxUntold) line.splice(1, 1); // the first is on its way
  line.push(one);
}

// States go in order, and nothing else is in their line. Without a city they wait for the next
// one. One that the city has not taken when a later one has come is sent separately: it has its own
// time, and the city never goes back to an earlier one. Who waits for a state waits a moment only.
const states = [];
let telling = false, hurry = () => {};
function tell(path, body) {
  const one = report(path, body);
  put(states, one);
  hurry();
  void tellStates();
  return Promise.race([one.done, pause(holdWithin)]);
}

async function tellStates() {
  if (telling) return;
  telling = true;
  while (states.length > 0) {
    const one = states[0];
    const tried = attempt(one);
    const overtaken = new Promise((resolve) => {
      hurry = () => setTimeout(resolve, headStart, "slow").unref?.();
      if (states.length > 1) hurry();
    });
    const became = await Promise.race([tried, overtaken]);
    if (became === "absent" || (became === "failed" && states.length === 1)) {
      await pause(again);
      continue;
    }
    states.shift();
    if (became === "failed") tellBeside(one);
    if (became === "slow") void tried.then((later) => later === "told" || tellBeside(one));
  }
  telling = false;
}

// All else is sent separately, in order unless the city does not take it, and how far prompts have
// come in a line of its own. Without a city it waits for the next one: what a model took is counted
// also if it was away.
function line() {
  const waiting = [];
  let telling = false;
  const tellAll = async () => {
    if (telling) return;
    telling = true;
    while (waiting.length > 0) {
      const one = waiting[0];
      const became = await attempt(one);
      if (became !== "absent") waiting.shift();
      if (became === "failed" && ++one.tries < maxTries) waiting.push(one);
      if (became !== "told") await pause(again);
    }
    telling = false;
  };
  return { waiting, tell: (one) => (put(waiting, one), void tellAll()) };
}
const beside = line(), steps = line();
const tellBeside = (one) => beside.tell(one);

// rest waits, for a while, until nothing is untold.
function rest() {
  return Promise.race([Promise.all([...beside.waiting, ...steps.waiting].map((one) => one.done)), pause(tellWithin)]);
}

let conversation = "";
function life(event, metadata = {}) {
  return tell("/lifecycle", { event, timestamp: new Date().toISOString(), metadata: { via: "hook", conversation_id: conversation, ...metadata } });
}

function telemetry(event) {
  tellBeside(report("/telemetry", { events: [{ timestamp: new Date().toISOString(), ...event }] }));
}

// prove shows the city that the agent asks before each tool.
function prove() {
  return tell("/authorize", { tool: "gc.canary" });
}

// authorize asks before a tool, and returns why it must not run; empty if it may.
async function authorize(call) {
  let decision;
  try {
    decision = await post("/authorize", { ...call, wait_seconds: decideWithin / 1000 - 5 }, decideWithin);
  } catch (error) {
    return "not authorized, because the city gave no answer: " + (error?.message ?? error);
  }
  if (decision?.allowed === true && (decision.effect === undefined || decision.effect === "allow")) return "";
  const why = typeof decision?.reason === "string" && decision.reason !== "" ? decision.reason : "the city does not allow it";
  return why + (decision?.rule ? " (rule " + decision.rule + ")" : "");
}

// The city's context for its agent at a beginning is claimed before the city learns of the
// beginning, or it would send the context by a prompt. At the end of the next turn the city learns what
// the model was shown of it, and sends the rest by a prompt.
let claimed = [], due = [], latest = "";
const shown = new Set();
async function claim(source) {
  const id = "claim-" + randomBytes(16).toString("hex");
  const body = { id, source, conversation_id: conversation };
  latest = id;
  try {
    const told = await post("/context/claim", body, claimWithin);
    claimed.push(id);
    return (told?.sections ?? []).map((section) => section.content).join("\n\n");
  } catch {
    // The city hears of it later, unless another beginning has come, and that its answer was not
    // shown: a compaction by telemetry, which is one whether it has received the claim or not.
    const acknowledged = report("/ack", { id, state: "consumed", nonces: [] });
    if (source === "compact") {
      claimed.push(id);
      return "";
    }
    const late = report("/context/claim", body, () => latest !== id);
    void late.done.then(() => tellBeside(acknowledged));
    tellBeside(late);
    return "";
  }
}

function show(request) {
  if (claimed.length + due.length === 0) return;
  for (const [, nonce] of JSON.stringify(request).matchAll(/\[(gc-[a-z2-7]{10})\]/g)) shown.add(nonce);
}

// turn says that a prompt was taken: what was claimed before is in it.
function turn() {
  due.push(...claimed.splice(0));
}

function acknowledge() {
  for (const id of due) tellBeside(report("/ack", { id, state: "consumed", nonces: [...shown] }));
  due = [];
  if (claimed.length === 0) shown.clear();
}

function hash(text) {
  const words = (text ?? "").split(/[ \t\n\v\f\r]+/).filter((word) => word !== "").join(" ");
  return words === "" ? "" : createHash("sha256").update(words, "utf8").digest("hex");
}

// What was said of each message, and where the stream was left, by all that ever listens in this
// process: an agent CLI may load its extension again.
const heard = (globalThis[Symbol.for("gascity.stream")] ??= { words: new Map(), last: "" });

// listen has the agent take its prompts from the city's stream: `hand` is called with each once,
// however often it comes, and returns the outcome; if it throws, the agent did not
// get it. `stop`, where there is one, is called in the same way with each interrupt. It ends with
// the program, with the run, or on request; a connection that breaks is made again.
// Nothing waits for it.
function listen(hand, stop) {
  const { words } = heard;
  let over = false, request, wait = again;
  const say = (id, state, detail = "") => {
    words.delete(id);
    words.set(id, { state, detail });
    if (words.size > maxWords) words.delete(words.keys().next().value);
    steps.tell(report("/ack", { id, state, detail }));
  };
  const take = async ({ id, kind, data }) => {
    const said = words.get(id);
    if (said) return said.state === "" || say(id, said.state, said.detail); // it is acted on once
    const act = { prompt: hand, interrupt: stop }[kind];
    if (!act) return say(id, "refused", "the agent's extension does not accept messages of the kind " + kind);
    words.set(id, { state: "" });
    try {
      await act(id, data.content, say);
    } catch (error) {
      say(id, "refused", String(error?.message ?? error));
    }
  };
  const read = (event) => {
    const field = (name) => event.match(new RegExp("^" + name + ": (.*)$", "m"))?.[1] ?? "";
    const kind = field("event"), data = field("data");
    if (kind === "end") over = true;
    if (kind === "" || data === "" || ["end", "gap", "lagged"].includes(kind)) return;
    const message = JSON.parse(data);
    heard.last = String(message.seq);
    void take(message);
  };
  const connect = () =>
    new Promise((resolve) => {
      const headers = { Authorization: "Bearer " + token, Accept: "text/event-stream", ...(heard.last && { "Last-Event-ID": heard.last }) };
      request = http.request({ ...target("/stream?run_id=" + encodeURIComponent(run)), headers, agent: false }, (response) => {
        const code = response.statusCode ?? 0;
        if (code === 410) over = true; // another run has its place
        wait = code >= 400 && code < 500 ? Math.min(2 * wait, patient) : again;
        let text = "", silence;
        const listening = () => {
          clearTimeout(silence);
          silence = setTimeout(() => request.destroy(), silentWithin);
          silence.unref?.();
        };
        listening();
        response.setEncoding("utf8");
        response.on("data", (piece) => {
          listening();
          if (code !== 200) return;
          let from = Math.max(0, text.length - 1);
          text += piece;
          try {
            for (let end; (end = text.indexOf("\n\n", from)) >= 0; from = 0) {
              const event = text.slice(0, end);
              text = text.slice(end + 2);
              read(event);
            }
            if (text.length > maxMessage) throw new Error("the city says too much");
          } catch {
            request.destroy(); // what is not acknowledged comes again
          }
        });
        response.on("error", () => {});
        response.on("close", () => (clearTimeout(silence), resolve()));
      });
      request.on("socket", (s) => s.unref?.());
      request.on("error", resolve);
      request.on("close", resolve);
      request.end();
    });
  const goOn = async () => {
    while (!over) {
      await connect().catch(() => {}); // the city's address is none
      if (!over) await pause(wait);
    }
  };
  void goOn();
  return () => {
    over = true;
    request?.destroy();
  };
}
