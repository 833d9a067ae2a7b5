// The list of a word's heads, in which they are fixed and forbidden: one for the whole page.  It opens
// at the word, or at the bottom on phones; as a question, it stays below the diagram.
const headsList = (() => {
  const { html, bdi, bar, button } = diagram;
  const { percent, nats, enumerate } = markup;
  const { isLabel } = choices;
  const FEWEST_ROWS = 6, LEAST_LISTED = 0.01, MOST_NAMED = 3;
  const AWAY = 6, EDGE = 8; // pixels from the word, and from the window's edge
  const ABOVE = 70; // pixels between a word and a list at the bottom: its arcs stay visible

  const element = html("section", { class: "heads-panel", role: "dialog", hidden: true });
  // The view whose word the list is about, a head to highlight, whether all heads are listed and, if
  // it is a question, { value, actions, stop, undo, end }.
  let owner = null, marked = null, isComplete = false, question = null;

  const show = (view, { head, hasFocus, asked }) => {
    const last = question;
    [owner, marked, isComplete, question] = [view, head, false, asked];
    last?.end();
    element.classList.toggle("docked", Boolean(question));
    // An element with CSS containment, such as a sentence, cannot have children fixed to the window.
    if (question && innerWidth >= layout.NARROW) view.frame.after(element);
    else document.body.append(element);
    draw();
    if (hasFocus) focusFirst();
    explore.emphasise(view, (arc) => arc.dependent === view.selected);
  };
  const hide = () => {
    const last = question;
    [owner, question] = [null, null];
    last?.end();
    element.hidden = true;
    element.replaceChildren();
  };
  const focusFirst = () => element.querySelector(".choose").focus({ preventScroll: true });

  const draw = () => {
    const { selected: word, sentence, choices } = owner;
    const focused = hasFocus() ? document.activeElement.dataset.key : null;
    const rows = choices.headsOf(word);
    const isListed = ({ head, p }, rank) =>
      isComplete || (!question && rank < FEWEST_ROWS) || p >= LEAST_LISTED || head === marked ||
      choices.isForbidden(head, word) || choices.headOf(word) === head || sentence.gold?.[word] === head;
    const listed = rows.filter(isListed), hidden = rows.filter((...row) => !isListed(...row));
    const isOnly = rows.filter(({ head, p }) => p > 0 && !choices.isForbidden(head, word)).length === 1;
    const left = question && choices.headOf(word) === undefined
      ? queue.consequences(choices, word, listed.map(({ head }) => head)) : [];
    element.hidden = false;
    element.setAttribute("aria-label", `Heads of ${sentence.names[word]}`);
    element.replaceChildren(
      drawTitle(word),
      html("ul", {}, ...listed.map((row, rank) => drawRow(row, rank, word, isOnly, left[rank]))),
      ...(hidden.length ? [drawMore(hidden)] : []),
      ...(question ? [html("footer", {}, ...question.actions)] : []),
    );
    place();
    if (!focused) return;
    const again = [...element.querySelectorAll("button")]
      .find((one) => one.dataset.key === focused && !one.disabled);
    if (again) again.focus({ preventScroll: true });
    else focusFirst();
  };
  const drawTitle = (word) => {
    const { sentence, choices } = owner, name = bdi(sentence.names[word]);
    const kinds = [sentence.upos?.[word - 1]].filter((kind) => kind && kind !== "_");
    const known = choices.headOf(word);
    const title = !question
      ? ["Head of ", name, kinds.length ? ` (${kinds.join(", ")})` : "",
        choices.isDecided(word) ? ", given all other choices" : ""]
      : known === undefined ? ["What does ", name, " depend on?"]
      : ["What is the relation of ", name, " to ", bdi(sentence.names[known]), "?"];
    return html("header", {},
      html("h3", {}, ...title),
      question ? html("p", { class: "value" }, `settles ${nats(question.value)} on average`) : null,
      button({
        class: "close", "aria-label": question ? "Stop deciding" : "Close", "data-key": "close",
        onclick: question ? question.stop : () => explore.select(owner, 0),
      }, "✕"));
  };
  const drawMore = (hidden) => {
    const total = hidden.reduce((sum, { p }) => sum + p, 0);
    const complete = () => {
      isComplete = true;
      draw();
    };
    return button({ class: "more", "data-key": "more", onclick: complete },
      `${hidden.length} more, together ${percent(total)}`);
  };
  const drawRow = ({ head, p }, rank, word, isOnly, left) => {
    const view = owner, { sentence: { names, gold }, choices } = view;
    const isFixed = choices.headOf(word) === head, isForbidden = choices.isForbidden(head, word);
    const emphasise = () => explore.emphasise(view, (arc) => arc.dependent === word && arc.head === head);
    const classes = [isFixed && "fixed", isForbidden && "forbidden", head === marked && "marked"];
    const note = left ? sayLeft(names, left) : "", [label] = choices.labelsOf(head, word);
    return html("li", { class: classes.filter(Boolean).join(" ") },
      button({
          class: "choose", "data-key": `fix-${head}`, "aria-pressed": String(isFixed),
          "aria-label": `${isFixed ? "Free" : "Fix"}: ${names[word]} depends on ${names[head]}, ` +
            percent(p) + (note && `, ${note}`),
          onclick: () => choices.toggleFixed(head, word), onpointerenter: emphasise, onfocus: emphasise,
          onpointerleave: () => explore.emphasise(view, (arc) => arc.dependent === word),
        },
        rank < 9 ? html("kbd", {}, String(rank + 1)) : null,
        bar(p),
        html("span", { class: "share" }, percent(p)),
        html("span", { class: "name" }, bdi(names[head]),
          label && !isFixed ? html("span", { class: "relation" }, ` ${label.label} ${percent(label.p)}`) : "",
          note ? html("span", { class: "left" }, note) : ""),
        gold?.[word] === head ? html("span", { class: "gold-mark" }, goldMark(view.sentence, word)) : null),
      button({
          class: "forbid", "data-key": `forbid-${head}`, "aria-pressed": String(isForbidden),
          "aria-label": `${isForbidden ? "Allow" : "Forbid"} ${names[head]}`,
          disabled: isOnly && p > 0 && !isForbidden, onclick: () => choices.toggleForbidden(head, word),
        }, isForbidden ? "allow" : "forbid"),
      isFixed ? drawLabels(head, word) : null);
  };
  const goldMark = ({ deprel }, word) => (deprel ? `gold ◆ ${deprel[word - 1]}` : "gold");
  const sayLeft = (names, { entropy, settled }) => {
    const words = enumerate(settled.map((j) => names[j]), MOST_NAMED);
    return `leaves ${nats(entropy)}${words && `; settles ${words}`}`;
  };
  // The labels of a fixed arc, to choose one.
  const drawLabels = (head, word) => {
    const { choices, sentence } = owner, labels = choices.labelsOf(head, word);
    if (!labels.length) return null;
    const decided = choices.labelOf(word);
    return html("div", { class: "labels", role: "group", "aria-label": `Relation of ${sentence.names[word]}` },
      ...labels.map(({ label, p }) => {
        const isChosen = label === decided;
        const fix = { kind: "fix", head, dependent: word, ...(!isChosen && { label }) };
        return button({
          class: "label-choice", "data-key": `label-${label}`, "aria-pressed": String(isChosen),
          disabled: !isLabel(label), onclick: () => choices.decide([fix]),
        }, label, " ", html("span", { class: "share" }, percent(p)));
      }));
  };

  // Below the word if there is space, else beside it, as low as the window allows.  On phones, and as
  // a question, the style sheet puts the list at the bottom: it must not hide the word.
  const place = () => {
    if (!owner) return;
    const { position } = getComputedStyle(element);
    const box = owner.picture.wordElements.get(owner.selected).getBoundingClientRect();
    if (position !== "absolute") {
      const most = innerHeight - element.offsetHeight - ABOVE;
      if (box.bottom > most) scrollBy({ top: box.bottom - most });
      return;
    }
    const { clientWidth } = document.documentElement, width = element.offsetWidth;
    const lowest = innerHeight - element.offsetHeight - EDGE, isBelow = box.bottom + AWAY <= lowest;
    let left = Math.max(EDGE, Math.min(box.left - 40, clientWidth - width - EDGE));
    if (!isBelow) left = box.right + width + 2 * EDGE < clientWidth ? box.right + EDGE : box.left - width - EDGE;
    const top = isBelow ? box.bottom + AWAY : Math.max(EDGE, lowest);
    element.style.left = `${Math.max(EDGE, left) + scrollX}px`;
    element.style.top = `${top + scrollY}px`;
  };

  const hasFocus = () => element.contains(document.activeElement);
  // Press the button of the nth row, or the nth label of the head that is fixed.
  const pressNth = (n) => {
    const labels = question ? element.querySelectorAll(".fixed .label-choice:enabled") : [];
    (labels.length ? labels : element.querySelectorAll("li > .choose"))[n - 1]?.click();
  };
  element.addEventListener("keydown", (event) => {
    if (explore.isUndo(event)) {
      event.preventDefault();
      event.stopPropagation();
      return question ? question.undo() : owner.choices.undo();
    }
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const row = event.target.closest("li"), kind = event.target.classList[0];
    const go = (target) => {
      event.preventDefault();
      event.stopPropagation();
      target?.focus();
    };
    if (event.key === "Escape") {
      event.stopPropagation();
      if (question) question.stop();
      else explore.select(owner, 0);
    } else if (!row) return;
    else if (event.key === "ArrowDown")
      go(row.nextElementSibling?.querySelector(`.${kind}`) || element.querySelector("button.more"));
    else if (event.key === "ArrowUp")
      go(row.previousElementSibling?.querySelector(`.${kind}`) || owner.picture.wordElements.get(owner.selected));
    else if (event.key === "ArrowRight") go(row.querySelector(".forbid"));
    else if (event.key === "ArrowLeft") go(row.querySelector(".choose"));
    else if (event.key === "Delete") {
      event.preventDefault();
      row.querySelector(".forbid").click();
    }
  });
  document.addEventListener("pointerdown", (event) => {
    if (!owner || question || element.contains(event.target) || owner.frame.contains(event.target)) return;
    explore.select(owner, 0);
  });

  return { element, show, hide, draw, place, hasFocus, pressNth, owner: () => owner };
})();
