// Draws a layout as SVG, and makes the elements of the page.
const diagram = (() => {
  const { UNCERTAIN_NATS, FAINTEST, LEAST_HEAT, MOST_HEAT, HOTTEST_NATS } = SIZES;
  const { shorten } = markup;

  // ---- elements: text is always text, whatever it contains ------------------------------------
  const fill = (element, attributes, children) => {
    for (const [name, value] of Object.entries(attributes))
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined && value !== false)
        element.setAttribute(name, value === true ? "" : value);
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  };
  const html = (name, attributes = {}, ...children) =>
    fill(document.createElement(name), attributes, children);
  const bdi = (text) => html("bdi", {}, text);
  const bar = (share, attributes = {}) =>
    html("span", { class: "bar", style: `--share:${share.toFixed(4)}`, ...attributes });
  const button = (attributes, ...children) => html("button", { type: "button", ...attributes }, ...children);
  const svg = (name, attributes = {}, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

  // ---- pictures that are redrawn --------------------------------------------------------------
  // A picture is described before it is drawn: a part is { name, attributes, content, key }, where
  // content is text or a list of parts.  When a picture is redrawn, only what has changed is touched:
  // a browser spends more time on the layout of the words and numbers of a picture than on everything
  // else together.
  const part = (name, attributes, content = [], key = null) => ({ name, attributes, content, key });
  const build = (described) => {
    const { name, attributes, content } = described;
    const children = typeof content === "string" ? [content] : content.map(build);
    return (described.element = svg(name, attributes, ...children));
  };
  // Reuse the element of a part for another of the same kind: with the same attribute names.
  const renew = (old, now) => {
    const element = (now.element = old.element);
    for (const name in now.attributes) {
      const value = now.attributes[name];
      if (value === old.attributes[name]) continue;
      if (value === null || value === undefined) element.removeAttribute(name);
      else element.setAttribute(name, value);
    }
    if (typeof now.content === "string") {
      if (now.content !== old.content) element.textContent = now.content;
    } else if (now.content.length && now.content[0].key !== null) renewList(element, old.content, now.content);
    else renewFew(element, old.content, now.content);
    return element;
  };
  const renewFew = (element, before, now) => {
    if (now.length === before.length && now.every(({ name }, i) => name === before[i].name))
      now.forEach((described, i) => renew(before[i], described));
    else element.replaceChildren(...now.map(build));
  };
  // The parts of a list are identified by their keys.
  const renewList = (element, before, now) => {
    const kept = new Set(now.map(({ key }) => key)), known = new Map();
    for (const old of before)
      if (kept.has(old.key)) known.set(old.key, old);
      else old.element.remove();
    let next = element.firstChild;
    for (const described of now) {
      const old = known.get(described.key), child = old ? renew(old, described) : build(described);
      if (child === next) next = next.nextSibling;
      else element.insertBefore(child, next);
    }
  };

  const context = document.createElement("canvas").getContext("2d");
  const widths = new Map();
  const widthOf = (text) => {
    if (!widths.size) context.font = `${SIZES.LABEL_SIZE}px ${getComputedStyle(document.body).fontFamily}`;
    if (!widths.has(text)) widths.set(text, context.measureText(text).width);
    return widths.get(text);
  };

  // ---- words and arcs -------------------------------------------------------------------------
  const round = (x) => Math.round(10 * x) / 10;
  const path = (strings, ...values) =>
    strings.reduce((all, s, i) => all + s + (i < values.length ? round(values[i]) : ""), "");

  // The line of a stroke, which ends at y: above the arrow tip, if it has one.
  const PATHS = {
    root: ([[x, top]], y) => path`M${x} ${top}V${y}`,
    curve: ([a, b, c, [x]], y) => path`M${a[0]} ${a[1]}C${b[0]} ${b[1]} ${c[0]} ${c[1]} ${x} ${y}`,
    stub: ([a, b, c, [x]], y) => path`M${a[0]} ${a[1]}H${b[0]}Q${c[0]} ${c[1]} ${x} ${y}`,
  };
  const drawStroke = ({ kind, points, isTip }) => {
    const [x, y] = points.at(-1);
    const line = part("path", { class: "line", d: PATHS[kind](points, isTip ? y - 5 : y) });
    if (!isTip) return [line];
    return [line, part("path", { class: "tip", d: path`M${x} ${y + 1}l-3.6-8h7.2z` })];
  };

  const drawArc = (arc) => {
    const isCandidate = arc.role === "candidate", name = `${arc.head}-${arc.dependent}`;
    let opacity = 1;
    if (isCandidate || arc.role === "tree") opacity = FAINTEST + (1 - FAINTEST) * (arc.p ?? 1);
    if (arc.role === "tree") opacity = Math.max(opacity, 0.5);
    return part("g", {
      class: `arc ${arc.role}`, "data-arc": name, opacity: opacity.toFixed(2),
      "stroke-width": (1 + 1.2 * (isCandidate ? arc.p : 1)).toFixed(1),
    }, arc.strokes.flatMap(drawStroke), `${arc.order} ${name}`);
  };

  const drawLabel = ({ arc, x, y, text, anchor }) => {
    const name = `${arc.head}-${arc.dependent}`;
    return part("text", {
      class: "label", "data-arc": name, x: round(x), y: round(y + SIZES.LABEL_DROP),
      "text-anchor": anchor === "middle" ? null : anchor,
    }, text, `${name} ${anchor}`);
  };

  const heat = (entropy) => LEAST_HEAT + (MOST_HEAT - LEAST_HEAT) * Math.min(1, entropy / HOTTEST_NATS);
  const drawWord = (sentence, j, x, ground, entropies, marks, isButton) => {
    const { tokens, slots, rtl } = sentence, half = slots[j - 1] / 2 - 2;
    const entropy = entropies ? entropies[j] : 0, mark = marks ? marks(j) : {};
    const isUnsure = entropy >= UNCERTAIN_NATS;
    const under = (text, row, kind) => {
      const y = ground + SIZES.ROW_BASELINE + SIZES.ROW_ROOM * row;
      return part("text", { class: kind, x: round(x), y: round(y) }, text);
    };
    const rows = sentence.below.map(({ line, kind }, row) =>
      under(shorten(line[j - 1], SIZES.LONGEST_ROW), row, kind));
    const unit = slots[j - 1] >= SIZES.NATS_ROOM ? " nats" : "";
    if (entropies && mark.word) rows.push(under(mark.word, rows.length, "chosen"));
    else if (isUnsure) rows.push(under(`${entropy.toFixed(1)}${unit}`, rows.length, "entropy"));
    const form = shorten(tokens[j - 1]);
    const content = [
      form === tokens[j - 1] ? null : part("title", {}, tokens[j - 1]),
      part("rect", { class: "frame", x: round(x - half), y: round(ground + 3), width: round(2 * half) }),
      isUnsure
        ? part("rect", {
            class: "heat", x: round(x - half), y: round(ground + 4), width: round(2 * half),
            "fill-opacity": heat(entropy).toFixed(2),
          })
        : null,
      part("text", {
        class: "form", x: round(x), y: round(ground + SIZES.WORD_BASELINE), direction: rtl ? "rtl" : null,
      }, form),
      ...rows,
    ];
    return part(
      "g",
      {
        class: `word${mark.selected ? " selected" : ""}`, "data-word": j, role: isButton ? "button" : null,
        tabindex: isButton ? -1 : null, "aria-label": mark.label,
        "aria-expanded": isButton ? String(Boolean(mark.selected)) : null,
      },
      content.filter(Boolean), j,
    );
  };

  // Draw `words` of a sentence { tokens, slots, below, rtl } with `arcs`, as layout.js describes them.
  // Returns { element, wordElements, lines, arcs, labels }; arcs and labels have their `part`.  `before`
  // is what was returned the last time, if the same picture is drawn again.  With `isSteady`, its
  // lines do not get lower, so that nothing moves without need.
  const draw = (sentence, { words, arcs, room, label, entropies, marks, isButton, isSteady }, before = null) => {
    const numRows = (entropies ? 1 : 0) + sentence.below.length;
    const wanted = { words, arcs, room, numRows, before: isSteady ? before?.lines : null };
    const { width, height, ...placed } = layout.layOut(sentence, wanted, widthOf);
    const wordParts = placed.words.map(({ word, x, line }) =>
      drawWord(sentence, word, x, line.ground, entropies, marks, isButton));
    const gapParts = placed.gaps.map(({ x, line }) =>
      part("text", { class: "gap", x: round(x), y: line.ground + SIZES.WORD_BASELINE }, "…", `gap ${x}`));
    for (const arc of placed.arcs) arc.part = drawArc(arc);
    for (const written of placed.labels) written.part = drawLabel(written);
    placed.labels.sort(({ arc: a }, { arc: b }) => a.dependent - b.dependent || a.head - b.head);
    const whole = part(
      "svg",
      {
        class: "arcs", width: Math.ceil(width), height: Math.ceil(height), direction: "ltr",
        viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`, "aria-label": label,
        role: isButton ? "group" : "img",
      },
      [
        part("g", {}, [...wordParts, ...gapParts]),
        part("g", {}, placed.arcs.map((arc) => arc.part)),
        part("g", { "aria-hidden": "true" }, placed.labels.map((written) => written.part)),
      ],
    );
    const element = before ? renew(before.whole, whole) : build(whole);
    const wordElements = new Map(wordParts.map(({ key, element }) => [key, element]));
    return { whole, element, wordElements, ...placed };
  };

  return { draw, html, bdi, bar, button };
})();
