// The extension of pi.
export default function (pi) {
  if (!inCity) return;
  let failed = "";
  let count = 0;
  const beginnings = { new: "clear", resume: "resume", fork: "resume" };
  // brief puts a text into the conversation: at once, or with the end of the step that it is in.
  const brief = (text) => {
    if (text !== "") pi.sendMessage({ customType: "gascity", content: text, display: false }, { triggerTurn: false });
  };
  // A prompt of the city's goes in as its user's own words, whole and at once: as no paste and no
  // command, and beside what a person has typed. pi has it once it is a message of the
  // conversation, and has worked on it when it has settled. What a person has entered and pi has
  // not begun with is waited for, and waits: pi takes one at a time.
  let here, gone = false, deaf = () => {}, entered = 0, handed;
  const taken = [];
  const rests = () => here.isIdle() && Date.now() - entered > enteredWithin;
  const hand = async (id, words, say) => {
    // It reports a compaction before that is over, and nothing afterwards.
    for (const end = Date.now() + beginWithin; !gone && !rests() && Date.now() < end; ) await pause(soon);
    if (gone || handed || !rests()) return say(id, "refused", "pi works on something else");
    if (!here.model) return say(id, "refused", "pi has no model");
    handed = { words };
    handed.begun = new Promise((resolve) => (handed.begins = resolve));
    try {
      pi.sendUserMessage(words, { deliverAs: "followUp" });
      const did = await Promise.race([handed.begun, pause(beginWithin)]);
      if (!did && here.isIdle()) return say(id, "failed", "pi has not begun with it");
    } finally {
      handed = undefined;
    }
    taken.push(() => say(id, "consumed"));
    say(id, "submitted");
  };
  const said = (content) => (typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join(""));
  const known = (n) => (typeof n === "number" ? n : undefined);

  pi.on("session_start", async (event, ctx) => {
    here = ctx;
    conversation = ctx?.sessionManager?.getSessionId?.() ?? "";
    if (event.reason !== "reload") brief(await claim(beginnings[event.reason] ?? "startup"));
    if (event.reason === "startup" || event.reason === "resume") {
      await life("started", { agent: "pi" });
      await prove();
    }
    await life("ready");
    if (!gone && !typed) deaf = listen(hand);
  });
  pi.on("input", async (event) => {
    if (event.source === "extension") return;
    entered = Date.now();
    if (!handed) return;
    await Promise.race([handed.begun, pause(beginWithin)]);
    pi.sendUserMessage([{ type: "text", text: event.text }, ...(event.images ?? [])], { deliverAs: "steer", expandPromptTemplates: true });
    return { action: "handled" };
  });
  pi.on("message_start", (event) => {
    if (event.message?.role !== "user") return;
    if (handed && (Date.now() - entered > enteredWithin || said(event.message.content) === handed.words)) handed.begins(true);
    else entered = 0;
  });
  pi.on("before_agent_start", async (event) => {
    failed = "";
    turn();
    await life("busy", { prompt_hash: hash(event.prompt) });
  });
  // A handler that fails keeps the tool from running, and so does one without an answer.
  pi.on("tool_call", async (event, ctx) => {
    const reason = await authorize({ id: event.toolCallId, tool: event.toolName, input: event.input, context: { cwd: ctx?.cwd ?? "" } });
    return reason === "" ? undefined : { block: true, reason };
  });
  pi.on("tool_result", (event) => {
    telemetry({ type: "tool_used", tools_called: [{ name: event.toolName, success: !event.isError, duration_ms: 0, call_id: event.toolCallId }] });
  });
  pi.on("message_end", (event) => {
    const message = event.message;
    if (message?.role !== "assistant" || !message.usage) return;
    failed = message.stopReason === "error" ? (message.errorMessage ?? "the model failed") : ""; // a later attempt may succeed
    const used = message.usage;
    if (!used.totalTokens) return; // aborted ones have nothing
    telemetry({
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
    const timestamp = new Date().toISOString(); // before the claim, which reports it, too
    brief(await claim("compact"));
    telemetry({ timestamp, type: "compacted" });
  });
  pi.on("before_provider_request", (event) => show(event.payload));
  pi.on("agent_settled", async () => {
    acknowledge();
    for (const consumed of taken.splice(0)) consumed();
    if (failed) telemetry({ type: "error", message: failed });
    await life("idle", { reason: failed ? "failed" : "done" });
  });
  pi.on("session_shutdown", async (event) => {
    gone = true; // another conversation has an extension of its own
    deaf();
    if (event.reason === "quit") await Promise.all([rest(), life("stopping", { reason: "quit" })]);
  });
}
