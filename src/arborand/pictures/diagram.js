// Draws words with their arcs, like arcs.py, and in several lines where the window is too narrow.
const diagram = (() => {
  const LABEL = 11;
  const MARGIN = 10;
  const SIDE = 104; // room beside broken lines, for the names of words on other lines
  const NARROW = 600; // narrower windows scroll: too few words would fit on a line
  const ROOT_ROOM = 34, WORD_ROOM = 32, BELOW_ROOM = 13;
  const OUT = 7, IN = 2.5; // how far beside a word's middle arcs begin and end
  const MOST_ENDS = 4; // of arcs from one word to other lines, at each side
  const LONGEST = 28;
  const UNCERTAIN = 0.2; // nats; below, a word's head counts as settled
  const NATS_ROOM = 46; // what "0.4 nats" needs; a word with less room gets the number alone

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
  const svg = (name, attributes = {}, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

  // ---- pictures that are drawn again ----------------------------------------------------------
  // A picture is described before it is drawn: a part is { name, attributes, content, key }, where
  // content is text or a list of parts.  Of a picture that was drawn before, only what has changed
  // is touched.  That is where the time goes: a browser takes longer to lay out the words and
  // numbers of a picture than all else takes together.
  const part = (name, attributes, content = [], key = null) => ({ name, attributes, content, key });
  const build = (described) => {
    const { name, attributes, content } = described;
    const children = typeof content === "string" ? [content] : content.map(build);
    return (described.element = svg(name, attributes, ...children));
  };
  // Give the element of a part to another of the same kind: with the same names of attributes.
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
  // The parts of a list are known by their keys.
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

  // ---- numbers, as markup.py writes them ------------------------------------------------------
  const superscript = (number) => [...String(number)].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻").join("");
  const twoDigits = (x) => Number(x.toPrecision(2));
  const percent = (p) => {
    if (p === 0 || p === 1) return `${100 * p}\u00a0%`;
    if (p > 0.9995) return ">\u00a099.9\u00a0%";
    if (p >= 0.001) return `${(100 * p).toFixed(1)}\u00a0%`;
    return `1\u00a0in\u00a0${large(1 / p)}`;
  };
  const large = (x) => {
    const rounded = twoDigits(x);
    if (rounded < 1e6) return Math.round(rounded).toLocaleString("en");
    if (rounded < 1e9) return `${twoDigits(rounded / 1e6)}\u00a0million`;
    if (rounded === Infinity) return "10³⁰⁸\u00a0or\u00a0more";
    const exponent = Math.floor(Math.log10(rounded) + 1e-9);
    const mantissa = twoDigits(rounded / 10 ** exponent);
    return mantissa === 1 ? `10${superscript(exponent)}` : `${mantissa}\u00a0×\u00a010${superscript(exponent)}`;
  };
  const briefPercent = (p) => {
    if (p < 0.01) return "<\u202f1\u202f%";
    if (p > 0.99 && p < 1) return ">\u202f99\u202f%";
    return `${Math.round(100 * p)}\u202f%`;
  };
  const shorten = (word, most = LONGEST) => {
    const characters = [...word];
    return characters.length <= most ? word : characters.slice(0, most - 1).join("") + "…";
  };

  const context = document.createElement("canvas").getContext("2d");
  const widths = new Map();
  const widthOf = (text) => {
    if (!widths.size) context.font = `${LABEL}px ${getComputedStyle(document.body).fontFamily}`;
    if (!widths.has(text)) widths.set(text, context.measureText(text).width);
    return widths.get(text);
  };

  // ---- places ---------------------------------------------------------------------------------
  // `words` are numbers of words in order, with 0 for words left out in between.
  const layOut = (words, slots, room, rtl) => {
    const slotOf = (word) => (word ? slots[word - 1] : 26);
    const total = words.reduce((sum, word) => sum + slotOf(word), 0);
    const isBroken = total + 2 * MARGIN > room && room >= NARROW;
    const side = isBroken ? SIDE : MARGIN;
    const broken = (most) => {
      const lines = [];
      let width = Infinity;
      for (const word of words) {
        if (width + slotOf(word) > most) {
          lines.push([]);
          width = 0;
        }
        lines.at(-1).push(word);
        width += slotOf(word);
      }
      return lines;
    };
    let lines = [words];
    if (isBroken) {
      // As few lines as there must be, and of these the narrowest: about equally full.
      let high = room - 2 * side;
      const count = broken(high).length;
      for (let low = total / count, k = 0; k < 12; ++k) {
        const middle = (low + high) / 2;
        if (broken(middle).length > count) low = middle;
        else high = middle;
      }
      lines = broken(high);
    }
    const places = new Map();
    let width = 0;
    lines.forEach((line, number) => {
      let x = side;
      for (const word of line) {
        const slot = slotOf(word);
        if (word) places.set(word, { x: x + slot / 2, line: number });
        else line.gap = [...(line.gap || []), x + slot / 2];
        x += slot;
      }
      width = Math.max(width, x + side);
    });
    if (rtl) {
      for (const place of places.values()) place.x = width - place.x;
      for (const line of lines) line.gap = (line.gap || []).map((x) => width - x);
    }
    return { lines, places, width, side };
  };

  const rise = (length) => 26 + 44 * Math.log2(1 + (length - 1) / 3);
  const pointOf = ([p0, p1, p2, p3], t) => {
    const u = 1 - t, a = u * u * u, b = 3 * t * u * u, c = 3 * t * t * u, d = t * t * t;
    return [a * p0[0] + b * p1[0] + c * p2[0] + d * p3[0], a * p0[1] + b * p1[1] + c * p2[1] + d * p3[1]];
  };
  const curve = (points, steps) => Array.from({ length: steps + 1 }, (_, k) => pointOf(points, k / steps));
  const round = (x) => Math.round(10 * x) / 10;
  const path = (strings, ...values) =>
    strings.reduce((all, s, i) => all + s + (i < values.length ? round(values[i]) : ""), "");

  // Where one word has many dependents on other lines, most of them share an end.  Their own lines
  // name this word, so nothing is lost.
  const bundle = (ends) => {
    const answer = ends.filter((end) => end.isTip), byHead = new Map();
    for (const end of ends)
      if (!end.isTip) byHead.set(end.arc.head, [...(byHead.get(end.arc.head) || []), end]);
    for (const same of byHead.values()) {
      same.sort((a, b) => Number(b.arc.isChosen) - Number(a.arc.isChosen) || (b.arc.p ?? 1) - (a.arc.p ?? 1));
      const most = Math.max(MOST_ENDS, same.filter(({ arc }) => arc.isChosen).length);
      if (same.length <= most + 1) answer.push(...same);
      else answer.push(...same.slice(0, most), { ...same[most], more: same.length - most });
    }
    return answer;
  };

  // Draw `words` of a sentence { tokens, names, slots, below, rtl } with `arcs`, each { head,
  // dependent, p, role }; p may be null.  Returns { element, wordElements, shapes, arcs, labels };
  // `outlines` of each arc give the points of its lines.  `before` is what was returned the last time,
  // if the same picture is drawn again.  With `isSteady`, its lines do not get lower, so that nothing
  // moves that need not.
  const draw = (sentence, { words, arcs, room, label, entropies, marks, isButton, isSteady }, before = null) => {
    const { tokens, slots, rtl } = sentence;
    const { lines, places, width, side } = layOut(words, slots, room, rtl);
    const isDrawn = (arc) => {
      if (!places.has(arc.dependent) || (arc.head && !places.has(arc.head))) return false;
      if (!arc.head || places.get(arc.head).line === places.get(arc.dependent).line) return true;
      return arc.role !== "candidate" || arc.isChosen || arc.p >= 0.1; // between lines
    };
    const drawn = arcs.filter(isDrawn).map((arc) => ({ ...arc, outlines: [], points: null }));

    // Heights.  Each arc that goes on elsewhere gets a height of its own at the margin.
    const belowRoom = BELOW_ROOM * ((entropies ? 1 : 0) + sentence.below.length);
    const shapes = lines.map((line) => ({ words: line.filter(Boolean), top: 30, ends: [[], []] }));
    for (const arc of drawn) {
      if (!arc.head) continue;
      const from = places.get(arc.head), to = places.get(arc.dependent);
      if (from.line === to.line) {
        const shape = shapes[to.line];
        shape.top = Math.max(shape.top, rise(Math.abs(arc.head - arc.dependent)));
        continue;
      }
      for (const [place, word, other, isTip] of [
        [from, arc.head, arc.dependent, false],
        [to, arc.dependent, arc.head, true],
      ]) {
        const shape = shapes[place.line], isLate = other > word;
        const passed = isLate ? shape.words.at(-1) - word : word - shape.words[0];
        const height = 0.8 * rise(2 + passed);
        shape.ends[Number(isLate)].push({ arc, x: place.x, other, isTip, isLate, height });
      }
    }
    for (const shape of shapes) shape.ends = shape.ends.map(bundle);
    if (isSteady && before?.shapes.length === shapes.length)
      shapes.forEach((shape, i) => (shape.top = Math.max(shape.top, before.shapes[i].top)));
    let y = 0;
    for (const shape of shapes) {
      for (const ends of shape.ends) {
        ends.sort((a, b) => a.height - b.height);
        let least = 14;
        for (const end of ends) {
          end.height = Math.max(end.height, least);
          least = end.height + 13;
          shape.top = Math.max(shape.top, end.height);
        }
      }
      shape.rootTop = y + 16;
      shape.ground = y + ROOT_ROOM + shape.top;
      y = shape.ground + WORD_ROOM + belowRoom;
    }

    const words_ = [], labels = [];
    for (const [word, place] of places)
      words_.push(drawWord(sentence, word, place.x, shapes[place.line].ground, entropies, marks, isButton));
    lines.forEach((line, number) => {
      for (const x of line.gap || [])
        words_.push(part("text", { class: "gap", x: round(x), y: shapes[number].ground + 20 }, "…", `gap ${x}`));
    });

    const endsOf = new Map();
    for (const shape of shapes)
      for (const end of shape.ends.flat())
        endsOf.set(end.arc, [...(endsOf.get(end.arc) || []), [shape, end]]);
    const taken = [];
    const isFree = (x, at, half) =>
      taken.every(([u, v, h]) => Math.abs(x - u) > half + h + 2 || Math.abs(at - v) > LABEL);
    const write = (arc, x, at, text, anchor = "middle") => {
      const half = widthOf(text) / 2;
      taken.push([anchor === "middle" ? x : anchor === "start" ? x + half : x - half, at, half]);
      const name = `${arc.head}-${arc.dependent}`;
      labels.push({
        arc,
        part: part("text", { class: "label", "data-arc": name, x: round(x), y: round(at + 4), "text-anchor": anchor === "middle" ? null : anchor }, text, `${name} ${anchor}`),
      });
    };
    for (const arc of drawn) {
      const strength = arc.role === "candidate" ? arc.p : 1;
      const opacity = arc.role === "candidate" || arc.role === "tree" ? 0.14 + 0.86 * (arc.p ?? 1) : 1;
      const paths = [];
      arc.part = part("g", {
        class: `arc ${arc.role}`, "data-arc": `${arc.head}-${arc.dependent}`,
        opacity: (arc.role === "tree" ? Math.max(opacity, 0.5) : opacity).toFixed(2),
        "stroke-width": (1 + 1.2 * strength).toFixed(1),
      }, paths, `${arc.order} ${arc.head}-${arc.dependent}`);
      const add = (d, outline, tip) => {
        arc.outlines.push(outline);
        paths.push(part("path", { class: "line", d }));
        if (tip) paths.push(part("path", { class: "tip", d: path`M${tip[0]} ${tip[1] + 1}l-3.6-8h7.2z` }));
      };
      const { x, line } = places.get(arc.dependent), { ground, rootTop } = shapes[line];
      if (!arc.head) {
        add(path`M${x} ${rootTop}V${ground - 5}`, () => [[x, rootTop], [x, ground]], [x, ground]);
        write(arc, x, rootTop - 7, arc.p !== null && arc.p < 0.97 ? briefPercent(arc.p) : "root");
      } else if (places.get(arc.head).line === line) {
        const from = places.get(arc.head).x, way = x > from ? 1 : -1;
        const begin = from + way * OUT, end = x - way * IN;
        const top = ground - (4 / 3) * rise(Math.abs(arc.head - arc.dependent));
        arc.points = [[begin, ground], [begin, top], [end, top], [end, ground]];
        add(
          path`M${begin} ${ground}C${begin} ${top} ${end} ${top} ${end} ${ground - 5}`,
          () => curve(arc.points, 24), [end, ground],
        );
      } else
        for (const [shape, end] of endsOf.get(arc) || []) {
          const way = end.isLate !== Boolean(rtl) ? 1 : -1;
          const edge = way > 0 ? width - side + 4 : side - 4;
          const foot = end.x + way * (end.isTip ? IN : OUT), top = shape.ground - end.height;
          const turn = foot + way * Math.min(26, Math.abs(edge - foot) / 2);
          add(
            path`M${edge} ${top}H${turn}Q${foot} ${top} ${foot} ${shape.ground - (end.isTip ? 5 : 0)}`,
            () => [[edge, top], [turn, top], [foot + 2 * way, (top + shape.ground) / 2], [foot, shape.ground]],
            end.isTip ? [foot, shape.ground] : null,
          );
          const share = arc.p !== null && arc.p < 0.97 ? ` ${briefPercent(arc.p)}` : "";
          // Isolated, so that a name from right to left does not take the number into itself.
          const name = `\u2068${shorten(tokens[end.other - 1], 9)}\u2069`;
          const text = end.more ? `and ${end.more} more` : `${name}${share}`;
          write(arc, edge + way * 3, top, text, way > 0 ? "start" : "end");
        }
    }
    for (const arc of [...drawn].sort((a, b) => (b.p ?? 0) - (a.p ?? 0))) {
      if (!arc.points || arc.p === null || !(arc.p >= 0.03 && arc.p < 0.97)) continue;
      const text = briefPercent(arc.p), half = widthOf(text) / 2;
      for (const t of [0.5, 0.38, 0.62, 0.28, 0.72, 0.2, 0.8]) {
        const [x, at] = pointOf(arc.points, t);
        if (!isFree(x, at, half)) continue;
        write(arc, x, at, text);
        break;
      }
    }
    labels.sort(({ arc: a }, { arc: b }) => a.dependent - b.dependent || a.head - b.head);
    const whole = part(
      "svg",
      {
        class: "arcs", width: Math.ceil(width), height: Math.ceil(y), direction: "ltr",
        viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(y)}`, "aria-label": label,
        role: isButton ? "group" : "img",
      },
      [
        part("g", {}, words_),
        part("g", {}, drawn.map((arc) => arc.part)),
        part("g", { "aria-hidden": "true" }, labels.map((label) => label.part)),
      ],
    );
    const element = before ? renew(before.whole, whole) : build(whole);
    const wordElements = new Map(words_.map(({ key, element }) => [key, element]));
    return { whole, element, wordElements, shapes, arcs: drawn, labels };
  };

  const drawWord = (sentence, j, x, ground, entropies, marks, isButton) => {
    const { tokens, slots, rtl } = sentence, half = slots[j - 1] / 2 - 2;
    const entropy = entropies ? entropies[j] : 0, mark = marks ? marks(j) : {};
    const isUnsure = entropy >= UNCERTAIN;
    const under = (text, row, kind) =>
      part("text", { class: kind, x: round(x), y: round(ground + 39 + BELOW_ROOM * row) }, text);
    const rows = sentence.below.map((line, row) => under(shorten(line[j - 1], 12), row, "below"));
    if (entropies && (mark.word || isUnsure))
      rows.push(under(mark.word || `${entropy.toFixed(1)}${slots[j - 1] >= NATS_ROOM ? " nats" : ""}`, rows.length, mark.word ? "chosen" : "entropy"));
    const form = shorten(tokens[j - 1]);
    const content = [
      form === tokens[j - 1] ? null : part("title", {}, tokens[j - 1]),
      part("rect", { class: "frame", x: round(x - half), y: round(ground + 3), width: round(2 * half) }),
      isUnsure
        ? part("rect", {
            class: "heat", x: round(x - half), y: round(ground + 4), width: round(2 * half),
            "fill-opacity": (0.15 + 0.4 * Math.min(1, entropy / 1.5)).toFixed(2),
          })
        : null,
      part("text", { class: "form", x: round(x), y: round(ground + 20), direction: rtl ? "rtl" : null }, form),
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

  return { draw, html, svg, percent, briefPercent, large, shorten, UNCERTAIN, NARROW };
})();
