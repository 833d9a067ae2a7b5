// What a reader decides about one sentence: heads that are fixed or forbidden, with undo, and what
// follows for the trees.  Nothing here depends on the document: a view listens and draws.
//
// All that is stored, sent or read is plain data.  A state is { fixed, forbidden }, two lists of
// [head, dependent] in the order of the decisions; a fixed arc may have its label as a third entry.
// A decision is { kind, head, dependent, label }, where kind is "fix", "free" (a word that was
// fixed), "forbid" or "allow" (an arc that was forbidden); only "fix" may have a label.
const choices = (() => {
  // Make a sentence from the data that script_data.py writes.  Without scores, it is `known`: nothing can
  // be decided, and arcs of small probability are missing.
  const readSentence = (data) => {
    const n = data.tokens.length, size = n + 1, tokens = data.tokens.map(markup.printable);
    const names = ["the root", ...markup.distinctNames(tokens)];
    const words = Array.from({ length: n }, (_, k) => k + 1);
    const sentence = { ...data, tokens, n, size, words, names };
    if (!data.scores) {
      const marginals = new Float64Array(size * size);
      for (const [head, dependent, p] of data.arcs) marginals[head * size + dependent] = p;
      return { ...sentence, known: { marginals, heads: data.best, headEntropies: data.entropies } };
    }
    const Kind = data.bytes === 8 ? Float64Array : Float32Array;
    const scores = Float64Array.from(new Kind(bufferOf(data.scores)));
    const labels = data.labels ? readLabels(data.labels, size) : null;
    return { ...sentence, labels, graph: { n, single: data.single, projective: data.projective, scores } };
  };
  const bufferOf = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer;

  // The labels of each arc, at head * size + dependent: { listed: [{ label, p }], entropy }, the
  // likeliest first, p given the arc.  Labels below one percent are added up to a single number.
  const readLabels = ({ names, table }, size) => {
    const bytes = new DataView(bufferOf(table)), answer = new Array(size * size), isWide = names.length > 255;
    let at = 0;
    const readTwo = () => bytes.getUint16((at += 2) - 2, true);
    const readOne = () => (isWide ? readTwo() : bytes.getUint8(at++));
    const term = (p) => (p > 0 ? -p * Math.log(p) : 0);
    for (let head = 0; head < size; ++head)
      for (let dependent = 1; dependent < size; ++dependent) {
        const numbers = Array.from({ length: readOne() }, readOne);
        const listed = numbers.map((number) => ({ label: names[number], p: readTwo() / 65535 }));
        const rest = listed.reduce((left, { p }) => left - p, listed.length ? 1 : 0);
        const entropy = listed.reduce((sum, { p }) => sum + term(p), term(rest));
        answer[head * size + dependent] = { listed, entropy };
      }
    return answer;
  };

  const nameOf = (head, dependent) => `${head}-${dependent}`;
  const arcOf = (name) => name.split("-").map(Number);
  const decisionsOf = ({ fixed, forbidden }) => [
    ...fixed.map(([head, dependent, label]) => ({ kind: "fix", head, dependent, ...(label && { label }) })),
    ...forbidden.map(([head, dependent]) => ({ kind: "forbid", head, dependent })),
  ];

  const LABEL = /^[^\s\p{C}]{1,60}$/u; // what DEPREL can contain
  const isLabel = (label) => typeof label === "string" && LABEL.test(label);
  const MOST_REMEMBERED = 64; // answers: for the states that the next step may lead to, and a few more

  class Choices {
    #fixed = new Map(); // from dependent to { head, label }
    #forbidden = new Set(); // names of arcs
    #history = []; // these two, before each step
    #solved; // answers of trees.js, by state
    #listeners = [];

    constructor(sentence, solved = new Map()) {
      this.sentence = sentence;
      this.#solved = solved;
      this.whole = this.#solve(this.#fixed, this.#forbidden); // without any choice
      this.now = this.whole;
      this.before = null; // what `now` was before the last step
      this.decided = new Set(); // the words that the last step decided
    }

    // ---- decisions ----------------------------------------------------------------------------
    // Each of these is one step: it can be undone, and listeners are told { kind, decisions }.  If no
    // tree is left, nothing changes, the kind is "refused", and `leftOut` lists the words that
    // would have no head.  Returns whether the step was made.
    decide(decisions) {
      const next = this.#after(decisions, this.#fixed, this.#forbidden);
      return this.#step(...next, { kind: "decided", decisions });
    }
    // The same choices, to look ahead with: nobody listens to what is decided there.
    copy() {
      const made = new Choices(this.sentence, this.#solved);
      made.#move(this.#fixed, this.#forbidden);
      return made;
    }
    // Begin with the decisions of an earlier visit; there is nothing to undo yet.
    begin(state) {
      const next = this.#after(decisionsOf(state), [], []);
      if (this.#solve(...next).leftOut) return false;
      this.#move(...next);
      return true;
    }
    restore(state, kind = "restored") {
      const decisions = decisionsOf(state);
      return this.#step(...this.#after(decisions, [], []), { kind, decisions });
    }
    // Fix all open words as in the best tree.
    acceptBest() {
      const { heads } = this.now;
      const open = this.sentence.words.filter((dependent) => !this.#fixed.has(dependent));
      return this.decide(open.map((dependent) => ({ kind: "fix", head: heads[dependent], dependent })));
    }
    reset() {
      if (!this.count) return false;
      return this.#step(new Map(), new Set(), { kind: "reset", decisions: [] });
    }
    undo() {
      if (!this.#history.length) return false;
      this.#move(...this.#history.pop());
      this.#tell({ kind: "undone", decisions: [] });
      return true;
    }
    // A second press undoes the first one.
    toggleFixed(head, dependent) {
      const kind = this.headOf(dependent) === head ? "free" : "fix";
      return this.decide([{ kind, head, dependent }]);
    }
    toggleForbidden(head, dependent) {
      const kind = this.isForbidden(head, dependent) ? "allow" : "forbid";
      return this.decide([{ kind, head, dependent }]);
    }

    listen(listener) {
      this.#listeners.push(listener);
    }

    // ---- the state ----------------------------------------------------------------------------
    get state() {
      return {
        fixed: [...this.#fixed].map(([dependent, { head, label }]) =>
          label ? [head, dependent, label] : [head, dependent]),
        forbidden: [...this.#forbidden].map(arcOf),
      };
    }
    get count() {
      return this.#fixed.size + this.#forbidden.size;
    }
    get canUndo() {
      return this.#history.length > 0;
    }
    headOf(dependent) {
      return this.#fixed.get(dependent)?.head;
    }
    labelOf(dependent) {
      return this.#fixed.get(dependent)?.label;
    }
    isForbidden(head, dependent) {
      return this.#forbidden.size > 0 && this.#forbidden.has(nameOf(head, dependent));
    }
    isDecided(dependent) {
      return this.#fixed.has(dependent) || this.#forbiddenWithout(dependent).size < this.#forbidden.size;
    }

    // ---- what follows -------------------------------------------------------------------------
    probability(head, dependent, answer = this.now) {
      return answer.marginals[head * this.sentence.size + dependent];
    }
    // The probability of all choices together.
    get share() {
      return [...this.#fixed].reduce(
        (share, [j, { head, label }]) => (label ? share * this.labelProbability(head, j, label) : share),
        this.#shareOf(this.now));
    }
    // The entropy of the head of each word, in nats.
    get headEntropies() {
      return this.headEntropiesOf(this.now);
    }
    headEntropiesOf(answer) {
      return (answer.headEntropies ||= this.#headEntropies(answer));
    }
    // What these decisions would lead to: an answer of trees.js.
    suppose(decisions) {
      return this.#solve(...this.#after(decisions, this.#fixed, this.#forbidden));
    }
    // ---- labels ---------------------------------------------------------------------------------
    // The labels of an arc, the likeliest first: [{ label, p }], p given the arc.
    labelsOf(head, dependent) {
      return this.sentence.labels?.[head * this.sentence.size + dependent].listed ?? [];
    }
    // A label that is not listed has less than one percent; how much less is unknown.
    labelProbability(head, dependent, label) {
      if (!this.sentence.labels) return 1;
      return this.labelsOf(head, dependent).find((one) => one.label === label)?.p ?? 0.01;
    }
    // What DEPREL should be: the label that was decided, or else the best one by the scores.
    labelToWrite(head, dependent) {
      const decided = this.headOf(dependent) === head ? this.labelOf(dependent) : undefined;
      return decided ?? this.labelsOf(head, dependent).find(({ label }) => isLabel(label))?.label;
    }
    // The relation of each word to its head in the best tree, with its probability: text, or null
    // if labels have no scores.
    get relations() {
      if (!this.sentence.labels) return null;
      return this.sentence.words.map((j) => {
        const head = this.now.heads[j], label = this.labelToWrite(head, j);
        if (label === undefined || this.labelOf(j)) return label ?? "";
        const p = this.labelProbability(head, j, label);
        return p >= SIZES.MOST_LABELLED ? label : `${label} ${markup.briefPercent(p)}`;
      });
    }
    #labelEntropy(head, dependent) {
      return this.sentence.labels?.[head * this.sentence.size + dependent].entropy ?? 0;
    }

    // ---- what an answer is worth ------------------------------------------------------------------
    // The entropy, in nats, that the answer about each word removes on average: that of its head and,
    // if labels have scores, of its label.
    get values() {
      return this.valuesOf(this.now);
    }
    valuesOf(answer) {
      return [...this.headEntropiesOf(answer)].map((entropy, j) => entropy + this.#labelValue(j, answer));
    }
    // The entropy of trees with their labels.
    get entropy() {
      return this.entropyOf(this.now);
    }
    get entropyAtFirst() {
      const { labels } = this.sentence;
      if (!labels) return this.whole.entropy;
      return labels.reduce((sum, { entropy }, arc) => sum + this.whole.marginals[arc] * entropy, this.whole.entropy);
    }
    entropyOf(answer) {
      return this.sentence.words.reduce((sum, j) => sum + this.#labelValue(j, answer), answer.entropy);
    }
    #labelValue(j, answer) {
      if (!j || !this.sentence.labels || this.labelOf(j)) return 0;
      return this.#nodes().reduce((sum, head) => {
        const p = this.probability(head, j, answer);
        return p > 0 ? sum + p * this.#labelEntropy(head, j) : sum;
      }, 0);
    }

    // The heads of a word with their probabilities given all other choices, the likeliest first.
    headsOf(dependent) {
      let answer = this.now;
      if (this.isDecided(dependent)) {
        const others = new Map(this.#fixed);
        others.delete(dependent);
        answer = this.#solve(others, this.#forbiddenWithout(dependent));
      }
      return this.likeliestHeads(dependent, Infinity, answer).filter(({ head }) =>
        this.probability(head, dependent, this.whole) > 0 || this.isForbidden(head, dependent));
    }
    // The likeliest heads of a word given all choices.
    likeliestHeads(dependent, count, answer = this.now) {
      return this.#nodes()
        .map((head) => ({ head, p: this.probability(head, dependent, answer) }))
        .sort((a, b) => b.p - a.p).slice(0, count);
    }
    // The words whose head in the best tree differs from that before the last step.
    get reattached() {
      const { heads } = this.now;
      return this.sentence.words.filter((j) => heads[j] !== this.before.heads[j]);
    }
    // The other words whose heads the last step made likelier or less likely, by `least` or more in
    // total: those that moved most first, each with the head that moved most.
    moved(least) {
      const found = [];
      for (const dependent of this.sentence.words) {
        let total = 0, head = 0, most = 0;
        for (const other of this.#nodes()) {
          const by = Math.abs(this.probability(other, dependent) - this.probability(other, dependent, this.before));
          total += by / 2;
          if (by > most) [head, most] = [other, by];
        }
        if (total >= least && !this.decided.has(dependent)) found.push({ dependent, head, total });
      }
      return found.sort((a, b) => b.total - a.total);
    }
    // The probability, given all choices, of a tree of probability p; null if it is ruled out.
    // A label says nothing about the other words: only its arc counts.
    chanceOf({ p, heads }) {
      const isAllowed = (head, j) =>
        this.#fixed.has(j) ? this.headOf(j) === head : !this.isForbidden(head, j);
      if (!heads.every((head, j) => !j || isAllowed(head, j))) return null;
      return Math.min(p / this.#shareOf(this.now), 1);
    }
    // The figures of an answer, `now` or `whole`.  Those that compare with gold count words.
    facts(answer) {
      const { graph, gold, goldProbability } = this.sentence;
      const { entropy, bestProbability, logZ, heads } = answer;
      if (!gold) return { entropy, bestProbability, logZ };
      const isPossible = gold.every((head, j) => !j || this.probability(head, j, answer) > 0);
      const countRight = (tree) => this.sentence.words.filter((j) => tree[j] === gold[j]).length;
      return {
        entropy, bestProbability, logZ,
        goldProbability: isPossible ? Math.min(goldProbability / this.#shareOf(answer), 1) : 0,
        bestRight: countRight(heads),
        minimumRiskRight: countRight(trees.minimumRisk(graph, answer)),
      };
    }

    // ---- internals ----------------------------------------------------------------------------
    #nodes() {
      return [0, ...this.sentence.words];
    }
    #forbiddenWithout(dependent) {
      return new Set([...this.#forbidden].filter((name) => arcOf(name)[1] !== dependent));
    }
    #shareOf(answer) {
      return this.sentence.known ? 1 : trees.share(answer, this.whole);
    }
    #headEntropies(answer) {
      const { n, size } = this.sentence, entropies = new Float64Array(size);
      for (let head = 0; head <= n; ++head)
        for (let j = 1; j <= n; ++j) {
          const p = this.probability(head, j, answer);
          if (p > 0) entropies[j] -= p * Math.log(p);
        }
      return entropies.map((entropy) => Math.max(entropy, 0));
    }

    #after(decisions, oldFixed, oldForbidden) {
      const fixed = new Map(oldFixed), forbidden = new Set(oldForbidden);
      for (const decision of decisions) {
        const { kind, head, dependent, label } = decision, name = nameOf(head, dependent);
        if (!this.#isArc(head, dependent)) throw new RangeError(`no arc ${name} in this sentence`);
        if (label !== undefined && !isLabel(label))
          throw new TypeError(`a label cannot be ${JSON.stringify(label)}`);
        if (kind === "fix") {
          fixed.set(dependent, { head, label });
          forbidden.delete(name);
        } else if (kind === "free") fixed.delete(dependent);
        else if (kind === "forbid") {
          forbidden.add(name);
          if (fixed.get(dependent)?.head === head) fixed.delete(dependent);
        } else if (kind === "allow") forbidden.delete(name);
        else throw new TypeError(`a decision cannot be of the kind ${JSON.stringify(kind)}`);
      }
      return [fixed, forbidden];
    }
    #isArc(head, dependent) {
      const isIn = (node, least) => Number.isInteger(node) && node >= least && node <= this.sentence.n;
      return isIn(head, 0) && isIn(dependent, 1) && head !== dependent;
    }
    #step(fixed, forbidden, event) {
      const { leftOut } = this.#solve(fixed, forbidden);
      if (!leftOut) {
        this.#history.push([this.#fixed, this.#forbidden]);
        this.#move(fixed, forbidden);
      }
      this.#tell(leftOut ? { ...event, kind: "refused", leftOut } : event);
      return !leftOut;
    }
    #move(fixed, forbidden) {
      const heads = [...fixed.keys(), ...this.#fixed.keys()]
        .filter((j) => fixed.get(j)?.head !== this.#fixed.get(j)?.head ||
          fixed.get(j)?.label !== this.#fixed.get(j)?.label);
      const arcs = [...forbidden, ...this.#forbidden]
        .filter((name) => forbidden.has(name) !== this.#forbidden.has(name));
      this.decided = new Set([...heads, ...arcs.map((name) => arcOf(name)[1])]);
      this.before = this.now;
      this.now = this.#solve(fixed, forbidden);
      [this.#fixed, this.#forbidden] = [fixed, forbidden];
    }
    #tell(event) {
      for (const listener of this.#listeners) listener(event);
    }
    #solve(fixed, forbidden) {
      if (this.sentence.known) return this.sentence.known;
      const included = [...fixed].map(([dependent, { head }]) => [head, dependent]);
      const excluded = [...forbidden].map(arcOf), key = JSON.stringify([included, excluded]);
      if (!this.#solved.has(key)) {
        const answer = trees.solve(this.sentence.graph, included, excluded);
        // Among equally good trees, the one that the library calls best.
        if (!included.length && !excluded.length) answer.heads = this.sentence.best;
        if (this.#solved.size >= MOST_REMEMBERED) this.#solved.delete(this.#solved.keys().next().value);
        this.#solved.set(key, answer);
      }
      return this.#solved.get(key);
    }
  }

  return { readSentence, isLabel, Choices };
})();
