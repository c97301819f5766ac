// The extension for pi.
export default function (pi) {
  if (!inCity) return;
  let failed = "";
  let count = 0;
  const beginnings = { new: "clear", resume: "resume", fork: "resume" };
  // brief adds a text to the conversation as a message that pi does not display, without starting a turn.
  // If the agent is at work, pi adds the message at the end of the current step.
  const brief = (text) => {
    if (text !== "") pi.sendMessage({ customType: "gascity", content: text, display: false }, { triggerTurn: false });
  };
  // A prompt of gc is sent as a message of the user: complete, and not as a paste or a command. It does
  // not change what a person has typed into the input box. The extension reports it as submitted when it
  // is a message of the conversation, or if pi is still at work after beginWithin. It reports it as
  // consumed when the agent has settled.
  //
  // pi begins one prompt at a time. So a prompt of gc waits while pi has not begun the text that a
  // person entered, and the text of a person waits while pi has not begun a prompt of gc.
  let here, gone = false, stopListening = () => {}, entered = 0, handed;
  const onSettled = [];
  const isFree = () => here.isIdle() && Date.now() - entered > enteredWithin;
  const hand = async (id, words, say) => {
    // pi reports a compaction before it is over, and reports nothing at its end. So this loop polls.
    for (const end = Date.now() + beginWithin; !gone && !isFree() && Date.now() < end; ) await pause(soon);
    if (gone || handed || !isFree()) return say(id, "refused", "pi works on something else");
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
    onSettled.push(() => say(id, "consumed"));
    say(id, "submitted");
  };
  const textOf = (content) => (typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join(""));
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
    if (!gone && !typed) stopListening = listen(hand);
  });
  // The text of a person that is entered while pi has not begun a prompt of gc is sent again after that.
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
    if (handed && (Date.now() - entered > enteredWithin || textOf(event.message.content) === handed.words)) handed.begins(true);
    else entered = 0;
  });
  pi.on("before_agent_start", async (event) => {
    failed = "";
    turn();
    await life("busy", { prompt_hash: hash(event.prompt) });
  });
  // The tool does not run if this handler throws, or if gc does not answer.
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
    if (!used.totalTokens) return; // an aborted message has no usage
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
    const timestamp = new Date().toISOString(); // the time before the claim, because the claim also reports the compaction
    brief(await claim("compact"));
    telemetry({ timestamp, type: "compacted" });
  });
  pi.on("before_provider_request", (event) => show(event.payload));
  pi.on("agent_settled", async () => {
    acknowledge();
    for (const consumed of onSettled.splice(0)) consumed();
    if (failed) telemetry({ type: "error", message: failed });
    await life("idle", { reason: failed ? "failed" : "done" });
  });
  pi.on("session_shutdown", async (event) => {
    gone = true; // pi loads the extension again for another conversation
    stopListening();
    if (event.reason === "quit") await Promise.all([rest(), life("stopping", { reason: "quit" })]);
  });
}
