// Where the words, arcs and labels of a diagram are: coordinates alone, no elements.  On one line
// they are those of layout.py, whose constants are SIZES; long sentences are broken into lines.
const layout = (() => {
  const { MARGIN, OUT, IN, LABEL_SIZE, MOST_LABELLED } = SIZES;
  const { briefPercent, shorten } = markup;
  const SIDE = 126; // room beside broken lines, for the names of words on other lines
  const NARROW = 600; // narrower windows scroll, because too few words would fit on a line
  const GAP = 26; // where words are left out
  const MOST_STUBS = 4; // stubs of arcs from one word to other lines, on each side
  const MOST_TAILS = 8; // stubs of arcs from the words of a line to other lines, on each side
  const STUB_GAP = 13; // between the heights of stubs, so that their labels do not touch
  const LEAST_BETWEEN_LINES = 0.1; // less probable candidates between lines are left out
  const MOST_CANDIDATES = 6; // from other lines into a line, on each side

  const rise = (length) =>
    SIZES.LEAST_RISE + SIZES.RISE_PER_OCTAVE * Math.log2(1 + (length - 1) / SIZES.FIRST_OCTAVE);

  // ---- words ----------------------------------------------------------------------------------
  // `words` are the numbers of words in order, with 0 for words left out in between.
  const placeWords = (words, slots, room, rtl) => {
    const slotOf = (word) => (word ? slots[word - 1] : GAP);
    const total = words.reduce((sum, word) => sum + slotOf(word), 0);
    const isBroken = total + 2 * MARGIN > room && room >= NARROW;
    const side = isBroken ? SIDE : MARGIN;
    const lines = isBroken ? breakLines(words, slotOf, room - 2 * side, total) : [words];
    const places = new Map(), gaps = [];
    let width = 0;
    lines.forEach((line, number) => {
      let x = side;
      for (const word of line) {
        const slot = slotOf(word), place = { x: x + slot / 2, line: number };
        if (word) places.set(word, place);
        else gaps.push(place);
        x += slot;
      }
      width = Math.max(width, x + side);
    });
    if (rtl) for (const place of [...places.values(), ...gaps]) place.x = width - place.x;
    return { lines, places, gaps, width, side };
  };

  // As few lines as possible, then as narrow as possible, so that they are about equally full.
  const breakLines = (words, slotOf, widest, total) => {
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
    const count = broken(widest).length;
    let high = widest;
    for (let low = total / count, k = 0; k < 12; ++k) {
      const middle = (low + high) / 2;
      if (broken(middle).length > count) low = middle;
      else high = middle;
    }
    return broken(high);
  };

  // ---- lines ----------------------------------------------------------------------------------
  // Each line gets the height that its arcs need.  An arc between lines has a stub at each end, which
  // leads to the margin at its own height.  `before` are the lines of the last layout, if lines must
  // not get lower.
  const placeLines = (numbers, places, arcs, numRows, before) => {
    const lines = numbers.map((words) => ({
      words: words.filter(Boolean), top: SIZES.LEAST_TOP, stubs: [[], []],
    }));
    for (const arc of arcs) {
      if (!arc.head) continue;
      const from = places.get(arc.head), to = places.get(arc.dependent);
      if (from.line === to.line) {
        const line = lines[to.line];
        line.top = Math.max(line.top, rise(Math.abs(arc.head - arc.dependent)));
        continue;
      }
      for (const [place, word, other, isTip] of [
        [from, arc.head, arc.dependent, false],
        [to, arc.dependent, arc.head, true],
      ]) {
        const line = lines[place.line], isForward = other > word;
        const passed = isForward ? line.words.at(-1) - word : word - line.words[0];
        const height = 0.8 * rise(2 + passed);
        line.stubs[Number(isForward)].push({ arc, x: place.x, other, isTip, isForward, height });
      }
    }
    for (const line of lines) line.stubs = line.stubs.map(bundle);
    if (before?.length === lines.length)
      lines.forEach((line, i) => (line.top = Math.max(line.top, before[i].top)));
    let y = 0;
    for (const line of lines) {
      for (const stubs of line.stubs) {
        stubs.sort((a, b) => a.height - b.height);
        let least = STUB_GAP + 1;
        for (const stub of stubs) {
          stub.height = Math.max(stub.height, least);
          least = stub.height + STUB_GAP;
          line.top = Math.max(line.top, stub.height);
        }
      }
      line.rootTop = y + SIZES.ROOT_TOP;
      line.rootLabel = y + SIZES.ROOT_LABEL;
      line.ground = y + SIZES.ROOT_ROOM + line.top;
      y = line.ground + SIZES.WORD_ROOM + SIZES.ROW_ROOM * numRows;
    }
    return { lines, height: y };
  };

  // If many candidates come into a line from one side, the least probable ones share a stub.
  const thin = (arcs, places) => {
    const groups = new Map(), left = new Set();
    for (const arc of arcs) {
      const { head, dependent, role, isChosen } = arc, { line } = places.get(dependent);
      if (role !== "candidate" || isChosen || !head || places.get(head).line === line) continue;
      const side = `${line} ${head > dependent}`;
      groups.set(side, [...(groups.get(side) || []), arc]);
    }
    for (const group of groups.values()) {
      const rest = group.sort((a, b) => b.p - a.p).slice(MOST_CANDIDATES);
      if (rest.length < 2) continue;
      rest[0].more = rest.length;
      for (const arc of rest.slice(1)) left.add(arc);
    }
    return arcs.filter((arc) => !left.has(arc));
  };

  // If a word, or a line, has many dependents on other lines, most of them share one stub.  Their own
  // lines name the head, so nothing is lost.
  const bundle = (stubs) => {
    const byHead = new Map();
    for (const stub of stubs)
      if (!stub.isTip) byHead.set(stub.arc.head, [...(byHead.get(stub.arc.head) || []), stub]);
    const tails = [...byHead.values()].flatMap((same) => cap(same, MOST_STUBS));
    return [...stubs.filter((stub) => stub.isTip), ...cap(tails, MOST_TAILS)];
  };
  const cap = (stubs, most) => {
    const numChosen = stubs.filter(({ arc }) => arc.isChosen).length, kept = Math.max(most, numChosen);
    if (stubs.length <= kept + 1) return stubs;
    const sorted = [...stubs].sort((a, b) =>
      Number(b.arc.isChosen) - Number(a.arc.isChosen) || (b.arc.p ?? 1) - (a.arc.p ?? 1));
    const more = sorted.slice(kept).reduce((sum, stub) => sum + (stub.more ?? 1), 0);
    return [...sorted.slice(0, kept), { ...sorted[kept], more }];
  };

  // ---- arcs -----------------------------------------------------------------------------------
  // A stroke is { kind, points, isTip }: a straight "root" arc, a cubic "curve" between two words of
  // a line, or a "stub", which goes from the margin to a bend and down to a word.
  const rootStroke = ({ x, line }) =>
    ({ kind: "root", points: [[x, line.rootTop], [x, line.ground]], isTip: true });
  const curveStroke = (from, to, length) => {
    const { ground } = to.line, way = to.x > from.x ? 1 : -1;
    const begin = from.x + way * OUT, end = to.x - way * IN;
    const top = ground - (4 / 3) * rise(length); // a curve rises to 3/4 of its control points
    return { kind: "curve", points: [[begin, ground], [begin, top], [end, top], [end, ground]], isTip: true };
  };
  const stubStroke = (stub, line, edge, way) => {
    const foot = stub.x + way * (stub.isTip ? IN : OUT), top = line.ground - stub.height;
    const turn = foot + way * Math.min(26, Math.abs(edge - foot) / 2);
    return { kind: "stub", points: [[edge, top], [turn, top], [foot, top], [foot, line.ground]], isTip: stub.isTip };
  };

  const pointOf = ([p0, p1, p2, p3], t) => {
    const u = 1 - t, a = u * u * u, b = 3 * t * u * u, c = 3 * t * t * u, d = t * t * t;
    return [a * p0[0] + b * p1[0] + c * p2[0] + d * p3[0], a * p0[1] + b * p1[1] + c * p2[1] + d * p3[1]];
  };
  // Points along a stroke, close enough together to find the arc nearest to a click.
  const outline = ({ kind, points }) => {
    if (kind === "root") return points;
    if (kind === "curve") return Array.from({ length: 25 }, (_, k) => pointOf(points, k / 24));
    const [edge, turn, [foot, top], end] = points;
    return [edge, turn, [foot + 2 * Math.sign(edge[0] - foot), (top + end[1]) / 2], end];
  };

  // ---- all together ---------------------------------------------------------------------------
  // Lay out `words` of a sentence { tokens, slots, rtl } with `arcs`, each { head, dependent, p,
  // role }, where p may be null, and `numRows` rows below the words.  `widthOf` measures labels.
  // Returns { width, height, lines, words: [{ word, x, line }], gaps, arcs, labels }: arcs with their
  // `strokes`, and labels { arc, x, y, text, anchor }.
  const layOut = (sentence, { words, arcs, room, numRows, before }, widthOf) => {
    const { tokens, slots, rtl } = sentence;
    const placed = placeWords(words, slots, room, rtl), { places, width, side } = placed;
    const isDrawn = (arc) => {
      if (!places.has(arc.dependent) || (arc.head && !places.has(arc.head))) return false;
      if (!arc.head || places.get(arc.head).line === places.get(arc.dependent).line) return true;
      return arc.role !== "candidate" || arc.isChosen || arc.p >= LEAST_BETWEEN_LINES;
    };
    const drawn = thin(arcs.filter(isDrawn).map((arc) => ({ ...arc, strokes: [] })), places);
    const { lines, height } = placeLines(placed.lines, places, drawn, numRows, before);
    for (const place of [...places.values(), ...placed.gaps]) place.line = lines[place.line];

    const labels = [], taken = [];
    const write = (arc, x, y, text, anchor = "middle") => {
      const half = widthOf(text) / 2;
      taken.push([anchor === "middle" ? x : anchor === "start" ? x + half : x - half, y, half]);
      labels.push({ arc, x, y, text, anchor });
    };
    const isFree = (x, y, half) =>
      taken.every(([u, v, h]) => Math.abs(x - u) > half + h + 2 || Math.abs(y - v) > LABEL_SIZE);
    const isUnsure = ({ p }) => p !== null && p < MOST_LABELLED;
    const likeliestRoot = Math.max(...drawn.filter(({ head }) => !head).map(({ p }) => p ?? 1));

    const stubsOf = new Map();
    for (const line of lines)
      for (const stub of line.stubs.flat())
        stubsOf.set(stub.arc, [...(stubsOf.get(stub.arc) || []), [line, stub]]);
    for (const arc of drawn) {
      const from = places.get(arc.head), to = places.get(arc.dependent);
      if (!arc.head) {
        arc.strokes.push(rootStroke(to));
        const name = !isUnsure(arc) || arc.p === likeliestRoot ? "root" : "";
        const share = isUnsure(arc) ? briefPercent(arc.p) : "";
        write(arc, to.x, to.line.rootLabel, `${name} ${share}`.trim());
      } else if (from.line === to.line)
        arc.strokes.push(curveStroke(from, to, Math.abs(arc.head - arc.dependent)));
      else
        for (const [line, stub] of stubsOf.get(arc) || []) {
          const way = stub.isForward !== Boolean(rtl) ? 1 : -1;
          const edge = way > 0 ? width - side + 4 : side - 4;
          arc.strokes.push(stubStroke(stub, line, edge, way));
          // Isolated, so that a right-to-left name does not swallow the number.
          const name = `${stub.other}\u00a0\u2068${shorten(tokens[stub.other - 1], 8)}\u2069`;
          let text = isUnsure(arc) ? `${name} ${briefPercent(arc.p)}` : name;
          const more = stub.more ?? (stub.isTip ? arc.more : undefined);
          if (more) text = `and ${more} more`;
          write(arc, edge + way * 3, line.ground - stub.height, text, way > 0 ? "start" : "end");
        }
    }
    for (const arc of [...drawn].sort((a, b) => (b.p ?? 0) - (a.p ?? 0))) {
      if (arc.strokes[0]?.kind !== "curve" || !isUnsure(arc) || arc.p < SIZES.LEAST_LABELLED) continue;
      const text = briefPercent(arc.p), half = widthOf(text) / 2;
      for (const spot of SIZES.LABEL_SPOTS) {
        const [x, y] = pointOf(arc.strokes[0].points, spot);
        if (!isFree(x, y, half)) continue;
        write(arc, x, y, text);
        break;
      }
    }
    const placedWords = [...places].map(([word, place]) => ({ word, ...place }));
    return { width, height, lines, words: placedWords, gaps: placed.gaps, arcs: drawn, labels };
  };

  return { layOut, outline, NARROW, GAP };
})();
