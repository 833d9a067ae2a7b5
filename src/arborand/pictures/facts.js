// The consequences of choices, in words and numbers: around the diagram of a sentence and below it.
const facts = (() => {
  const { html, bdi, bar, button, draw } = diagram;
  const { percent, briefPercent, largeNumber, nats, enumerate } = markup;
  const MOST_LISTED = 6, MOST_HEADS_LISTED = 4, LEAST_HEAD_LISTED = 0.005;
  const MOST_CHANGES_LISTED = 8, LEAST_CHANGE = 0.02, MOST_CHIPS = 12;
  const WIDEST_BEST_TREE = 640; // pixels; for longer sentences, only the large diagram shows the best tree
  const CARD_PADDING = 22; // pixels


  // ---- the tools below the diagram ------------------------------------------------------------
  const addTools = (view) => {
    const { choices, frame } = view;
    const chips = html("span", { class: "chips" }), evidence = html("span", { class: "evidence" });
    const undo = button({ onclick: () => choices.undo() }, "Undo");
    const reset = button({ onclick: () => choices.reset() }, "Reset");
    const accept = button({ title: "Fix all open words as in the best tree", onclick: () => choices.acceptBest() },
      "The best tree is right");
    view.status = html("p", { class: "status", role: "status", "aria-live": "polite" });
    view.tools = { chips, evidence, undo, reset, accept };
    view.changes = html("div", { class: "changes", hidden: true });
    frame.after(
      html("div", { class: "tools", role: "group", "aria-label": "Choices" }, undo, reset, accept, chips, evidence),
      view.status, view.changes,
    );
  };
  const tell = ({ status }, words, isRefusal = false) => {
    status.textContent = words;
    status.classList.toggle("refusal", isRefusal);
  };

  const showTools = (view) => {
    const { choices, tools } = view, { fixed, forbidden } = choices.state;
    const isMany = fixed.length > MOST_CHIPS; // as after "The best tree is right"
    tools.chips.replaceChildren(
      ...(isMany ? [`${fixed.length} of ${view.sentence.n} words are fixed`] : fixed.map(([head, j, label]) =>
        drawChip(view, "fixed", head, j, () => choices.toggleFixed(head, j), label))),
      ...forbidden.map(([head, j]) => drawChip(view, "forbidden", head, j, () => choices.toggleForbidden(head, j))),
    );
    tools.evidence.replaceChildren(
      ...(choices.count
        ? [choices.count > 1 ? "these choices together: " : "this choice: ", html("b", {}, percent(choices.share))]
        : ["Choose a word to see its heads, and to fix or forbid one."]),
    );
    tools.undo.disabled = !choices.canUndo;
    tools.reset.disabled = !choices.count;
    tools.accept.disabled = fixed.length === view.sentence.n;
  };
  const drawChip = ({ sentence: { names } }, kind, head, j, takeBack, label) => {
    const depends = kind === "fixed" ? "depends" : "does not depend";
    return button({
        class: `chip ${kind}`, "aria-label": `Remove: ${names[j]} ${depends} on ${names[head]}`, onclick: takeBack,
      }, bdi(names[j]), kind === "fixed" ? " depends on " : " not on ", bdi(names[head]),
      label ? ` as ${label}` : "", " ✕");
  };

  // ---- what a step did, for the status line ----------------------------------------------------
  const sayStep = (view, { kind, decisions, leftOut }) => {
    const { names } = view.sentence;
    if (kind === "refused") {
      if (!leftOut.length)
        return tell(view, "All trees with these choices have crossing arcs. Nothing was changed.", true);
      const words = enumerate(leftOut.map((j) => names[j]), MOST_LISTED);
      return tell(view, `No tree has these choices together: ${words} would be left out. Nothing was changed.`, true);
    }
    if (kind === "undone") return tell(view, "Undone.");
    const said = decisions.length > MOST_LISTED
      ? [`${decisions.length} decisions made.`]
      : decisions.map((decision) => sayDecision(names, decision));
    if (kind === "reset") said.push("All choices undone.");
    if (kind === "linked") said.push("These choices are from the link. Undo restores yours.");
    tell(view, [...said, sayBestTree(view)].join(" "));
  };
  const sayDecision = (names, { kind, head, dependent, label }) => ({
    fix: `Fixed: ${names[dependent]} depends on ${names[head]}${label ? ` as ${label}` : ""}.`,
    free: `${names[dependent]} is free again.`,
    forbid: `Forbidden: ${names[dependent]} does not depend on ${names[head]}.`,
    allow: `Allowed again: ${names[head]} → ${names[dependent]}.`,
  })[kind];
  const sayBestTree = ({ choices, sentence: { names } }) => {
    const words = choices.reattached.map((j) => `${names[j]} depends on ${names[choices.now.heads[j]]}`);
    if (!words.length) return "The best tree stays the same.";
    return `In the best tree now: ${enumerate(words, MOST_LISTED, "; ", "; ")}.`;
  };

  // ---- figures ----------------------------------------------------------------------------------
  const showFigures = (view) => {
    const { choices, section } = view;
    view.originalFigures ||= figuresOf(view, choices.whole);
    const figures = choices.count ? figuresOf(view, choices.now) : view.originalFigures;
    section.querySelector(".rest > summary .best").textContent = figures.best;
    section.querySelector(".rest > summary .number").textContent = figures.equally.replace(/ equally.*/, "");
    for (const [name, value] of Object.entries(figures)) {
      const cell = section.querySelector(`[data-fact="${name}"] dd`), was = view.originalFigures[name];
      cell.replaceChildren(value, ...(choices.count && was !== value ? [html("small", {}, ` was ${was}`)] : []));
    }
  };
  const figuresOf = ({ choices, sentence: { n, gold } }, answer) => {
    const found = choices.facts(answer), number = Math.exp(found.entropy);
    const words = (count) => `${count} of ${n} words, ${percent(count / n)}`;
    return {
      entropy: nats(found.entropy),
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
      explore.select(view, j, { hasFocus: true });
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
        : "The last choice changed no other word by two percentage points or more"),
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
      ...title.childNodes, bar(0));
    chosen.addEventListener("focus", () => explore.trace(view, rank));
    chosen.addEventListener("click", () => {
      chosen.focus();
      explore.trace(view, rank);
    });
    title.replaceWith(chosen);
    const room = view.section.clientWidth - CARD_PADDING;
    const drawn = drawTree(sentence, tree, rank, room), width = drawn.getAttribute("width");
    if (rank || width <= WIDEST_BEST_TREE)
      chosen.after(html("div", {
        class: "scroll", role: "group", "aria-label": `Tree ${rank + 1}`, dir: sentence.rtl ? "rtl" : null,
      }, drawn));
    return chosen;
  };
  // Differences are shown whatever the width: with neighbours, if there is space for them.
  const drawTree = (sentence, tree, rank, room) => {
    const { best, names, slots } = sentence;
    const widthOf = (some) => some.reduce((sum, j) => sum + (j ? slots[j - 1] : layout.GAP), 0);
    const words = [1, 0].map((reach) => excerpt(sentence, tree, reach))
      .find((some, i) => i || widthOf(some) <= room);
    const arcs = tree.heads.map((head, dependent) =>
      ({ head, dependent, p: null, role: head === best[dependent] ? "tree" : "other" })).slice(1);
    const said = arcs.map((arc) => `${names[arc.dependent]} depends on ${names[arc.head]}`).join("; ");
    const label = `Tree ${rank + 1}: ${said}`;
    return draw({ ...sentence, below: [] }, { words, arcs, room: Infinity, label, entropies: null }).element;
  };
  // The words in which a tree differs, their old and new heads, and those within `reach` of these,
  // with 0 for the words between them.
  const excerpt = ({ words, best }, { heads, changed }, reach) => {
    if (!changed.length) return words;
    const near = new Set(
      changed.flatMap((j) => [j, heads[j], best[j]]).filter(Boolean).flatMap((j) => [j - reach, j, j + reach]));
    return words.map((j) => (near.has(j) ? j : 0)).filter((j, i, found) => j || found[i - 1] !== 0);
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

  // ---- all together -----------------------------------------------------------------------------
  const add = (view) => {
    addCards(view);
    showCards(view);
    if (view.sentence.known) {
      view.frame.before(html("p", { class: "status" }, `Exploring is off: ${view.sentence.reason}`));
      return;
    }
    addTools(view);
    if (view.choices.count) showFigures(view);
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

  return { add, show, showTraced, sayStep, tell };
})();
