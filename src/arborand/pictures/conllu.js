// A corpus as it was read, with the decisions written into it.  Everything else stays the same, byte
// for byte.
//
// In a sentence with decisions, a word with a new head gets HEAD and, as DEPREL, its label if one is
// known: "root" if and only if HEAD is 0, else "_".  A word that has the same head in the file keeps
// its relation, unless another one was decided.  If a head or a relation changes, the enhanced graph
// (DEPS and empty nodes) would contradict it, and is dropped as a whole.  Comments and multiword
// tokens are kept.
const conllu = (() => {
  const HEAD = 6, DEPREL = 7, DEPS = 8, MISC = 9, NUM_COLUMNS = 10;
  const WORD = /^[0-9]+$/, EMPTY_NODE = /^[0-9]+\.[0-9]+$/;

  const unpack = async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };

  // A line is its columns and its line ending; comments have no columns.
  const readLines = (block) =>
    (block.match(/[^\n]*\n|[^\n]+$/g) || []).map((line) => {
      const text = line.replace(/\r?\n$/, ""), end = line.slice(text.length);
      if (text.replace(/^\ufeff/, "").startsWith("#")) return { line };
      const columns = text.replace(/^[ \t]+|[ \t]+$/g, "").split("\t");
      while (columns.length < NUM_COLUMNS) columns.push("_");
      return { line, columns, end };
    });

  const relationTo = (head, label) => {
    const isRoot = label !== undefined && label.split(":")[0] === "root";
    if (head === 0) return isRoot ? label : "root";
    return label === undefined || isRoot ? "_" : label;
  };

  // HEAD and DEPREL of a line as they are written.
  const arcOf = ({ columns }, { head, label, likeliest }) => {
    const isNew = String(head) !== columns[HEAD], relation = label ?? (isNew ? likeliest : undefined);
    return [String(head), isNew || relation !== undefined ? relationTo(head, relation) : columns[DEPREL]];
  };

  const signed = (misc, by) => {
    const others = misc.split("|").filter((one) => one !== "_" && !one.startsWith("Head="));
    return [...others, `Head=${by}`].join("|");
  };

  // Write the words of a block: `words` maps a word to { head, label, likeliest, by }, where `label` was
  // decided, `likeliest` is the label of a new head if none was, and `by` says who decided, for MISC;
  // all but `head` may be undefined.
  const fill = (block, words) => {
    const lines = readLines(block);
    const wordOf = ({ columns }) =>
      columns && WORD.test(columns[0]) ? words.get(Number(columns[0])) : undefined;
    const isGraphKept = lines.every((line) => {
      const word = wordOf(line);
      return !word || arcOf(line, word).every((cell, i) => cell === line.columns[HEAD + i]);
    });
    return lines.map((line) => {
      const { columns } = line, word = wordOf(line);
      if (!columns) return line.line;
      if (!isGraphKept && EMPTY_NODE.test(columns[0])) return "";
      const written = [...columns];
      if (!isGraphKept && WORD.test(columns[0])) written[DEPS] = "_";
      if (word) {
        [written[HEAD], written[DEPREL]] = arcOf(line, word);
        if (word.by) written[MISC] = signed(columns[MISC], word.by);
      }
      const isSame = written.every((column, i) => column === columns[i]);
      return isSame ? line.line : written.join("\t") + line.end;
    }).join("");
  };

  // The heads of the words of a block; NaN for words without one.
  const headsOf = (block) => {
    const words = readLines(block).filter(({ columns }) => columns && WORD.test(columns[0]));
    return [-1, ...words.map(({ columns }) => (WORD.test(columns[HEAD]) ? Number(columns[HEAD]) : NaN))];
  };
  // Do heads contradict each other, by a cycle, a missing word or a second root?  Words without a
  // head do not.
  const isSound = (heads, isSingle) => {
    if (isSingle && heads.filter((head) => head === 0).length > 1) return false;
    return heads.every((head, word) => {
      let steps = 0, at = head;
      while (at > 0 && ++steps <= heads.length) at = heads[at];
      return !word || (steps <= heads.length && at !== undefined);
    });
  };

  // Put new blocks into the file: `blocks` are { start, stop, bytes } in any order.
  const replace = (file, blocks) => {
    const pieces = [];
    let from = 0;
    for (const { start, stop, bytes } of [...blocks].sort((a, b) => a.start - b.start)) {
      pieces.push(file.subarray(from, start), bytes);
      from = stop;
    }
    pieces.push(file.subarray(from));
    const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  };

  // Save a corpus: `file` has its bytes, and each of `made` is { choices, start, stop }, with the
  // place of a sentence's lines in it.  With `isComplete`, open words of sentences with decisions get
  // the heads of the best tree; else they keep their lines.  With `isSigned`, MISC says who decided.
  // Returns { bytes, changed, unsound }: which of `made` changed, and which have contradictory heads.
  const save = (file, made, { isComplete = false, isSigned = false } = {}) => {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true }), encoder = new TextEncoder();
    const blocks = [], changed = [], unsound = [];
    for (const one of made) {
      const { choices, start, stop } = one;
      if (!choices.count) continue;
      const before = decoder.decode(file.subarray(start, stop));
      const after = fill(before, wordsOf(choices, isComplete, isSigned));
      if (!isSound(headsOf(after), choices.sentence.single)) unsound.push(one);
      if (after === before) continue;
      changed.push(one);
      blocks.push({ start, stop, bytes: encoder.encode(after) });
    }
    return { bytes: replace(file, blocks), changed, unsound };
  };
  const wordsOf = (choices, isComplete, isSigned) => {
    const words = new Map();
    choices.now.heads.forEach((best, word) => {
      const fixed = choices.headOf(word), head = fixed ?? best;
      if (!word || (fixed === undefined && !isComplete)) return;
      const by = fixed === undefined ? "best" : "decided";
      const label = choices.labelOf(word), likeliest = choices.labelToWrite(head, word);
      words.set(word, { head, label, likeliest, by: isSigned ? by : undefined });
    });
    return words;
  };

  return { unpack, fill, headsOf, isSound, save };
})();
