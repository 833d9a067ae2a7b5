// Numbers and words as markup.py writes them.
const markup = (() => {
  const superscript = (number) => [...String(number)].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻").join("");
  const twoDigits = (x) => Number(x.toPrecision(2));

  const percent = (p) => {
    if (p === 0 || p === 1) return `${100 * p}\u00a0%`;
    if (p > 0.9995) return ">\u00a099.9\u00a0%";
    if (p >= 0.001) return `${(100 * p).toFixed(1)}\u00a0%`;
    return `1\u00a0in\u00a0${largeNumber(1 / p)}`;
  };

  const largeNumber = (x) => {
    const rounded = twoDigits(x);
    if (rounded < 1e6) return Math.round(rounded).toLocaleString("en");
    if (rounded < 1e9) return `${twoDigits(rounded / 1e6)}\u00a0million`;
    if (rounded === Infinity) return "10³⁰⁸\u00a0or\u00a0more";
    const exponent = Math.floor(Math.log10(rounded) + 1e-9);
    const mantissa = twoDigits(rounded / 10 ** exponent);
    const power = `10${superscript(exponent)}`;
    return mantissa === 1 ? power : `${mantissa}\u00a0×\u00a0${power}`;
  };

  const briefPercent = (p) => {
    if (p < 0.01) return "<\u202f1\u202f%";
    if (p > 0.99 && p < 1) return ">\u202f99\u202f%";
    return `${Math.round(100 * p)}\u202f%`;
  };

  const nats = (entropy) => `${entropy.toFixed(2)}\u00a0nats`;

  const printable = (text) =>
    text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]/gu, "\ufffd");

  const shorten = (word, most = SIZES.LONGEST_WORD) => {
    const characters = [...word];
    return characters.length <= most ? word : characters.slice(0, most - 1).join("") + "…";
  };

  // Words that occur more than once get their number.
  const distinctNames = (tokens) => {
    const counts = new Map();
    for (const token of tokens) counts.set(token, (counts.get(token) || 0) + 1);
    return tokens.map((token, i) =>
      counts.get(token) > 1 ? `${shorten(token)} (${i + 1})` : shorten(token),
    );
  };

  // The first items of a list, and how many more there are.
  const enumerate = (items, most, separator = ", ", last = " ") => {
    const rest = items.length - most;
    return items.slice(0, most).join(separator) + (rest > 0 ? `${last}and ${rest} more` : "");
  };

  return { percent, largeNumber, nats, briefPercent, printable, shorten, distinctNames, enumerate };
})();
