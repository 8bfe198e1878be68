// Links that share an input or settings: numbers in the fragment of the address, and nothing but numbers.
"use strict";

const Links = (() => {
  const NUMBER = /^-?\d{1,25}(\.\d{1,25})?(e-?\d{1,3})?$/;

  // Such as "#u=1_-0.5_2e-7", of characters that no program rewrites. Five digits are more than a stroke has.
  const written = (name, values) =>
    `#${name}=${Array.from(values, (v) => String(Number(v.toPrecision(5))).replace("+", "")).join("_")}`;

  // The name and the numbers of a fragment, null for the numbers if there is anything else; null without one of these names.
  function read(fragment) {
    const [, name, rest] = /^#(u|example|train)=(.*)$/s.exec(fragment) ?? [];
    if (name === undefined) return null;
    const words = rest.split("_"), values = words.every((word) => NUMBER.test(word)) ? words.map(Number) : [NaN];
    return { name, values: values.every(Number.isFinite) ? values : null };
  }

  return { written, read };
})();
