import Reports

/// The files of the live page. Nothing of a device is in them: the script receives it as data, and
/// writes it as text.
enum ViewPage {
  /// No inline code, nothing from elsewhere, and no string becomes mark-up.
  static let policy = """
    default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'
    """

  static let html = """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="view.css">
    <title>Notibot</title>
    <script src="view.js" defer></script>
    </head>
    <body>
    <h1>Notibot <span id="count" title="Notification Count">–</span> <span id="state" role="status">connecting</span></h1>
    <p class="buttons"><button data-command="reboot">Reboot</button>
    <button data-command="unplug">Unplug</button> <button data-command="plug">Plug in</button>
    <button data-command="clear">Dismiss all</button> <span id="error" role="alert"></span></p>
    <div class="columns">
    <main><section id="screen" aria-label="Display" data-empty="no notifications"></section></main>
    <div>
    <h2>Link</h2><dl class="facts" id="figures"></dl>
    <h2>Last 3 minutes</h2><div class="plots">
    <figure><figcaption id="accepted"></figcaption><svg viewBox="0 0 60 20" preserveAspectRatio="none"><path></path></svg></figure>
    <figure><figcaption id="resent"></figcaption><svg viewBox="0 0 60 20" preserveAspectRatio="none"><path></path></svg></figure>
    </div>
    <h2>Console</h2><pre id="console" data-empty="nothing printed since this page was opened"></pre>
    <h2>Frames</h2><pre id="frames" data-empty="no frames since this page was opened"></pre>
    </div>
    </div>
    </body>
    </html>

    """

  static let style = """
    \(ReportStyle.sheet)
    .columns{display:grid;grid-template-columns:minmax(0,22rem) minmax(0,1fr);gap:1.5rem}
    @media (max-width:50rem){.columns{grid-template-columns:minmax(0,1fr)}}
    #count{background:var(--bad);color:var(--paper);border-radius:1em;padding:0 .5em}
    #state,#error{font-size:.95rem;font-weight:400;color:var(--dim)}#error{color:var(--bad)}
    #screen{background:#05080c;color:#e6e9ee;border:.6rem solid #2b3038;border-radius:1rem;padding:.6rem;
    height:36rem;overflow-y:auto}
    #screen.dark{opacity:.35}
    #screen h3,.card,#console,#frames,dd{unicode-bidi:isolate;contain:content}
    #screen h3,.card,dd{overflow:clip}
    :empty[data-empty]::before{content:attr(data-empty);color:var(--dim)}
    #screen h3{color:#a3adba;font-size:.85rem}
    .card{background:#1f242b;border-left:.3rem solid #86b4ff;border-radius:.4rem;padding:.4rem .6rem;margin:0 0 .5rem}
    .card.lvl0{border-color:#5b6470}.card.lvl2{border-color:#ffb268}.card.lvl3{border-color:#ff9a91;background:#3a1c1a}
    .card.silent{opacity:.75}.card *{overflow-wrap:anywhere}
    .card p{margin:.1rem 0;white-space:pre-wrap}.card .app,.card .marks{color:#a3adba;font-size:.8rem}
    .card .title{font-weight:600}
    pre{background:var(--soft);padding:.5rem;margin:0;height:11rem;overflow-y:auto;white-space:pre-wrap;font-size:.8rem}
    .plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(12rem,1fr));gap:1rem}
    .plots figure{margin:0}.plots figcaption{font-size:.8rem;color:var(--dim)}
    .plots svg{display:block;width:100%;height:3rem;background:var(--soft)}.plots path{fill:currentColor}
    button.pressed{font-weight:600}
    button{font:inherit;font-size:.85rem;max-width:100%;padding:.1rem .6rem;margin:.2rem .2rem 0 0}

    """

  static let script = #"""
    "use strict";
    const byID = id => document.getElementById(id);
    // Characters that change direction or have no shape are shown by their number.
    const hidden = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff]/g;
    const plain = text => String(text).replace(hidden, c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
    const element = (name, kind, text) => {
      const made = document.createElement(name);
      if (kind) made.className = kind;
      if (text !== undefined) made.textContent = plain(text);
      return made;
    };
    // Replaces the text only if it changed, and keeps the end in sight if it was.
    const setText = (node, text) => {
      if (node.textContent === text) return;
      const follows = node.scrollTop + node.clientHeight >= node.scrollHeight - 8;
      node.textContent = text;
      if (follows) node.scrollTop = node.scrollHeight;
    };

    async function send(request) {
      try {
        const answer = await fetch("command", {
          method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(request)});
        const reply = await answer.json();
        setText(byID("error"), reply.ok ? "" : plain(reply.error ?? "refused"));
        return reply.ok;
      } catch {
        setText(byID("error"), "no answer");
      }
    }
    const button = (text, request) => {
      const made = element("button", "", text);
      made.addEventListener("click", () => send(request));
      return made;
    };
    for (const made of document.querySelectorAll("[data-command]")) {
      made.addEventListener("click", () => send({command: made.dataset.command}));
    }

    const levels = ["passive", "active", "time-sensitive", "critical"];
    const cards = new Map();  // by item number: what it was made of, and the element
    const string = value => typeof value === "string" ? value : "";
    const whole = (value, limit) => Number.isInteger(value) && Math.abs(value) <= limit ? value : undefined;
    // A device keeps keys that it does not know, whatever their type: such values are left out.
    const parsed = json => {
      let value;
      try {
        value = Object(JSON.parse(json));
      } catch {
        value = {text: json};
      }
      return {
        app: string(value.app), title: string(value.title), text: string(value.text), grp: string(value.grp),
        fl: whole(value.fl, 0x7fffffff) ?? 0, timestamp: whole(value.timestamp, 8.64e12),
        act: (Array.isArray(value.act) ? value.act : []).slice(0, 4).map(label => typeof label === "string" ? label : null)};
    };
    function makeCard(item, value) {
      const level = levels[whole(item.lvl, 3)] ? item.lvl : 1;
      const isSilent = (value.fl & 1) === 1;
      const card = element("article", `card lvl${level}${isSilent ? " silent" : ""}`);
      card.dataset.item = item.item;
      card.append(element("p", "app", value.app), element("p", "title", value.title),
        element("p", "text", value.text));
      const marks = [level === 1 ? "" : levels[level], isSilent ? "silent" : "",
        value.fl & 2 ? "important" : "", item.preexisting ? "not announced" : ""].filter(Boolean);
      if (value.timestamp !== undefined) marks.unshift(new Date(value.timestamp * 1000).toISOString().slice(0, 19) + "Z");
      card.append(element("p", "marks", marks.join(" · ")));
      value.act.forEach((label, act) => {
        if (label === null) return;
        const made = element("button", "", label);
        made.addEventListener("click", async () => {
          if (!await send({command: "action", item: item.item, act})) return;
          made.className = "pressed";
          made.textContent = `✓ ${plain(label)}: pressed`;
        });
        card.append(made);
      });
      card.append(button("Dismiss", {command: "dismiss", item: item.item}));
      return card;
    }

    function showItems(items, stored) {
      const seen = new Set();
      const groups = new Map();
      for (const item of items.filter(item => !item.expired).reverse()) {
        const made = JSON.stringify(item);
        let entry = cards.get(item.item);
        if (!entry || entry.made !== made) {
          const value = parsed(item.json);
          entry = {made, card: makeCard(item, value), group: item.id ? value.grp : ""};
          cards.set(item.item, entry);
        }
        seen.add(item.item);
        groups.set(entry.group, [...(groups.get(entry.group) ?? []), entry.card]);
      }
      for (const item of cards.keys()) if (!seen.has(item)) cards.delete(item);
      const nodes = [];
      for (const [group, members] of groups) {
        if (group) nodes.push(element("h3", "group", `${group} (${members.length})`));
        nodes.push(...members);
      }
      if (stored > seen.size) nodes.push(element("p", "more", `and ${stored - seen.size} more`));
      byID("screen").replaceChildren(...nodes);
    }

    // Per second, in bars of 3 s, over the last 3 minutes.
    const barSeconds = 3, barCount = 60;
    const plots = {accepted: "notifications", resent: "retransmissions"};
    const bars = new Map();  // by time: what was counted
    const before = {};
    const bar = () => Math.floor(Date.now() / 1000 / barSeconds);
    function count(values) {
      const now = bars.get(bar()) ?? {accepted: 0, resent: 0};
      for (const [name, value] of Object.entries(values)) {
        now[name] += Math.max(0, value - (before[name] ?? value));
        before[name] = value;
      }
      bars.set(bar(), now);
    }
    function draw() {
      const last = bar();
      for (const at of bars.keys()) if (at <= last - barCount) bars.delete(at);
      for (const [name, words] of Object.entries(plots)) {
        const rates = Array.from({length: barCount}, (_, index) =>
          (bars.get(last - barCount + 1 + index)?.[name] ?? 0) / barSeconds);
        const highest = Math.max(...rates);
        setText(byID(name), `${words} per second: ${rates.at(-1).toFixed(1)}, highest ${highest.toFixed(1)}`);
        const path = rates.map((rate, x) => rate > 0 ? `M${x} 20V${20 - 19 * rate / highest}h1V20z` : "").join("");
        byID(name).parentNode.querySelector("path").setAttribute("d", path);
      }
    }
    setInterval(draw, 1000);
    draw();

    let shown = "";
    function show(data) {
      const snapshot = JSON.parse(data);
      if (!snapshot.ok) return setText(byID("state"), plain(snapshot.error));
      const {statistics, frames, console: lines} = snapshot;
      const items = snapshot.items.filter(item => Number.isInteger(item?.item));
      setText(byID("count"), String(statistics.count));
      setText(byID("state"), `${statistics.profile}, ${snapshot.port ? "plugged in" : "unplugged"}, ${statistics.chip}`);
      byID("screen").classList.toggle("dark", statistics.chip !== "running");
      const possible = {reboot: true, unplug: snapshot.port, plug: !snapshot.port, clear: statistics.storedCount > 0};
      for (const made of document.querySelectorAll("[data-command]")) {
        made.disabled = !possible[made.dataset.command];
      }
      const made = JSON.stringify([items, statistics.storedCount]);
      if (made !== shown) showItems(items, statistics.storedCount);
      shown = made;
      const {link} = statistics;
      count({accepted: statistics.acceptedCount, resent: link.dataResent});
      const figures = {
        "Session": statistics.session === undefined ? "none" : "0x" + statistics.session.toString(16).padStart(4, "0"),
        "Boots": statistics.bootCount, "Accepted": statistics.acceptedCount, "Gone, not settled": statistics.goneCount,
        "Presses not taken yet": statistics.pressCount,
        "Frames received": statistics.framesReceived, "CRC errors": statistics.crcErrors,
        "Bytes received, sent": `${statistics.bytesReceived}, ${statistics.bytesSent}`,
        "Data received": link.dataReceived, "Line faults": statistics.faultSpec ?? "off"};
      const rows = Object.entries(figures).flatMap(([name, value]) =>
        [element("dt", "", name), element("dd", "", value ?? 0)]);
      byID("figures").replaceChildren(...rows);
      setText(byID("console"), lines.map(line => plain(line.text)).join("\n"));
      setText(byID("frames"), frames.map(frame => `${frame.number} ${plain(frame.text)}`).join("\n"));
      const newest = items.at(-1)?.item ?? 0;
      document.body.dataset.newest = newest;
      document.body.dataset.snapshots = Number(document.body.dataset.snapshots ?? 0) + 1;
    }

    const events = new EventSource("events");
    events.onmessage = message => {
      try {
        show(message.data);
      } catch {
        setText(byID("state"), "the emulator sent a state that this page does not understand");
      }
    };
    events.onerror = () => setText(byID("state"), "no connection to notibot");
    """#
}
