// What follows from the choices, in words and numbers: around the diagram of a sentence and below it.
const facts = (() => {
  const { html, bdi, draw } = diagram;
  const { percent, briefPercent, largeNumber } = markup;
  const MOST_LISTED = 6, MOST_HEADS_LISTED = 4, LEAST_HEAD_LISTED = 0.005;
  const MOST_CHANGES_LISTED = 8, LEAST_CHANGE = 0.02;
  const WIDEST_BEST_TREE = 640; // pixels; the large diagram shows the best tree of longer sentences

  const button = (attributes, ...children) => html("button", { type: "button", ...attributes }, ...children);
  const bar = (share) => html("span", { class: "bar", style: `--share:${share.toFixed(4)}` });
  const enumerate = (items, separator, last = separator) => {
    const rest = items.length - MOST_LISTED;
    return items.slice(0, MOST_LISTED).join(separator) + (rest > 0 ? `${last}and ${rest} more` : "");
  };

  // ---- the tools above the diagram ------------------------------------------------------------
  const addTools = (view) => {
    const { choices, source, frame } = view;
    const chips = html("span", { class: "chips" }), evidence = html("span", { class: "evidence" });
    const undo = button({ onclick: () => choices.undo() }, "Undo");
    const reset = button({ onclick: () => choices.reset() }, "Reset");
    const save = button({ title: "The sentence with its fixed heads", onclick: () => download(view) }, "Save CoNLL-U");
    const copy = button(
      { title: "The command that draws trees with these heads", onclick: () => copyCommand(view) }, "Copy command");
    view.status = html("p", { class: "status", role: "status", "aria-live": "polite" });
    view.tools = { chips, evidence, undo, reset, keep: [save, copy] };
    frame.before(
      html("div", { class: "tools", role: "group", "aria-label": "Choices" },
        undo, reset, chips, evidence, html("span", { class: "keep" }, save, source ? copy : null)),
      view.status,
    );
    view.changes = html("div", { class: "changes", hidden: true });
    view.section.querySelector(".facts").prepend(view.changes);
  };
  const tell = ({ status }, words, isRefusal = false) => {
    status.textContent = words;
    status.classList.toggle("refusal", isRefusal);
  };

  const showTools = (view) => {
    const { choices, tools } = view, { fixed, forbidden } = choices.state;
    tools.chips.replaceChildren(
      ...fixed.map(([head, j]) => drawChip(view, "fixed", head, j, () => choices.toggleFixed(head, j))),
      ...forbidden.map(([head, j]) => drawChip(view, "forbidden", head, j, () => choices.toggleForbidden(head, j))),
    );
    tools.evidence.replaceChildren(
      ...(choices.count
        ? [choices.count > 1 ? "these choices together: " : "this choice: ", html("b", {}, percent(choices.share))]
        : ["Choose a word to see its heads, and to fix or forbid one."]),
    );
    tools.undo.disabled = !choices.canUndo;
    tools.reset.disabled = !choices.count;
    for (const kept of tools.keep) kept.disabled = !choices.numFixed;
  };
  const drawChip = ({ sentence: { names } }, kind, head, j, takeBack) => {
    const depends = kind === "fixed" ? "depends" : "does not depend";
    return button({
        class: `chip ${kind}`, "aria-label": `Take back: ${names[j]} ${depends} on ${names[head]}`, onclick: takeBack,
      }, bdi(names[j]), kind === "fixed" ? " depends on " : " not on ", bdi(names[head]), " ✕");
  };

  // ---- what a step did, for the status line ----------------------------------------------------
  const sayStep = (view, { kind, decisions, leftOut }) => {
    const { names } = view.sentence;
    if (kind === "refused") {
      const words = enumerate(leftOut.map((j) => names[j]), ", ", " ");
      return tell(view, `No tree has these choices together: ${words} would be left out. Nothing was changed.`, true);
    }
    if (kind === "undone") return tell(view, "Undone.");
    const said = decisions.map((decision) => sayDecision(names, decision));
    if (kind === "reset") said.push("All choices taken back.");
    tell(view, [...said, sayBestTree(view)].join(" "));
  };
  const sayDecision = (names, { kind, head, dependent }) => ({
    fix: `Fixed: ${names[dependent]} depends on ${names[head]}.`,
    free: `${names[dependent]} is free again.`,
    forbid: `Forbidden: ${names[dependent]} does not depend on ${names[head]}.`,
    allow: `Allowed again: ${names[head]} → ${names[dependent]}.`,
  })[kind];
  const sayBestTree = ({ choices, sentence: { names } }) => {
    const words = choices.reattached.map((j) => `${names[j]} depends on ${names[choices.now.heads[j]]}`);
    if (!words.length) return "The best tree stays the same.";
    return `In the best tree now: ${enumerate(words, "; ")}.`;
  };

  // ---- figures ----------------------------------------------------------------------------------
  const showFigures = (view) => {
    const { choices, section } = view;
    view.originalFigures ||= figuresOf(view, choices.whole);
    const figures = choices.count ? figuresOf(view, choices.now) : view.originalFigures;
    for (const [name, value] of Object.entries(figures)) {
      const cell = section.querySelector(`[data-fact="${name}"] dd`), was = view.originalFigures[name];
      cell.replaceChildren(value, ...(choices.count && was !== value ? [html("small", {}, ` was ${was}`)] : []));
    }
  };
  const figuresOf = ({ choices, sentence: { n, gold } }, answer) => {
    const found = choices.facts(answer), number = Math.exp(found.entropy);
    const words = (count) => `${count} of ${n} words, ${percent(count / n)}`;
    return {
      entropy: `${found.entropy.toFixed(2)}\u00a0nats`,
      equally: `${number < 100 ? number.toFixed(1) : largeNumber(number)} equally likely trees`,
      best: percent(found.bestProbability),
      "log-z": found.logZ.toFixed(2),
      ...(gold && {
        gold: percent(found.goldProbability),
        "best-right": words(found.bestRight),
        "risk-right": words(found.minimumRiskRight),
      }),
    };
  };

  // ---- words ------------------------------------------------------------------------------------
  const wordButton = (view, j) => {
    const open = () => {
      view.picture.wordElements.get(j).scrollIntoView({ block: "nearest", inline: "center" });
      explore.select(view, j, null, true);
    };
    return button({ class: "link", onclick: open }, bdi(view.sentence.names[j]));
  };

  const showUncertainWords = (view) => {
    const { choices, section, sentence: { names } } = view, entropies = choices.headEntropies;
    const ranked = [...entropies.keys()].filter((j) => j && entropies[j] >= SIZES.UNCERTAIN_NATS)
      .sort((a, b) => entropies[b] - entropies[a]);
    const drawHead = ({ head, p }) =>
      html("li", {}, bar(p), bdi(names[head]), " ", html("span", { class: "share" }, percent(p)));
    const rows = ranked.slice(0, MOST_LISTED).map((j) =>
      html("tr", {},
        html("th", { scope: "row" }, html("mark", {}, wordButton(view, j)),
          html("span", { class: "entropy" }, `${entropies[j].toFixed(1)}\u00a0nats`)),
        html("td", {}, html("ul", { class: "heads" },
          ...choices.likeliestHeads(j, MOST_HEADS_LISTED).filter(({ p }) => p >= LEAST_HEAD_LISTED).map(drawHead)))));
    const rest = ranked.length - MOST_LISTED;
    section.querySelector(".unsure").replaceChildren(
      html("h3", {}, rows.length ? "Uncertain words and their likeliest heads" : "Uncertain words"),
      rows.length ? html("table", {}, html("tbody", {}, ...rows)) : html("p", {}, "None: every head is clear."),
      rest > 0 ? html("p", { class: "more" }, `and ${rest} more`) : "",
    );
  };

  const showChanges = (view) => {
    const { choices, changes, sentence: { names } } = view;
    changes.hidden = false;
    const moved = choices.moved(LEAST_CHANGE), rest = moved.length - MOST_CHANGES_LISTED;
    const items = moved.slice(0, MOST_CHANGES_LISTED).map(({ dependent: j, head }) => {
      const chance = (answer) => briefPercent(choices.probability(head, j, answer));
      const change = `: ${chance(choices.before)} → ${chance(choices.now)}`;
      return html("li", {}, wordButton(view, j), " on ", bdi(names[head]), change);
    });
    changes.replaceChildren(
      html("h3", {}, moved.length
        ? "What the last choice changed elsewhere"
        : "The last choice changed no other word by two points or more"),
      html("ul", {}, ...items),
      rest > 0 ? html("p", { class: "more" }, `and ${rest} more`) : "",
    );
  };

  // ---- the best trees ---------------------------------------------------------------------------
  const addCards = (view) => {
    const { section, sentence } = view, elements = [...section.querySelectorAll(".card")];
    view.cards = sentence.trees.map(([p, differences], rank) => {
      const heads = [...sentence.best];
      for (const [j, head] of differences) heads[j] = head;
      const tree = { p, heads, changed: differences.map(([j]) => j) };
      return { ...tree, element: elements[rank], button: addCard(view, elements[rank], tree, rank) };
    });
  };
  const addCard = (view, element, tree, rank) => {
    const { sentence } = view, title = element.querySelector(".tree-head");
    const chosen = button(
      { class: "tree-head", "aria-pressed": "false", tabindex: rank ? -1 : 0 },
      ...title.childNodes, html("span", { class: "bar" }));
    chosen.addEventListener("focus", () => explore.trace(view, rank));
    chosen.addEventListener("click", () => {
      chosen.focus();
      explore.trace(view, rank);
    });
    title.replaceWith(chosen);
    const drawn = drawTree(sentence, tree, rank), width = drawn.getAttribute("width");
    if (rank || width <= WIDEST_BEST_TREE)
      chosen.after(html("div", {
        class: "scroll", role: "group", "aria-label": `Tree ${rank + 1}`, dir: sentence.rtl ? "rtl" : null,
        style: `--natural:${width}px`,
      }, drawn));
    return chosen;
  };
  const drawTree = (sentence, tree, rank) => {
    const { best, names, n } = sentence, words = excerpt(sentence, tree);
    const arcs = tree.heads.map((head, dependent) =>
      ({ head, dependent, p: null, role: head === best[dependent] ? "tree" : "other" })).slice(1);
    const said = arcs.map((arc) => `${names[arc.dependent]} depends on ${names[arc.head]}`).join("; ");
    const label = `Tree ${rank + 1}: ${said}`;
    const { element } = draw({ ...sentence, below: [] }, { words, arcs, room: Infinity, label, entropies: null });
    element.classList.toggle("whole", words.length === n);
    return element;
  };
  // The words in which a tree differs, their old and new heads, and the neighbours of all these, with
  // 0 for the words between them.
  const excerpt = ({ n, best }, { heads, changed }) => {
    const all = Array.from({ length: n }, (_, k) => k + 1);
    if (!changed.length) return all;
    const near = new Set(
      changed.flatMap((j) => [j, heads[j], best[j]]).filter(Boolean).flatMap((j) => [j - 1, j, j + 1]));
    return all.map((j) => (near.has(j) ? j : 0)).filter((j, i, found) => j || found[i - 1] !== 0);
  };

  const showCards = ({ cards, choices }) => {
    cards.forEach((card, rank) => {
      const chance = choices.chanceOf(card), text = chance === null ? "ruled out" : percent(chance);
      const said = chance === null ? text : `probability ${text}`;
      card.element.classList.toggle("ruled-out", chance === null);
      card.element.querySelector(".chance").textContent = text;
      card.element.querySelector(".bar").style.setProperty("--share", (chance ?? 0).toFixed(4));
      card.button.setAttribute("aria-label", `Tree ${rank + 1} of ${cards.length}, ${said}`);
    });
  };
  const showTraced = ({ cards, traced }) => {
    for (const card of cards) {
      card.button.setAttribute("aria-pressed", String(card === traced));
      card.element.classList.toggle("traced", card === traced);
      if (traced) card.button.tabIndex = card === traced ? 0 : -1;
    }
  };

  // ---- to take away -----------------------------------------------------------------------------
  const fileName = (sentence) =>
    `${sentence.id.replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 80) || "sentence"}.conllu`;
  const download = (view) => {
    const address = URL.createObjectURL(new Blob([choices.toConllu(view.choices)], { type: "text/plain" }));
    html("a", { href: address, download: fileName(view.sentence) }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
    const isPart = view.choices.numFixed < view.choices.count;
    tell(view, `Saved with the fixed heads${isPart ? "; CoNLL-U has no place for forbidden ones" : ""}.`);
  };
  const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const copyCommand = async (view) => {
    const text = `${view.source} --conllu ${quoted(fileName(view.sentence))} --keep-heads --on-error skip`;
    try {
      await navigator.clipboard.writeText(text);
      tell(view, `Copied: ${text}`);
    } catch {
      tell(view, text);
    }
  };

  // ---- all together -----------------------------------------------------------------------------
  const add = (view) => {
    addCards(view);
    showCards(view);
    if (view.sentence.known) {
      view.frame.before(html("p", { class: "status" }, `Exploring is off: ${view.sentence.reason}`));
      return;
    }
    addTools(view);
    showTools(view);
    showUncertainWords(view);
  };
  const show = (view) => {
    showFigures(view);
    showTools(view);
    showUncertainWords(view);
    showChanges(view);
    showCards(view);
    showTraced(view);
  };

  return { add, show, showTraced, sayStep };
})();
