// The list of a word's heads, in which they are fixed and forbidden: one for the whole page, at the
// word or, on phones, at the bottom.
const headsList = (() => {
  const { html, bdi } = diagram;
  const { percent } = markup;
  const FEWEST_ROWS = 6, LEAST_LISTED = 0.01;

  const element = html("section", { class: "heads-panel", role: "dialog", hidden: true });
  // The view whose word the list is about, a head to point out, and whether all heads are listed.
  let owner = null, marked = null, isComplete = false;

  const show = (view, head, hasFocus) => {
    [owner, marked, isComplete] = [view, head, false];
    draw();
    if (hasFocus) element.querySelector(".choose").focus({ preventScroll: true });
  };
  const hide = () => {
    owner = null;
    element.hidden = true;
    element.replaceChildren();
  };

  const draw = () => {
    const { selected: word, sentence, choices } = owner;
    const focused = hasFocus() ? document.activeElement.dataset.key : null;
    const rows = choices.headsOf(word);
    const isListed = ({ head, p }, rank) =>
      isComplete || rank < FEWEST_ROWS || p >= LEAST_LISTED || head === marked ||
      choices.isForbidden(head, word) || choices.headOf(word) === head || sentence.gold?.[word] === head;
    const listed = rows.filter(isListed), hidden = rows.filter((...row) => !isListed(...row));
    const isOnly = rows.filter(({ head, p }) => p > 0 && !choices.isForbidden(head, word)).length === 1;
    element.hidden = false;
    element.setAttribute("aria-label", `Heads of ${sentence.names[word]}`);
    element.replaceChildren(
      drawTitle(word),
      html("ul", {}, ...listed.map((row) => drawRow(row, word, isOnly))),
      ...(hidden.length ? [drawMore(hidden)] : []),
    );
    place();
    if (!focused) return;
    const again = [...element.querySelectorAll("button")]
      .find((button) => button.dataset.key === focused && !button.disabled);
    (again || element.querySelector(".choose")).focus({ preventScroll: true });
  };
  const drawTitle = (word) => {
    const { sentence, choices } = owner;
    const kinds = sentence.below.map((row) => row[word - 1]).filter((kind) => kind && kind !== "_");
    return html("header", {},
      html("h3", {}, "Head of ", bdi(sentence.names[word]), kinds.length ? ` (${kinds.join(", ")})` : "",
        choices.isDecided(word) ? ", given all other choices" : ""),
      html("button", {
        type: "button", class: "close", "aria-label": "Close", "data-key": "close",
        onclick: () => explore.select(owner, 0),
      }, "✕"));
  };
  const drawMore = (hidden) => {
    const total = hidden.reduce((sum, { p }) => sum + p, 0);
    const complete = () => {
      isComplete = true;
      draw();
    };
    return html("button", { type: "button", class: "more", "data-key": "more", onclick: complete },
      `${hidden.length} more, together ${percent(total)}`);
  };
  const drawRow = ({ head, p }, word, isOnly) => {
    const view = owner, { sentence: { names, gold }, choices } = view;
    const isFixed = choices.headOf(word) === head, isForbidden = choices.isForbidden(head, word);
    const emphasise = () => explore.emphasise(view, (arc) => arc.dependent === word && arc.head === head);
    const classes = [isFixed && "fixed", isForbidden && "forbidden", head === marked && "marked"];
    return html("li", { class: classes.filter(Boolean).join(" ") },
      html("button", {
          type: "button", class: "choose", "data-key": `fix-${head}`, "aria-pressed": String(isFixed),
          "aria-label": `${isFixed ? "Free" : "Fix"}: ${names[word]} depends on ${names[head]}, ${percent(p)}`,
          onclick: () => choices.toggleFixed(head, word), onpointerenter: emphasise, onfocus: emphasise,
          onpointerleave: () => explore.emphasise(view, (arc) => arc.dependent === word),
        },
        html("span", { class: "bar", style: `--share:${p.toFixed(4)}` }),
        html("span", { class: "share" }, percent(p)),
        html("span", { class: "name" }, bdi(names[head])),
        gold?.[word] === head ? html("span", { class: "gold-mark" }, "gold") : null),
      html("button", {
          type: "button", class: "forbid", "data-key": `forbid-${head}`, "aria-pressed": String(isForbidden),
          "aria-label": `${isForbidden ? "Allow" : "Forbid"} ${names[head]}`,
          disabled: isOnly && p > 0 && !isForbidden, onclick: () => choices.toggleForbidden(head, word),
        }, isForbidden ? "allow" : "forbid"));
  };

  // Below the word.  On phones the style sheet puts the list at the bottom of the window.
  const place = () => {
    const box = owner.picture.wordElements.get(owner.selected).getBoundingClientRect();
    const most = document.documentElement.clientWidth - element.offsetWidth - 8;
    element.style.left = `${Math.max(8, Math.min(box.left - 40, most)) + scrollX}px`;
    element.style.top = `${box.bottom + 6 + scrollY}px`;
    const isAtBottom = getComputedStyle(element).position === "fixed";
    if (isAtBottom && box.bottom > innerHeight / 2) scrollBy({ top: box.bottom - innerHeight / 2 });
  };

  const hasFocus = () => element.contains(document.activeElement);
  element.addEventListener("keydown", (event) => {
    if (explore.isUndo(event)) {
      event.preventDefault();
      return owner.choices.undo();
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
      explore.select(owner, 0);
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
    if (owner && !element.contains(event.target) && !owner.frame.contains(event.target)) explore.select(owner, 0);
  });

  return { element, show, hide, draw, place, hasFocus, owner: () => owner };
})();
