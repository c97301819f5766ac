// Made by gc. It tells the agent's city what the agent does, and asks it before each
// tool. Outside a city it does nothing.
import * as http from "node:http";
import { createHash, randomBytes } from "node:crypto";

const env = process.env;
const socket = env.GC_WORKER_SOCKET, base = env.GC_WORKER_URL, token = env.GC_WORKER_TOKEN, run = env.GC_RUN_ID;
const decideWithin = 65_000, tellWithin = 3_000, tellAgain = 1_000, claimWithin = 1_500, maxAnswer = 1 << 20, maxUntold = 5_000;

// post sends one report and resolves to the answer; it rejects upon everything else.
function post(path: string, body: Record<string, unknown>, within: number): Promise<any> {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify({ run_id: run, ...body });
    const target = socket ? { socketPath: socket, path } : { ...split(base!), path };
    const request = http.request(
      {
        ...target,
        method: "POST",
        headers: { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text), Authorization: "Bearer " + token },
        agent: false,
      },
      (response) => {
        let answer = "";
        response.setEncoding("utf8");
        response.on("data", (piece) => {
          answer += piece;
          if (answer.length > maxAnswer) request.destroy(new Error("the city says too much"));
        });
        response.on("error", reject);
        response.on("aborted", () => reject(new Error("the city broke off")));
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
      },
    );
    const timer = setTimeout(() => request.destroy(new Error("the city gave no answer in time")), within);
    request.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    request.end(text);
  });
}

function split(url: string) {
  const u = new URL(url);
  return { host: u.hostname, port: u.port };
}

// What is told goes one after the other, and never holds the agent up. Where no city
// answers it waits for the next one: what a model took is counted also if it was away.
const untold: { path: string; body: Record<string, unknown>; told: () => void }[] = [];
let telling = false;
async function tellAll() {
  if (telling) return;
  telling = true;
  while (untold.length > 0) {
    const next = untold[0];
    try {
      await post(next.path, next.body, tellWithin);
    } catch (error: any) {
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

function tell(path: string, body: Record<string, unknown>): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, tellWithin).unref?.();
    if (untold.length >= maxUntold) untold.splice(1, 1); // the first is on its way
    untold.push({ path, body, told: resolve });
    void tellAll();
  });
}

let conversation = "";
function life(event: string, metadata: Record<string, unknown> = {}) {
  return tell("/lifecycle", { event, timestamp: new Date().toISOString(), metadata: { via: "hook", conversation_id: conversation, ...metadata } });
}

function telemetry(event: Record<string, unknown>) {
  return tell("/telemetry", { events: [{ timestamp: new Date().toISOString(), ...event }] });
}

// What the city tells its agent at a beginning is claimed before the city hears of the
// beginning, or it would tell it by a prompt. At the end of the next turn the city hears what
// the model was shown of it, and tells by a prompt what was not.
let claimed: string[] = [], due: string[] = [];
const shown = new Set<string>();
async function claim(source: string): Promise<string> {
  const id = "claim-" + randomBytes(16).toString("hex");
  try {
    const told = await post("/context/claim", { id, source, conversation_id: conversation }, claimWithin);
    return (told?.sections ?? []).map((section: any) => section.content).join("\n\n");
  } catch {
    return "";
  } finally {
    claimed.push(id); // also without an answer: it may be lost
  }
}

function show(request: unknown) {
  if (claimed.length + due.length === 0) return;
  for (const [, nonce] of JSON.stringify(request).matchAll(/\[(gc-[a-z2-7]{10})\]/g)) shown.add(nonce);
}

function acknowledge() {
  for (const id of due) void tell("/ack", { id, state: "consumed", nonces: [...shown] });
  due = [];
  if (claimed.length === 0) shown.clear();
}

function hash(text: string) {
  const words = (text ?? "").split(/[ \t\n\v\f\r]+/).filter((word) => word !== "").join(" ");
  return words === "" ? "" : createHash("sha256").update(words, "utf8").digest("hex");
}

function known(n: unknown) {
  return typeof n === "number" ? n : undefined;
}

export default function (pi: any) {
  if (!token || !run || (!socket && !base)) return;
  let failed = "";
  let count = 0;
  const beginnings: Record<string, string> = { new: "clear", resume: "resume", fork: "resume" };
  // brief puts a text into the conversation: at once, or with the end of the step that it is in.
  const brief = (text: string) => {
    if (text !== "") pi.sendMessage({ customType: "gascity", content: text, display: false }, { triggerTurn: false });
  };

  pi.on("session_start", async (event: any, ctx: any) => {
    conversation = ctx?.sessionManager?.getSessionId?.() ?? "";
    if (event.reason !== "reload") brief(await claim(beginnings[event.reason] ?? "startup"));
    if (event.reason === "startup" || event.reason === "resume") {
      await life("started", { agent: "pi" });
      await tell("/authorize", { tool: "gc.canary" }); // it shows the city that it asks before each tool
    }
    await life("ready");
  });
  pi.on("before_agent_start", async (event: any) => {
    failed = "";
    due.push(...claimed.splice(0));
    await life("busy", { prompt_hash: hash(event.prompt) });
  });
  // A handler that fails keeps the tool from running, and so does one without an answer.
  pi.on("tool_call", async (event: any, ctx: any) => {
    try {
      const decision = await post(
        "/authorize",
        { id: event.toolCallId, tool: event.toolName, input: event.input, context: { cwd: ctx?.cwd ?? "" }, wait_seconds: decideWithin / 1000 - 5 },
        decideWithin,
      );
      if (decision?.allowed === true && (decision.effect === undefined || decision.effect === "allow")) return undefined;
      return { block: true, reason: (decision?.reason || "the city does not allow it") + (decision?.rule ? " (rule " + decision.rule + ")" : "") };
    } catch (error: any) {
      return { block: true, reason: "not authorized, because the city gave no answer: " + (error?.message ?? error) };
    }
  });
  pi.on("tool_result", (event: any) => {
    void telemetry({ type: "tool_used", tools_called: [{ name: event.toolName, success: !event.isError, duration_ms: 0, call_id: event.toolCallId }] });
  });
  pi.on("message_end", (event: any) => {
    const message = event.message;
    if (message?.role !== "assistant" || !message.usage) return;
    if (message.stopReason === "error") failed = message.errorMessage ?? "the model failed";
    const used = message.usage;
    if (!used.totalTokens) return; // aborted ones have nothing
    void telemetry({
      type: "turn_complete",
      message_id: message.responseId ?? conversation + "-" + message.timestamp + "-" + ++count,
      usage: {
        input_tokens: known(used.input),
        output_tokens: known(used.output),
        cache_read_tokens: known(used.cacheRead),
        cache_creation_tokens: known(used.cacheWrite),
        model: message.model,
      },
    });
  });
  pi.on("session_compact", async () => {
    const timestamp = new Date().toISOString(); // before the claim, which tells of it, too
    brief(await claim("compact"));
    void telemetry({ timestamp, type: "compacted" });
  });
  pi.on("before_provider_request", (event: any) => show(event.payload));
  pi.on("agent_settled", async () => {
    acknowledge();
    if (failed) void telemetry({ type: "error", message: failed });
    await life("idle", { reason: failed ? "failed" : "done" });
  });
  pi.on("session_shutdown", async (event: any) => {
    if (event.reason === "quit") await life("stopping", { reason: "quit" });
  });
}
