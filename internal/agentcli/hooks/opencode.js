// Made by gc. It tells the agent's city what the agent does, and asks it before each
// tool. Outside a city it does nothing.
import * as http from "node:http";
import { createHash, randomBytes } from "node:crypto";

const env = process.env;
const socket = env.GC_WORKER_SOCKET, base = env.GC_WORKER_URL, token = env.GC_WORKER_TOKEN, run = env.GC_RUN_ID;
const decideWithin = 65_000, tellWithin = 3_000, tellAgain = 1_000, claimWithin = 1_500, maxAnswer = 1 << 20, maxUntold = 5_000;

// post sends one report and resolves to the answer; it rejects upon everything else.
function post(path, body, within) {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify({ run_id: run, ...body });
    const url = base ? new URL(base) : undefined;
    const target = socket ? { socketPath: socket, path } : { host: url.hostname, port: url.port, path };
    const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text), Authorization: "Bearer " + token };
    const timer = setTimeout(() => request.destroy(new Error("the city gave no answer in time")), within);
    const fail = (error) => {
      clearTimeout(timer);
      reject(error);
    };
    const request = http.request({ ...target, method: "POST", headers, agent: false }, (response) => {
      let answer = "";
      response.setEncoding("utf8");
      response.on("data", (piece) => {
        answer += piece;
        if (answer.length > maxAnswer) request.destroy(new Error("the city says too much"));
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
    request.on("error", fail);
    request.end(text);
  });
}

// What is told goes one after the other, and never holds the agent up. Where no city
// answers it waits for the next one: what a model took is counted also if it was away.
const untold = [];
let telling = false;
async function tellAll() {
  if (telling) return;
  telling = true;
  while (untold.length > 0) {
    const next = untold[0];
    try {
      await post(next.path, next.body, tellWithin);
    } catch (error) {
      if (!error?.refused) {
        await new Promise((resolve) => setTimeout(resolve, tellAgain).unref?.());
        continue;
      }
    }
    untold.shift();
    next.told();
  }
  telling = false;
}

function tell(path, body) {
  return new Promise((resolve) => {
    setTimeout(resolve, tellWithin).unref?.();
    if (untold.length >= maxUntold) untold.splice(1, 1); // the first is on its way
    untold.push({ path, body, told: resolve });
    void tellAll();
  });
}

let conversation = "";
function life(event, metadata = {}) {
  return tell("/lifecycle", { event, timestamp: new Date().toISOString(), metadata: { via: "hook", conversation_id: conversation, ...metadata } });
}

function telemetry(event) {
  return tell("/telemetry", { events: [{ timestamp: new Date().toISOString(), ...event }] });
}

// What the city tells its agent at a beginning is claimed before the city hears of the
// beginning, or it would tell it by a prompt, and goes with the agent's next prompt. At the end
// of that turn the city hears what the model was shown of it, and tells by a prompt what was not.
const claimed = [], shown = new Set();
let due = [], held = "";
async function claim(source) {
  const id = "claim-" + randomBytes(16).toString("hex");
  try {
    const told = await post("/context/claim", { id, source, conversation_id: conversation }, claimWithin);
    const text = (told?.sections ?? []).map((section) => section.content).join("\n\n");
    if (text !== "") held += (held && "\n\n") + text;
  } catch {
  } finally {
    claimed.push(id); // also without an answer: it may be lost
  }
}

function show(request) {
  if (claimed.length + due.length === 0) return;
  for (const [, nonce] of JSON.stringify(request).matchAll(/\[(gc-[a-z2-7]{10})\]/g)) shown.add(nonce);
}

function acknowledge() {
  for (const id of due) void tell("/ack", { id, state: "consumed", nonces: [...shown] });
  due = [];
  if (claimed.length === 0) shown.clear();
}

function hash(text) {
  const words = (text ?? "").split(/[ \t\n\v\f\r]+/).filter((word) => word !== "").join(" ");
  return words === "" ? "" : createHash("sha256").update(words, "utf8").digest("hex");
}

// The prompt of its command line stands in the input line until it takes it: another one
// that came before would be typed behind it.
let opening = env.GC_FIRST_PROMPT === "1";
const openWithin = 120_000;

export const Gascity = async () => {
  if (!token || !run || (!socket && !base)) return {};
  await claim("startup");
  void life("started", { agent: "opencode" });
  void tell("/authorize", { tool: "gc.canary" }); // it shows the city that it asks before each tool
  void life("ready");
  if (opening) {
    void life("busy");
    setTimeout(() => {
      if (opening) void life("idle");
      opening = false;
    }, openWithin).unref?.();
  }
  const children = new Set(); // sessions of sub-agents: their turns are not the agent's
  const made = new Set(); // conversations that began in this process
  let failed = "";
  return {
    "chat.message": async (input, output) => {
      if (children.has(input?.sessionID)) return;
      opening = false;
      const former = conversation;
      conversation = input?.sessionID ?? conversation;
      if (former !== "" && former !== conversation) {
        held = ""; // it was for the former one
        await claim(made.has(conversation) ? "clear" : "resume");
      }
      failed = "";
      const text = (output?.parts ?? []).filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("");
      void life("busy", { prompt_hash: hash(text) });
      due.push(...claimed.splice(0));
      const last = output?.parts?.at(-1);
      if (held === "" || !last) return;
      output.parts.push({ id: last.id + "z", sessionID: last.sessionID, messageID: last.messageID, type: "text", text: held, synthetic: true });
      held = "";
    },
    "experimental.chat.messages.transform": async (_, output) => show(output?.messages),
    // What is thrown keeps the tool from running.
    "tool.execute.before": async (input, output) => {
      let decision;
      try {
        decision = await post("/authorize", { id: input.callID, tool: input.tool, input: output?.args ?? {}, wait_seconds: decideWithin / 1000 - 5 }, decideWithin);
      } catch (error) {
        throw new Error("not authorized, because the city gave no answer: " + (error?.message ?? error));
      }
      if (decision?.allowed === true && (decision.effect === undefined || decision.effect === "allow")) return;
      throw new Error((decision?.reason || "the city does not allow it") + (decision?.rule ? " (rule " + decision.rule + ")" : ""));
    },
    "tool.execute.after": async (input) => {
      void telemetry({ type: "tool_used", tools_called: [{ name: input.tool, success: true, duration_ms: 0, call_id: input.callID }] });
    },
    event: async ({ event }) => {
      const about = event?.properties ?? {};
      if (event.type === "session.created") (about.info?.parentID ? children : made).add(about.info?.id);
      if (children.has(about.sessionID)) return;
      switch (event.type) {
        case "session.error":
          failed = about.error?.data?.message ?? about.error?.name ?? "it failed";
          break;
        case "session.compacted": {
          const timestamp = new Date().toISOString(); // before the claim, which tells of it, too
          await claim("compact");
          void telemetry({ timestamp, type: "compacted" });
          break;
        }
        case "message.updated": {
          const info = about.info;
          if (info?.role !== "assistant" || !info.time?.completed || !info.tokens) break;
          if (!info.tokens.input && !info.tokens.output && !info.tokens.cache?.read && !info.tokens.cache?.write) break; // cut off before the model told any
          void telemetry({
            type: "turn_complete",
            message_id: info.id,
            usage: {
              input_tokens: info.tokens.input,
              output_tokens: info.tokens.output,
              cache_read_tokens: info.tokens.cache?.read,
              cache_creation_tokens: info.tokens.cache?.write,
              reasoning_tokens: info.tokens.reasoning,
              model: info.modelID,
            },
          });
          break;
        }
        case "session.idle":
          acknowledge();
          if (failed) void telemetry({ type: "error", message: failed });
          void life("idle", { reason: failed ? "failed" : "done" });
          break;
      }
    },
  };
};
