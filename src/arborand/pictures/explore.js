// Explores one sentence: draws the choices and their consequences, and turns what a reader does with
// the diagram into decisions.  A view has the state of the screen; its choices have the rest.
const explore = (() => {
  const { draw } = diagram;
  const { percent } = markup;
  const LEAST_DRAWN = 0.01, LEAST_DRAWN_OF_SELECTED = 0.001;
  const REACH = 8, REACH_OF_FINGERS = 20; // pixels between a click and the arc that it selects
  // What is drawn later is on top.
  const ROLES = ["candidate", "gold", "forbidden", "tree", "other", "fixed"];

  const open = (section, made) => {
    const { sentence } = made;
    const view = {
      section, sentence, choices: made,
      frame: section.querySelector(".main"),
      selected: 0, // the word whose heads are listed
      traced: null, // the card of the tree whose arcs are highlighted
      pointed: null, // the arc under the pointer
      tabWord: 1, // the word that Tab leads to
      picture: null, room: 0, isNarrow: false,
    };
    section.querySelector(".slices")?.remove();
    section.classList.add("live");
    measure(view);
    drawDiagram(view);
    facts.add(view);
    if (sentence.graph) {
      listen(view);
      view.choices.listen((event) => follow(view, event));
    }
    return view;
  };

  const follow = (view, event) => {
    if (event.kind !== "refused") {
      view.traced = null;
      facts.show(view);
      drawDiagram(view, Boolean(view.selected));
      if (view.selected) headsList.draw();
    }
    facts.sayStep(view, event);
  };

  // ---- the diagram ------------------------------------------------------------------------------
  // Reading sizes forces the browser to compute the layout, so they are read once per window size.
  const measure = (view) => {
    view.room = view.frame.clientWidth - 8;
    view.isNarrow = view.room < layout.NARROW;
  };

  const arcsToDraw = ({ sentence: { size, gold }, choices, selected, traced }) => {
    const arcs = [], { heads } = choices.now;
    for (let head = 0; head < size; ++head)
      for (let dependent = 1; dependent < size; ++dependent) {
        const p = choices.probability(head, dependent);
        const isTraced = Boolean(traced) && traced.heads[dependent] === head;
        let role = "candidate";
        if (heads[dependent] === head) role = "tree";
        else if (gold && gold[dependent] === head) role = "gold";
        if (choices.headOf(dependent) === head) role = "fixed";
        else if (choices.isForbidden(head, dependent)) role = "forbidden";
        else if (isTraced && role !== "tree") role = "other";
        const isChosen = selected === dependent && p >= LEAST_DRAWN_OF_SELECTED;
        if (p >= LEAST_DRAWN || role !== "candidate" || isChosen)
          arcs.push({ head, dependent, p, role, isTraced, isChosen });
      }
    // By role, and roughly by probability, so that small changes do not affect the order.
    for (const arc of arcs) arc.order = 10 * ROLES.indexOf(arc.role) + Math.floor(4 * arc.p);
    return arcs.sort((a, b) => a.order - b.order);
  };
  const marksOf = ({ sentence: { names }, choices, selected }, j) => {
    const head = choices.now.heads[j], isFixed = choices.headOf(j) !== undefined;
    const chance = percent(choices.probability(head, j));
    return {
      word: isFixed ? "fixed" : null,
      selected: j === selected,
      label: `${names[j]}: depends on ${names[head]}, ${chance}${isFixed ? ", fixed" : ""}`,
    };
  };

  // The rows below the words; gold relations are marked, because the drawn arcs may differ.
  const rowsBelow = ({ sentence: { upos, deprel }, choices }) => [
    { line: upos, kind: "below" },
    { line: choices.relations, kind: "below relation" },
    { line: deprel?.map((relation) => (relation === "_" ? "" : `◆ ${relation}`)), kind: "below gold" },
  ].filter(({ line }) => line);

  const drawDiagram = (view, isSteady = false) => {
    const { section, sentence, frame, room, selected, traced } = view, isButton = Boolean(sentence.graph);
    const hadFocus = section.contains(document.activeElement) && document.activeElement.closest(".main .word");
    const scrolled = view.isNarrow ? frame.scrollLeft : 0;
    point(view, null);
    view.picture = draw({ ...sentence, below: rowsBelow(view) }, {
      words: sentence.words,
      arcs: arcsToDraw(view),
      room,
      label: isButton
        ? "Words and arcs. Arrow keys move between the words; Enter lists the heads of a word."
        : "Words and arcs",
      entropies: view.choices.headEntropies,
      marks: (j) => marksOf(view, j),
      isButton,
      isSteady,
    }, view.picture);
    const { element, lines } = view.picture, width = Number(element.getAttribute("width"));
    element.style.setProperty("--natural", `${width}px`);
    element.classList.toggle("short", width <= room && lines.length === 1);
    if (element.parentNode !== frame) frame.replaceChildren(element);
    if (isButton) leadTabTo(view, view.tabWord);
    if (view.isNarrow) {
      frame.scrollLeft = scrolled;
      cue(frame);
    }
    if (hadFocus) focusWord(view, { preventScroll: true });
    emphasise(view, selected ? (arc) => arc.dependent === selected : traced ? (arc) => arc.isTraced : null);
  };
  const redraw = (view) => {
    measure(view);
    drawDiagram(view);
    if (view.selected) headsList.place();
  };

  // Arcs that pass the test are highlighted; without a test, all are equal.
  const emphasise = ({ picture }, test) => {
    picture.element.classList.toggle("tracing", Boolean(test));
    for (const arc of picture.arcs) {
      arc.isIn = Boolean(test) && test(arc);
      arc.part.element.classList.toggle("traced", arc.isIn);
    }
    for (const { arc, part } of picture.labels) part.element.classList.toggle("traced", arc.isIn);
  };
  const point = (view, arc) => {
    view.frame.classList.toggle("pointing", Boolean(arc));
    view.pointed?.part.element.classList.remove("near");
    arc?.part.element.classList.add("near");
    view.pointed = arc;
  };

  const leadTabTo = (view, j) => {
    view.tabElement?.setAttribute("tabindex", -1);
    view.tabWord = j;
    view.tabElement = view.picture.wordElements.get(j);
    view.tabElement.setAttribute("tabindex", 0);
  };
  const focusWord = (view, options) => view.picture.wordElements.get(view.tabWord).focus(options);

  // ---- highlighting a word or a tree --------------------------------------------------------------
  // List the heads of word j, or close the list if j is 0.
  // With `asked`, the list is a question of deciding.js.
  const select = (view, j, { head = null, hasFocus = false, asked = null } = {}) => {
    const owner = headsList.owner();
    if (owner && owner !== view) select(owner, 0);
    if (!j && !view.selected) return;
    const last = view.selected, hadFocus = headsList.hasFocus();
    [view.selected, view.traced] = [j, null];
    if (j) view.tabWord = j;
    drawDiagram(view);
    facts.showTraced(view);
    if (j) return headsList.show(view, { head, hasFocus, asked });
    headsList.hide();
    if (hadFocus) view.picture.wordElements.get(last).focus({ preventScroll: true });
  };
  const trace = (view, rank) => {
    if (view.selected) select(view, 0);
    view.traced = view.cards[rank];
    drawDiagram(view);
    facts.showTraced(view);
  };
  const release = (view) => {
    if (view.selected) select(view, 0);
    if (!view.traced) return;
    view.traced = null;
    facts.showTraced(view);
    drawDiagram(view);
  };

  // ---- pointers and keys --------------------------------------------------------------------------
  // Arcs are close together: a click selects the nearest one or, if a word is selected, the nearest
  // of those into this word.
  const nearest = ({ picture, selected }, event, reach) => {
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

  const onClick = (view, event) => {
    const word = event.target.closest(".word");
    if (word) {
      const j = Number(word.dataset.word);
      return select(view, j === view.selected ? 0 : j);
    }
    const isTouch = event.pointerType === "touch";
    const arc = nearest(view, event, isTouch ? REACH_OF_FINGERS : REACH);
    if (!arc) return select(view, 0);
    const { head, dependent } = arc;
    if (!view.selected || isTouch) return select(view, dependent, { head });
    if (arc.role === "forbidden") view.choices.toggleForbidden(head, dependent);
    else view.choices.toggleFixed(head, dependent);
  };
  const onPointerMove = (view, event) => {
    if (event.pointerType !== "mouse") return;
    point(view, event.target.closest(".word") ? null : nearest(view, event, REACH));
  };
  const onKey = (view, event) => {
    const word = event.target.closest(".word");
    if (!word || event.altKey || event.ctrlKey || event.metaKey) return;
    const { n, rtl } = view.sentence, j = Number(word.dataset.word), way = rtl ? -1 : 1;
    const to = { ArrowRight: j + way, ArrowLeft: j - way, Home: 1, End: n }[event.key];
    const isOpening = ["Enter", " ", "ArrowDown"].includes(event.key);
    if (to !== undefined || isOpening) {
      event.preventDefault();
      event.stopPropagation();
    }
    if (isOpening) select(view, j, { hasFocus: true });
    else if (to >= 1 && to <= n) {
      leadTabTo(view, to);
      view.tabElement.focus();
    } else if (event.key === "Escape" && view.selected) select(view, 0);
  };
  const isUndo = (event) =>
    event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey;

  const listen = (view) => {
    view.frame.addEventListener("click", (event) => onClick(view, event));
    view.frame.addEventListener("pointermove", (event) => onPointerMove(view, event));
    view.frame.addEventListener("keydown", (event) => onKey(view, event));
    view.section.addEventListener("keydown", (event) => {
      if (!isUndo(event) || event.target.matches("input")) return;
      event.preventDefault();
      view.choices.undo();
    });
  };

  // Shadows at the sides of an area that can be scrolled further.
  const cue = (pane) => {
    const more = pane.scrollWidth - pane.clientWidth, from = Math.abs(pane.scrollLeft);
    const atStart = from > 2, atEnd = more - from > 2, isLeft = getComputedStyle(pane).direction === "ltr";
    pane.classList.toggle("more-left", isLeft ? atStart : atEnd);
    pane.classList.toggle("more-right", isLeft ? atEnd : atStart);
    if (more > 2 && !pane.querySelector("[tabindex]")) pane.tabIndex = 0;
  };

  return { open, redraw, select, trace, release, emphasise, focusWord, isUndo, cue };
})();
