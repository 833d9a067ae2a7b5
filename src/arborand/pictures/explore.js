// One sentence to work on: choose a word, see its heads, fix or forbid one, and everything follows.
const explore = (() => {
  const { draw, html } = diagram;
  const { percent, briefPercent, largeNumber, distinctNames } = markup;
  const { UNCERTAIN_NATS } = SIZES;
  const FEWEST_ROWS = 6;
  const bdi = (text) => html("bdi", {}, text);
  const between = (items, separator) => items.flatMap((item, i) => (i ? [separator, item] : [item]));

  const read = (section) => {
    const data = JSON.parse(section.querySelector('script[type="application/json"]').textContent);
    const n = data.tokens.length, size = n + 1;
    const names = distinctNames(data.tokens);
    const below = [data.upos, data.deprel].filter(Boolean);
    const sentence = { ...data, n, size, below, names: ["the root", ...names] };
    if (!data.scores) {
      const marginals = new Float64Array(size * size);
      for (const [head, dependent, p] of data.arcs) marginals[head * size + dependent] = p;
      return { ...sentence, known: { marginals, heads: data.best } };
    }
    const bytes = Uint8Array.from(atob(data.scores), (c) => c.charCodeAt(0));
    const Kind = data.bytes === 8 ? Float64Array : Float32Array;
    const scores = Float64Array.from(new Kind(bytes.buffer));
    return { ...sentence, graph: { n, single: data.single, scores } };
  };

  const entropiesOf = ({ size, entropies }, marginals) => {
    if (entropies) return entropies;
    const answer = new Float64Array(size);
    for (let i = 0; i < size; ++i)
      for (let j = 1; j < size; ++j) {
        const p = marginals[i * size + j];
        if (p > 0) answer[j] -= p * Math.log(p);
      }
    return answer.map((h) => Math.max(h, 0));
  };

  // The list of a word's heads: one for the whole page, at the word or, on phones, at the bottom.
  const panel = html("section", { class: "heads-panel", role: "dialog", hidden: true });
  let owner = null; // the sentence whose word the list is about
  panel.addEventListener("keydown", (event) => owner && owner.panelKey(event));
  document.addEventListener("pointerdown", (event) => {
    if (owner && !panel.contains(event.target) && !owner.diagramHas(event.target)) owner.select(0);
  });

  const open = (section, source) => {
    const sentence = read(section), { n, size, names, gold } = sentence;
    const find = (selector) => section.querySelector(selector);
    const frame = find(".main");
    let fixed = new Map(), forbidden = new Set();
    let history = [], before = null, selected = 0, marked = null, tabWord = 1, traced = null;
    let picture = null, showAll = false, decided = new Set(), original = null;
    const solved = new Map();

    const pairs = (f = fixed, x = forbidden) => [
      [...f].map(([dependent, head]) => [head, dependent]),
      [...x].map((arc) => arc.split("-").map(Number)),
    ];
    const solve = (f, x) => {
      if (sentence.known) return sentence.known;
      const [included, excluded] = pairs(f, x), key = JSON.stringify([included, excluded]);
      if (!solved.has(key)) {
        const answer = trees.solve(sentence.graph, included, excluded);
        // Of trees that are equally good, the one that the library names.
        if (!included.length && !excluded.length) answer.heads = sentence.best;
        solved.set(key, answer);
      }
      return solved.get(key);
    };
    let now = solve(fixed, forbidden);
    const whole = now;
    const P = (head, dependent, of = now) => of.marginals[head * size + dependent];
    const numChoices = () => fixed.size + forbidden.size;
    const arcName = (head, dependent) => `${names[head]} → ${names[dependent]}`;
    const isForbidden = (head, dependent) =>
      forbidden.size > 0 && forbidden.has(`${head}-${dependent}`);

    // ---- choices ------------------------------------------------------------------------------
    const status = html("p", { class: "status", role: "status", "aria-live": "polite" });
    const tell = (words, isRefusal = false) => {
      status.textContent = words;
      status.classList.toggle("refusal", isRefusal);
    };
    const change = (words, edit) => {
      const f = new Map(fixed), x = new Set(forbidden);
      edit(f, x);
      const answer = solve(f, x);
      if (answer.leftOut) {
        const listed = answer.leftOut.slice(0, 6).map((j) => names[j]).join(", ");
        const rest = answer.leftOut.length - 6;
        const more = rest > 0 ? ` and ${rest} more` : "";
        return tell(`No tree has these choices together: ${listed}${more} would be left out. Nothing was changed.`, true);
      }
      history.push([fixed, forbidden]);
      move(f, x, answer);
      tell(`${words} ${consequence()}`);
    };
    const move = (f, x, answer) => {
      before = now;
      const differs = (arc) => x.has(arc) !== forbidden.has(arc);
      const arcs = [...x, ...forbidden].filter(differs).map((arc) => Number(arc.split("-")[1]));
      const words = [...f.keys(), ...fixed.keys()].filter((j) => f.get(j) !== fixed.get(j));
      decided = new Set([...arcs, ...words]);
      [fixed, forbidden, now, traced] = [f, x, answer, null];
      update();
    };
    const consequence = () => {
      const changed = [];
      for (let j = 1; j <= n; ++j)
        if (now.heads[j] !== before.heads[j]) changed.push(`${names[j]} depends on ${names[now.heads[j]]}`);
      if (!changed.length) return "The best tree stays the same.";
      const rest = changed.length - 6;
      return `In the best tree now: ${changed.slice(0, 6).join("; ")}${rest > 0 ? `; and ${rest} more` : ""}.`;
    };
    const fix = (head, j) => {
      if (fixed.get(j) === head)
        return change(`${names[j]} is free again.`, (f) => f.delete(j));
      change(`Fixed: ${names[j]} depends on ${names[head]}.`, (f, x) => {
        f.set(j, head);
        x.delete(`${head}-${j}`);
      });
    };
    const forbid = (head, j) => {
      const arc = `${head}-${j}`;
      if (forbidden.has(arc))
        return change(`Allowed again: ${arcName(head, j)}.`, (f, x) => x.delete(arc));
      change(`Forbidden: ${names[j]} does not depend on ${names[head]}.`, (f, x) => {
        x.add(arc);
        if (f.get(j) === head) f.delete(j);
      });
    };
    const undo = () => {
      if (!history.length) return;
      const [f, x] = history.pop();
      move(f, x, solve(f, x));
      tell("Undone.");
    };
    const reset = () => {
      if (numChoices()) change("All choices taken back.", (f, x) => (f.clear(), x.clear()));
    };

    // ---- the diagram --------------------------------------------------------------------------
    const arcsToDraw = () => {
      const arcs = [];
      for (let head = 0; head < size; ++head)
        for (let dependent = 1; dependent < size; ++dependent) {
          const p = P(head, dependent), isTraced = Boolean(traced) && traced[dependent] === head;
          let role = "candidate";
          if (now.heads[dependent] === head) role = "tree";
          else if (gold && gold[dependent] === head) role = "gold";
          if (fixed.get(dependent) === head) role = "fixed";
          else if (isForbidden(head, dependent)) role = "forbidden";
          else if (isTraced && role !== "tree") role = "other";
          const isSelected = selected === dependent && p >= 0.001;
          if (p >= 0.01 || role !== "candidate" || isSelected)
            arcs.push({ head, dependent, p, role, isTraced, isChosen: isSelected });
        }
      // What is drawn later lies above: by role, and roughly by probability, so that small changes
      // of it leave the order as it is.
      const roles = ["candidate", "gold", "forbidden", "tree", "other", "fixed"];
      for (const arc of arcs) arc.order = 10 * roles.indexOf(arc.role) + Math.floor(4 * arc.p);
      return arcs.sort((a, b) => a.order - b.order);
    };
    const marks = (j) => {
      const head = now.heads[j];
      const choice = fixed.has(j) ? ", fixed" : "";
      return {
        word: fixed.has(j) ? "fixed" : null,
        selected: j === selected,
        label: `${names[j]}: depends on ${names[head]}, ${percent(P(head, j))}${choice}`,
      };
    };
    // Reading sizes makes the browser lay everything out, so they are read once for each window.
    let room = 0, isNarrow = false;
    const measure = () => {
      room = frame.clientWidth - 8;
      isNarrow = room < layout.NARROW;
    };
    const drawDiagram = (isSteady = false) => {
      const focused = section.contains(document.activeElement) && document.activeElement.closest(".main .word");
      const scrolled = isNarrow ? frame.scrollLeft : 0;
      point(null);
      picture = draw(sentence, {
        words: Array.from({ length: n }, (_, k) => k + 1),
        arcs: arcsToDraw(),
        room,
        label: sentence.graph
          ? "Words and arcs. Arrow keys go through the words; Enter lists the heads of a word."
          : "Words and arcs",
        entropies: entropiesOf(sentence, now.marginals),
        marks,
        isButton: Boolean(sentence.graph),
        isSteady,
      }, picture);
      picture.element.style.setProperty("--natural", `${picture.element.getAttribute("width")}px`);
      picture.element.classList.toggle("short", Number(picture.element.getAttribute("width")) <= room && picture.lines.length === 1);
      if (picture.element.parentNode !== frame) frame.replaceChildren(picture.element);
      if (sentence.graph) leadTabTo(tabWord);
      if (isNarrow) {
        frame.scrollLeft = scrolled;
        cue(frame);
      }
      if (focused) wordElement(tabWord).focus({ preventScroll: true });
      emphasise(selected ? (arc) => arc.dependent === selected : traced ? (arc) => arc.isTraced : null);
    };
    const emphasise = (test) => {
      picture.element.classList.toggle("tracing", Boolean(test));
      for (const arc of picture.arcs) {
        arc.isIn = Boolean(test) && test(arc);
        arc.part.element.classList.toggle("traced", arc.isIn);
      }
      for (const { arc, part } of picture.labels) part.element.classList.toggle("traced", arc.isIn);
    };
    const wordElement = (j) => picture.wordElements.get(j);
    let entered = null; // the word that Tab leads to
    const leadTabTo = (j) => {
      entered?.setAttribute("tabindex", -1);
      entered = wordElement(j);
      entered.setAttribute("tabindex", 0);
    };

    // Arcs lie close together.  Without a word, a click leads to the word at the nearest arc's end;
    // with one, only arcs into this word are meant.
    const nearest = (event, reach) => {
      const matrix = picture.element.getScreenCTM().inverse();
      const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
      let found = null, least = reach;
      for (const arc of picture.arcs) {
        if (selected && arc.dependent !== selected) continue;
        for (const points of (arc.outlines ||= arc.strokes.map(layout.outline)))
          for (let k = 1; k < points.length; ++k) {
            const [x0, y0] = points[k - 1], dx = points[k][0] - x0, dy = points[k][1] - y0;
            const t = ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1);
            const along = Math.max(0, Math.min(1, t));
            const distance = Math.hypot(x - x0 - along * dx, y - y0 - along * dy) - 2 * (arc.p ?? 1);
            if (distance < least) [least, found] = [distance, arc];
          }
      }
      return found;
    };
    frame.addEventListener("click", (event) => {
      if (!sentence.graph) return;
      const word = event.target.closest(".word");
      if (word) {
        const j = Number(word.dataset.word);
        return select(j === selected ? 0 : j);
      }
      const isTouch = event.pointerType === "touch";
      const arc = nearest(event, isTouch ? 20 : 8);
      if (!arc) return select(0);
      if (!selected || isTouch) return select(arc.dependent, arc.head);
      if (arc.role === "forbidden") forbid(arc.head, arc.dependent);
      else fix(arc.head, arc.dependent);
    });
    frame.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "mouse" || !sentence.graph) return;
      point(event.target.closest(".word") ? null : nearest(event, 8));
    });
    let pointed = null; // the arc that is meant, if it can be told
    const point = (arc) => {
      frame.classList.toggle("pointing", Boolean(arc));
      pointed?.part.element.classList.remove("near");
      arc?.part.element.classList.add("near");
      pointed = arc;
    };
    frame.addEventListener("keydown", (event) => {
      const word = event.target.closest(".word");
      if (!word || event.altKey || event.ctrlKey || event.metaKey) return;
      const j = Number(word.dataset.word), way = sentence.rtl ? -1 : 1;
      const to = {
        ArrowRight: j + way, ArrowLeft: j - way, Home: 1, End: n,
      }[event.key];
      if (to !== undefined) {
        event.preventDefault();
        event.stopPropagation();
        if (to >= 1 && to <= n) focusWord(to);
      } else if (["Enter", " ", "ArrowDown"].includes(event.key)) {
        event.preventDefault();
        event.stopPropagation();
        select(j, null, true);
      } else if (event.key === "Escape" && selected) select(0);
    });
    const focusWord = (j) => {
      tabWord = j;
      leadTabTo(j);
      wordElement(j).focus();
    };

    // ---- the list of heads --------------------------------------------------------------------
    const select = (j, head = null, focusList = false) => {
      if (owner && owner !== api) owner.select(0);
      if (!j && !selected) return;
      const last = selected, hadFocus = panel.contains(document.activeElement);
      [selected, marked, traced, showAll] = [j, head, null, false];
      owner = j ? api : null;
      if (j) tabWord = j;
      drawDiagram();
      drawPanel();
      showTraced(-1);
      if (j && focusList) panel.querySelector(".choose").focus({ preventScroll: true });
      else if (!j && hadFocus) wordElement(last).focus({ preventScroll: true });
    };
    const drawPanel = () => {
      panel.hidden = !selected;
      if (!selected) return panel.replaceChildren();
      const focus = panel.contains(document.activeElement) ? document.activeElement.dataset.key : null;
      const j = selected;
      // Where this word itself is decided: what its heads would be, given all other choices.
      const isDecided = fixed.has(j) || [...forbidden].some((arc) => arc.endsWith(`-${j}`));
      let table = now;
      if (isDecided) {
        const others = new Map(fixed);
        others.delete(j);
        table = solve(others, new Set([...forbidden].filter((arc) => !arc.endsWith(`-${j}`))));
      }
      const rows = [];
      for (let head = 0; head < size; ++head) {
        const p = P(head, j, table);
        if (head !== j && (P(head, j, whole) > 0 || isForbidden(head, j))) rows.push([p, head]);
      }
      rows.sort((a, b) => b[0] - a[0]);
      const isListed = ([p, head], rank) =>
        showAll || rank < FEWEST_ROWS || p >= 0.01 || head === marked ||
        isForbidden(head, j) || fixed.get(j) === head || (gold && gold[j] === head);
      const listed = rows.filter(isListed), hidden = rows.filter((...row) => !isListed(...row));
      const isOnly = rows.filter(([p, head]) => p > 0 && !isForbidden(head, j)).length === 1;
      const kinds = sentence.below.map((line) => line[j - 1]).filter((word) => word !== "_" && word);
      panel.setAttribute("aria-label", `Heads of ${names[j]}`);
      panel.replaceChildren(
        html("header", {},
          html("h3", {}, "Head of ", bdi(names[j]), kinds.length ? ` (${kinds.join(", ")})` : "",
            isDecided ? ", given all other choices" : ""),
          html("button", { type: "button", class: "close", "aria-label": "Close", "data-key": "close", onclick: () => select(0) }, "✕")),
        html("ul", {}, ...listed.map(([p, head]) => drawRow(p, head, j, isOnly))),
        hidden.length
          ? html("button", { type: "button", class: "more", "data-key": "more", onclick: () => ((showAll = true), drawPanel(), place()) },
              `${hidden.length} more, together ${percent(hidden.reduce((sum, [p]) => sum + p, 0))}`)
          : null,
      );
      place();
      const again = focus && [...panel.querySelectorAll("button")].find((b) => b.dataset.key === focus && !b.disabled);
      if (focus) (again || panel.querySelector(".choose")).focus({ preventScroll: true });
    };
    const drawRow = (p, head, j, isOnly) => {
      const isFixed = fixed.get(j) === head, isOut = isForbidden(head, j);
      const show = () => emphasise((arc) => arc.dependent === j && arc.head === head);
      return html("li", { class: `${isFixed ? "fixed " : ""}${isOut ? "forbidden " : ""}${head === marked ? "marked" : ""}` },
        html("button", {
            type: "button", class: "choose", "data-key": `fix-${head}`, "aria-pressed": String(isFixed),
            "aria-label": `${isFixed ? "Free" : "Fix"}: ${names[j]} depends on ${names[head]}, ${percent(p)}`,
            onclick: () => fix(head, j), onpointerenter: show, onfocus: show,
            onpointerleave: () => emphasise((arc) => arc.dependent === j),
          },
          html("span", { class: "bar", style: `--share:${p.toFixed(4)}` }),
          html("span", { class: "share" }, percent(p)),
          html("span", { class: "name" }, bdi(names[head])),
          gold && gold[j] === head ? html("span", { class: "gold-mark" }, "gold") : null),
        html("button", {
            type: "button", class: "forbid", "data-key": `forbid-${head}`, "aria-pressed": String(isOut),
            "aria-label": `${isOut ? "Allow" : "Forbid"} ${names[head]}`, disabled: isOnly && p > 0 && !isOut,
            onclick: () => forbid(head, j),
          }, isOut ? "allow" : "forbid"));
    };
    // Below the word; on phones style sheets put the list at the bottom.
    const place = () => {
      const box = wordElement(selected).getBoundingClientRect();
      const most = document.documentElement.clientWidth - panel.offsetWidth - 8;
      const isSheet = getComputedStyle(panel).position === "fixed";
      panel.style.left = `${Math.max(8, Math.min(box.left - 40, most)) + scrollX}px`;
      panel.style.top = `${box.bottom + 6 + scrollY}px`;
      if (isSheet && box.bottom > innerHeight / 2)
        scrollBy({ top: box.bottom - innerHeight / 2 });
    };
    const panelKey = (event) => {
      if (isUndo(event)) {
        event.preventDefault();
        return undo();
      }
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const row = event.target.closest("li"), kind = event.target.classList[0];
      const go = (element) => {
        event.preventDefault();
        event.stopPropagation();
        if (element) element.focus();
      };
      if (event.key === "Escape") {
        event.stopPropagation();
        select(0);
      } else if (row && event.key === "ArrowDown")
        go(row.nextElementSibling?.querySelector(`.${kind}`) || panel.querySelector("button.more"));
      else if (row && event.key === "ArrowUp") {
        if (row.previousElementSibling) go(row.previousElementSibling.querySelector(`.${kind}`));
        else go(wordElement(selected));
      } else if (row && (event.key === "ArrowRight" || event.key === "ArrowLeft"))
        go(row.querySelector(event.key === "ArrowRight" ? ".forbid" : ".choose"));
      else if (row && event.key === "Delete") {
        event.preventDefault();
        row.querySelector(".forbid").click();
      }
    };
    const isUndo = (event) => event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey;
    section.addEventListener("keydown", (event) => {
      if (!isUndo(event) || event.target.matches("input")) return;
      event.preventDefault();
      undo();
    });

    // ---- what follows -------------------------------------------------------------------------
    const chips = html("span", { class: "chips" });
    const evidence = html("span", { class: "evidence" });
    const undoButton = html("button", { type: "button", onclick: undo }, "Undo");
    const resetButton = html("button", { type: "button", onclick: reset }, "Reset");
    const chip = (kind, head, j, action) =>
      html("button", { type: "button", class: `chip ${kind}`, "aria-label": `Take back: ${names[j]} ${kind === "fixed" ? "depends" : "does not depend"} on ${names[head]}`, onclick: action },
        bdi(names[j]), kind === "fixed" ? " depends on " : " not on ", bdi(names[head]), " ✕");
    const showChoices = () => {
      const [included, excluded] = pairs();
      chips.replaceChildren(
        ...included.map(([head, j]) => chip("fixed", head, j, () => fix(head, j))),
        ...excluded.map(([head, j]) => chip("forbidden", head, j, () => forbid(head, j))),
      );
      const count = numChoices();
      evidence.replaceChildren(
        ...(count
          ? [count > 1 ? "these choices together: " : "this choice: ", html("b", {}, percent(trees.share(now, whole)))]
          : ["Choose a word to see its heads, and to fix or forbid one."]),
      );
      undoButton.disabled = !history.length;
      resetButton.disabled = !count;
      for (const button of [downloadButton, copyButton]) button.disabled = !fixed.size;
    };

    const showFact = (name, value, was) => {
      const cell = find(`[data-fact="${name}"] dd`);
      if (!cell) return;
      cell.replaceChildren(value);
      if (numChoices() && was !== value) cell.append(html("small", {}, ` was ${was}`));
    };
    const agreement = (heads) => {
      let same = 0;
      for (let j = 1; j <= n; ++j) same += heads[j] === gold[j];
      return `${same} of ${n} words, ${percent(same / n)}`;
    };
    const showFacts = () => {
      const of = (answer, share) => ({
        entropy: `${answer.entropy.toFixed(2)}\u00a0nats`,
        equally: `${Math.exp(answer.entropy) < 100 ? Math.exp(answer.entropy).toFixed(1) : largeNumber(Math.exp(answer.entropy))} equally likely trees`,
        best: percent(answer.bestProbability),
        "log-z": answer.logZ.toFixed(2),
        ...(gold
          ? {
              gold: percent(keepsGold(answer) ? Math.min(sentence.goldProbability / share, 1) : 0),
              "best-right": agreement(answer.heads),
              "risk-right": agreement(trees.minimumRisk(sentence.graph, answer)),
            }
          : {}),
      });
      original ||= of(whole, 1);
      const old = original, current = numChoices() ? of(now, trees.share(now, whole)) : original;
      for (const name of Object.keys(current)) showFact(name, current[name], old[name]);
    };
    const keepsGold = (answer) => gold.every((head, j) => !j || answer.marginals[head * size + j] > 0);

    const wordButton = (j) =>
      html("button", { type: "button", class: "link", onclick: () => (wordElement(j).scrollIntoView({ block: "nearest", inline: "center" }), select(j, null, true)) }, bdi(names[j]));
    const likeliest = (j, count) =>
      Array.from({ length: size }, (_, head) => [P(head, j), head])
        .sort((a, b) => b[0] - a[0]).slice(0, count).filter(([p]) => p >= 0.005);
    const showUnsure = () => {
      const entropies = entropiesOf(sentence, now.marginals);
      const ranked = Array.from({ length: n }, (_, k) => k + 1)
        .filter((j) => entropies[j] >= UNCERTAIN_NATS).sort((a, b) => entropies[b] - entropies[a]);
      const rows = ranked.slice(0, 6).map((j) =>
        html("tr", {},
          html("th", { scope: "row" }, html("mark", {}, wordButton(j)), html("span", { class: "entropy" }, `${entropies[j].toFixed(1)}\u00a0nats`)),
          html("td", {}, html("ul", { class: "heads" }, ...likeliest(j, 4).map(([p, head]) =>
            html("li", {}, html("span", { class: "bar", style: `--share:${p.toFixed(4)}` }), bdi(names[head]), " ", html("span", { class: "share" }, percent(p))))))));
      find(".unsure").replaceChildren(
        html("h3", {}, rows.length ? "Uncertain words and their likeliest heads" : "Uncertain words"),
        rows.length ? html("table", {}, html("tbody", {}, ...rows)) : html("p", {}, "None: every head is clear."),
        ranked.length > 6 ? html("p", { class: "more" }, `and ${ranked.length - 6} more`) : "",
      );
    };

    // Of each other word that the last choice moved by two points or more, the head that moved most.
    const changes = html("div", { class: "changes", hidden: true });
    const showChanges = () => {
      changes.hidden = !before;
      if (!before) return;
      const moved = [];
      for (let j = 1; j <= n; ++j) {
        let total = 0, most = 0;
        for (let head = 0; head < size; ++head) {
          const by = P(head, j) - P(head, j, before);
          total += Math.abs(by) / 2;
          if (Math.abs(by) > Math.abs(P(most, j) - P(most, j, before))) most = head;
        }
        if (total >= 0.02 && !decided.has(j)) moved.push([total, j, most]);
      }
      moved.sort((a, b) => b[0] - a[0]);
      const items = moved.slice(0, 8).map(([, j, head]) =>
        html("li", {}, wordButton(j), " on ", bdi(names[head]), `: ${briefPercent(P(head, j, before))} → ${briefPercent(P(head, j))}`));
      changes.replaceChildren(
        html("h3", {}, moved.length ? "What the last choice changed elsewhere" : "The last choice changed no other word by two points or more"),
        html("ul", {}, ...items),
        moved.length > 8 ? html("p", { class: "more" }, `and ${moved.length - 8} more`) : "",
      );
    };

    // ---- the best trees -----------------------------------------------------------------------
    const others = sentence.trees.map(([p, differences]) => {
      const heads = [...sentence.best];
      for (const [j, head] of differences) heads[j] = head;
      return { p, heads, words: differences.map(([j]) => j) };
    });
    // The words in which a tree differs, their old and new heads, and the neighbours of all these.
    const excerpt = ({ heads, words }) => {
      const near = new Set();
      const chosen = words.length ? words.flatMap((j) => [j, heads[j], sentence.best[j]]) : Array.from({ length: n }, (_, k) => k + 1);
      for (const j of chosen.filter(Boolean)) for (const i of [j - 1, j, j + 1]) if (i >= 1 && i <= n) near.add(i);
      const listed = [];
      for (let j = 1; j <= n; ++j)
        if (near.has(j)) listed.push(j);
        else if (listed.at(-1) !== 0) listed.push(0);
      return listed;
    };
    const cards = [...section.querySelectorAll(".card")];
    const buttons = cards.map((card, rank) => {
      const tree = others[rank], head = card.querySelector(".tree-head");
      const button = html("button", { type: "button", class: "tree-head", "aria-pressed": "false" }, ...head.childNodes, html("span", { class: "bar" }));
      button.addEventListener("focus", () => trace(rank));
      button.addEventListener("click", () => (button.focus(), trace(rank)));
      head.replaceWith(button);
      const words = excerpt(tree);
      const isPart = words.length < n;
      const arcs = tree.heads.flatMap((h, j) =>
        j ? [{ head: h, dependent: j, p: null, role: h === sentence.best[j] ? "tree" : "other" }] : []);
      const said = arcs.map((arc) => `${names[arc.dependent]} depends on ${names[arc.head]}`).join("; ");
      const drawn = draw({ ...sentence, below: [] }, { words, arcs, room: Infinity, label: `Tree ${rank + 1}: ${said}`, entropies: null });
      if (rank || drawn.element.width.baseVal.value <= 640) {
        const pane = html("div", { class: "scroll", role: "group", "aria-label": `Tree ${rank + 1}`, dir: sentence.rtl ? "rtl" : null }, drawn.element);
        pane.style.setProperty("--natural", `${drawn.element.getAttribute("width")}px`);
        button.after(pane);
        drawn.element.classList.toggle("whole", !isPart);
      }
      return button;
    });
    const showCards = () => {
      const share = sentence.known ? 1 : trees.share(now, whole);
      others.forEach(({ p, heads }, rank) => {
        const keeps = heads.every((head, j) => !j || (fixed.has(j) ? fixed.get(j) === head : !isForbidden(head, j)));
        const chance = keeps ? Math.min(p / share, 1) : 0, text = keeps ? percent(chance) : "ruled out";
        cards[rank].classList.toggle("ruled-out", !keeps);
        cards[rank].querySelector(".chance").textContent = text;
        cards[rank].querySelector(".bar").style.setProperty("--share", chance.toFixed(4));
        buttons[rank].setAttribute("aria-label", `Tree ${rank + 1} of ${others.length}, ${keeps ? `probability ${text}` : text}`);
      });
    };
    const showTraced = (chosen) =>
      buttons.forEach((button, rank) => {
        button.setAttribute("aria-pressed", String(rank === chosen));
        cards[rank].classList.toggle("traced", rank === chosen);
      });
    const trace = (rank) => {
      if (selected) select(0);
      traced = others[rank].heads;
      drawDiagram();
      showTraced(rank);
      for (const button of buttons) button.tabIndex = button === buttons[rank] ? 0 : -1;
    };
    const release = () => {
      if (selected) select(0);
      if (!traced) return;
      traced = null;
      showTraced(-1);
      drawDiagram();
    };
    buttons.forEach((button, rank) => (button.tabIndex = rank ? -1 : 0));

    // ---- to take home -------------------------------------------------------------------------
    // The head of a word that has no other, such as one that was given before.
    const onlyHead = (j) => {
      const heads = [];
      for (let i = 0; i < size; ++i)
        if (i !== j && sentence.graph.scores[i * size + j] > -Infinity) heads.push(i);
      return heads.length === 1 ? heads[0] : undefined;
    };
    const column = (text) => text.replace(/[\t\n\r]+/g, " ").trim() || "_";
    const conllu = () => {
      const lines = [`# sent_id = ${column(sentence.id)}`];
      if (column(sentence.id) !== sentence.id) lines.push(`# arborand_sent_id = ${JSON.stringify(sentence.id)}`);
      if (sentence.text) lines.push(`# text = ${column(sentence.text)}`);
      sentence.tokens.forEach((token, i) => {
        const upos = sentence.upos ? column(sentence.upos[i]) : "_";
        lines.push([i + 1, column(token), "_", upos, "_", "_", fixed.get(i + 1) ?? onlyHead(i + 1) ?? "_", "_", "_", "_"].join("\t"));
      });
      return lines.join("\n") + "\n\n";
    };
    const fileName = `${sentence.id.replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 80) || "sentence"}.conllu`;
    const download = () => {
      const address = URL.createObjectURL(new Blob([conllu()], { type: "text/plain" }));
      html("a", { href: address, download: fileName }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
      tell(forbidden.size ? "Saved with the fixed heads; CoNLL-U has no place for forbidden ones." : "Saved with the fixed heads.");
    };
    const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
    const command = () => `${source} --conllu ${quoted(fileName)} --keep-heads --on-error skip`;
    const copyCommand = async () => {
      const text = command();
      try {
        await navigator.clipboard.writeText(text);
        tell(`Copied: ${text}`);
      } catch {
        tell(text);
      }
    };
    const downloadButton = html("button", { type: "button", title: "The sentence with its fixed heads", onclick: download }, "Save CoNLL-U");
    const copyButton = html("button", { type: "button", title: "The command that draws trees with these heads", onclick: copyCommand }, "Copy command");

    // ---- all together -------------------------------------------------------------------------
    const update = () => {
      showFacts();
      showChoices();
      showUnsure();
      showChanges();
      showCards();
      drawDiagram(Boolean(selected));
      drawPanel();
    };
    section.querySelector(".slices")?.remove();
    section.classList.add("live");
    const api = { select, release, panelKey, redraw: () => (measure(), drawDiagram(), selected && place()), focusWord: () => wordElement(tabWord).focus(), diagramHas: (element) => frame.contains(element), fix, forbid, undo, reset, conllu, command, state: () => ({ fixed: [...fixed], forbidden: [...forbidden], now, whole, selected, picture }) };
    measure();
    drawDiagram();
    showCards();
    if (sentence.graph) {
      const tools = html("div", { class: "tools", role: "group", "aria-label": "Choices" }, undoButton, resetButton, chips, evidence, html("span", { class: "keep" }, downloadButton, source ? copyButton : null));
      frame.before(tools, status);
      find(".facts").prepend(changes);
      showChoices();
      showUnsure();
    } else frame.before(html("p", { class: "status" }, `Exploring is off: ${sentence.reason}`));
    return api;
  };

  // Shadows at the sides of what can be scrolled, as long as there is more.
  const cue = (pane) => {
    const more = pane.scrollWidth - pane.clientWidth, from = Math.abs(pane.scrollLeft);
    const atStart = from > 2, atEnd = more - from > 2, isLeft = getComputedStyle(pane).direction === "ltr";
    pane.classList.toggle("more-left", isLeft ? atStart : atEnd);
    pane.classList.toggle("more-right", isLeft ? atEnd : atStart);
    pane.classList.toggle("overflows", more > 2);
    if (more > 2 && !pane.querySelector("[tabindex]")) pane.tabIndex = 0;
  };

  return { open, panel, cue };
})();
