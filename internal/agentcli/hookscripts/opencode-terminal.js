// The plugin of opencode's terminal. It gives the city's prompts and interrupts to the server of
// this opencode: only the terminal knows which conversation is on its screen.
const interruptWithin = 20_000, fresh = 5_000, lookEvery = 200;

// The model and the agent of the command line: a new conversation starts with them. Later the
// server uses those of the last prompt.
function chosen(args) {
  const value = (...names) => {
    for (let i = args.length - 1; i >= 0; i--) {
      const [name, joined] = args[i].startsWith("--") ? args[i].split(/=(.*)/s) : [args[i]];
      if (names.includes(name)) return joined ?? args[i + 1];
    }
  };
  const [provider, ...model] = (value("-m", "--model") ?? "").split("/");
  return { agent: value("--agent"), ...(model.length > 0 && { model: { providerID: provider, modelID: model.join("/") } }) };
}

export default {
  id: "gascity",
  tui: async (api) => {
    if (!inCity || typed) return;
    const choice = chosen(process.argv);
    const sessions = api.client.session;

    // shown returns the conversation on the screen, not that of a sub-agent; empty: the start screen.
    const shown = () => {
      const { name, params } = api.route.current;
      if (name === "home") return "";
      if (name !== "session") throw new Error("the terminal shows no conversation");
      let id = params.sessionID;
      for (let parent; (parent = api.state.session.get(id)?.parentID); ) id = parent;
      return id;
    };
    // busy returns the conversations in which a turn is in progress, as the server has it.
    const busy = async () => {
      const { data } = await sessions.status({}, { throwOnError: true });
      return Object.keys(data).filter((id) => data[id].type !== "idle");
    };
    // rests waits until no turn is in progress, and returns whether that is so.
    const rests = async (within) => {
      for (const end = Date.now() + within; ; await pause(soon)) {
        if ((await busy()).length === 0) return true;
        if (Date.now() > end) return false;
      }
    };

    // The prompt that was given to the server last: {id, message, session, say, began, answer}.
    let given, count = 0;
    // The server sorts messages by their IDs: they have to be made as it makes them.
    const messageID = () => {
      const time = (BigInt(Date.now()) * 4096n + BigInt(++count % 4096)) & 0xffff_ffff_ffffn;
      return "msg_" + time.toString(16).padStart(12, "0") + randomBytes(7).toString("hex");
    };

    const hand = async (id, words, say) => {
      // What was given a moment ago may not be a turn yet.
      while (given && Date.now() < given.at + fresh) await pause(soon);
      if (!(await rests(beginWithin))) return say(id, "refused", "opencode works on something else");
      let session = shown();
      const begins = session === "";
      if (begins) {
        session = (await sessions.create({}, { throwOnError: true })).data.id;
        if (shown() === "") api.route.navigate("session", { sessionID: session });
        else session = shown(); // its user was faster
      }
      const one = (given = { id, message: messageID(), session, say, at: Date.now() });
      const began = new Promise((resolve) => (one.began = () => resolve(true)));
      const body = { sessionID: session, messageID: one.message, parts: [{ type: "text", text: words }], ...(begins && choice) };
      let sent;
      try {
        sent = await sessions.promptAsync(body);
      } catch (error) {
        sent = { error, response: error?.response };
      }
      const status = sent.response?.status ?? 0;
      if (sent.error && status >= 400 && status < 500) {
        given = undefined;
        return say(id, "refused", "opencode does not accept the prompt: " + (sent.error.data?.message ?? sent.error.message ?? status));
      }
      if (!(await Promise.race([began, pause(beginWithin)]))) {
        given = undefined;
        return say(id, "failed", "it is not known whether opencode has the prompt: " + (sent.error?.message ?? "its conversation does not show it"));
      }
      say(id, "submitted");
      one.submitted = true;
      ended(one);
    };
    // ended reports the prompt as worked on once its turn has ended with an answer.
    const ended = (one) => {
      if (!one.submitted || !one.over || !one.answer) return;
      if (given === one) given = undefined;
      if (!one.answer.error) one.say(one.id, "consumed");
    };
    // One after the other: two prompts never become one turn.
    let line = Promise.resolve();
    const inLine = (...prompt) => (line = line.catch(() => {}).then(() => hand(...prompt)));

    const stop = async (id, _, say) => {
      for (const session of await busy()) await sessions.abort({ sessionID: session });
      if (!(await rests(interruptWithin))) return say(id, "failed", "the turn did not end in time");
      conversation = api.route.current.params?.sessionID ?? "";
      await life("idle", { reason: "interrupted" });
      say(id, "consumed");
    };

    api.event.on("message.updated", ({ properties: { info } }) => {
      if (info.id === given?.message) given.began();
      if (info.role === "assistant" && info.parentID === given?.message && info.time?.completed) given.answer = info;
    });
    api.event.on("session.idle", ({ properties: { sessionID } }) => {
      if (sessionID !== given?.session || !given.answer) return;
      given.over = true;
      ended(given);
    });
    const silence = listen(inLine, stop);

    // The start screen is where a command such as /new leads. The city sends no prompt behind such
    // a command before this report, or before the terminal has been at rest for a while.
    let home = true;
    const watch = setInterval(async () => {
      const was = home;
      home = api.route.current.name === "home";
      if (was || !home) return;
      const idle = await busy().then((ids) => ids.length === 0, () => false);
      if (!idle) return; // the end of the turn is reported
      conversation = "";
      await life("ready");
    }, lookEvery);
    watch.unref?.();
    api.lifecycle.onDispose(() => {
      clearInterval(watch);
      silence();
    });
  },
};
