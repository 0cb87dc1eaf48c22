import fc from 'fast-check'

/** Any code point but a surrogate: as `unit: 'binary'` of fast-check, which makes a map of a million texts first. */
export const codePoint = fc.integer({ min: 0, max: 0x10_f7_ff }).map(
  (i) => String.fromCodePoint(i < 0xd800 ? i : i + 0x800),
  (text) => {
    const [code = -1, ...more] = Array.from(String(text), (each) => each.codePointAt(0) ?? -1)
    return more.length > 0 ? -1 : code - (code < 0xd800 ? 0 : 0x800)
  },
)
