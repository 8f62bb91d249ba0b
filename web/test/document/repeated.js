// SPDX-License-Identifier: Apache-2.0

const shift = (by) => ([first, last, ...rest]) => [first + by, last + by, ...rest];

/** The document with its first file's text and functions repeated `count` times, one below the other. */
export function repeated(document, count) {
  const [file] = document.files;
  const { line_count: height, line_stages: stages } = file;
  const own = document.functions.filter((entry) => entry.file === 0);
  const copy = structuredClone(document);
  copy.files[0].text = file.text.repeat(count);
  copy.files[0].line_count = height * count;
  copy.files[0].line_stages = [];
  for (let round = 0; round < count; ++round) {
    copy.files[0].line_stages.push(...stages.map(shift(round * height)));
    if (round === 0) continue;
    for (const entry of own) {
      const moved = structuredClone(entry);
      const by = round * height;
      moved.id += `.${round}`;
      moved.qualified += `_${round}`;
      moved.name_line += by;
      for (const key of ["lines", "body_lines", "signature_lines"]) moved[key] = shift(by)(moved[key]);
      moved.segments = moved.segments.map((part) => ({ ...part, lines: shift(by)(part.lines), edges: [] }));
      copy.functions.push(moved);
    }
  }
  return copy;
}
