import fc from 'fast-check'

const SURROGATES = 0x800

/** Any code point but a surrogate: as `unit: 'binary'` of fast-check, which makes a map of a million texts first. */
export const codePoint = fc.integer({ min: 0, max: 0x10_ff_ff - SURROGATES }).map(
  (i) => String.fromCodePoint(i < 0xd800 ? i : i + SURROGATES),
  (text) => {
    const code = typeof text === 'string' ? (text.codePointAt(0) ?? -1) : -1
    if (code < 0 || String.fromCodePoint(code) !== text) throw new TypeError('not a code point')
    return code < 0xd800 ? code : code - SURROGATES
  },
)
