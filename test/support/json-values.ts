import fc from 'fast-check'
import type { Json } from '../../core/commitment/canonical-json.ts'
import { codePoint } from './code-point.ts'

const isNegativeZero = (value: unknown): boolean => Object.is(value, -0)

/** Every JSON value that is accepted: safe integers, doubles, well-formed texts, no `__proto__`. */
const text = fc.string({ unit: codePoint }).filter((value) => value.isWellFormed())
const number = fc
  .double({ noNaN: true, noDefaultInfinity: true })
  .filter((value) => !isNegativeZero(value) && (!Number.isInteger(value) || Number.isSafeInteger(value)))
export const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<Json>(null, true, false),
    fc.maxSafeInteger(),
    number,
    text,
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(
      fc.oneof(text, fc.nat(1_000).map(String)).filter((name) => name !== '__proto__'),
      tie('json'),
      { maxKeys: 5 },
    ),
  ),
}))
