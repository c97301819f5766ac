// The plugin of opencode. What is claimed goes with the agent's next prompt.
let held = "";
async function hold(source) {
  const text = await claim(source);
  if (text !== "") held += (held && "\n\n") + text;
}

// The prompt of its command line stands in the input box until it takes it: another one
// that came before would be typed behind it.
let opening = env.GC_FIRST_PROMPT === "1";
const openWithin = 120_000;

export const Gascity = async ({ client }) => {
  if (!inCity) return {};
  await hold("startup");
  void life("started", { agent: "opencode", offers: ["interrupt"] }); // by the plugin of its terminal
  void prove();
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
  const calls = new Map(); // of tools in this turn, by id
  const asking = new Set(); // its own questions that stand
  // settle has the city ask what it asks a person itself. Who answers at its place is first.
  const settle = async (about) => {
    asking.add(about.id);
    const call = calls.get(about.tool?.callID) ?? { tool: about.permission, input: { command: (about.patterns ?? []).join("\n"), ...about.metadata } };
    while (asking.has(about.id)) {
      try {
        const decision = await post("/authorize", { id: about.tool?.callID, ...call, ask: true, wait_seconds: decideWithin / 1000 - 5 }, decideWithin);
        if (!asking.delete(about.id)) return;
        const response = decision?.allowed === true && decision.effect === "allow" ? "once" : "reject";
        await client.postSessionIdPermissionsPermissionId({ path: { id: about.sessionID, permissionID: about.id }, body: { response } });
      } catch (error) {
        if (error?.refused) return; // a person has to answer it there
        await pause(again);
      }
    }
  };
  let failed = "", aborted = false;
  return {
    "chat.message": async (input, output) => {
      if (children.has(input?.sessionID)) return;
      opening = false;
      const previous = conversation;
      conversation = input?.sessionID ?? conversation;
      if (previous !== "" && previous !== conversation) {
        held = ""; // it was for the previous one
        await hold(made.has(conversation) ? "clear" : "resume");
      }
      failed = "";
      aborted = false;
      const text = (output?.parts ?? []).filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("");
      void life("busy", { prompt_hash: hash(text) });
      turn();
      const last = output?.parts?.at(-1);
      if (held === "" || !last) return;
      output.parts.push({ id: last.id + "z", sessionID: last.sessionID, messageID: last.messageID, type: "text", text: held, synthetic: true });
      held = "";
    },
    "experimental.chat.messages.transform": async (_, output) => show(output?.messages),
    // What is thrown keeps the tool from running.
    "tool.execute.before": async (input, output) => {
      calls.set(input.callID, { tool: input.tool, input: output?.args ?? {} }); // its own question comes behind this
      const reason = await authorize({ id: input.callID, tool: input.tool, input: output?.args ?? {} });
      if (reason !== "") throw new Error(reason);
    },
    "tool.execute.after": async (input) => {
      telemetry({ type: "tool_used", tools_called: [{ name: input.tool, success: true, duration_ms: 0, call_id: input.callID }] });
    },
    event: async ({ event }) => {
      const about = event?.properties ?? {};
      if (event.type === "session.created") (about.info?.parentID ? children : made).add(about.info?.id);
      if (event.type === "permission.asked") void settle(about);
      if (event.type === "permission.replied") asking.delete(about.requestID);
      if (children.has(about.sessionID)) return;
      switch (event.type) {
        case "session.error":
          if (about.error?.name === "MessageAbortedError") aborted = true;
          else failed = [about.error?.data?.statusCode, about.error?.data?.message ?? about.error?.name ?? "it failed"].filter(Boolean).join(": ");
          break;
        case "session.compacted": {
          const timestamp = new Date().toISOString(); // before the claim, which reports it, too
          await hold("compact");
          telemetry({ timestamp, type: "compacted" });
          break;
        }
        case "message.updated": {
          const info = about.info;
          if (info?.role !== "assistant" || !info.time?.completed || !info.tokens) break;
          if (!info.tokens.input && !info.tokens.output && !info.tokens.cache?.read && !info.tokens.cache?.write) break; // cut off before the model reported any
          telemetry({
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
          calls.clear();
          acknowledge();
          if (failed) telemetry({ type: "error", message: failed });
          void life("idle", { reason: failed ? "failed" : aborted ? "interrupted" : "done" });
          break;
      }
    },
  };
};
