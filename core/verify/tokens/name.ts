import type { BaseBlock } from 'asn1js'
import type { RelativeDistinguishedNames } from 'pkijs'
import { toHex } from '../../bytes.ts'
import type { SignatureBudget } from '../untrusted.ts'

/** Names in certificates (RFC 5280 § 4.1.2.4): for people, and compared. */

/** Short names of attribute types (RFC 4519, X.520). */
const NAME_TYPES: ReadonlyMap<string, string> = new Map([
  ['2.5.4.3', 'CN'],
  ['2.5.4.5', 'serialNumber'],
  ['2.5.4.6', 'C'],
  ['2.5.4.7', 'L'],
  ['2.5.4.8', 'ST'],
  ['2.5.4.10', 'O'],
  ['2.5.4.11', 'OU'],
  ['2.5.4.97', 'organizationIdentifier'],
  ['1.2.840.113549.1.9.1', 'emailAddress'],
])

/** A name for people, for example `C=DE O=Example CN=TSA 1`, on one line. The issuer of the certificate chose it. */
export const nameText = ({ typesAndValues }: RelativeDistinguishedNames): string =>
  typesAndValues
    .map(({ type, value }) => `${NAME_TYPES.get(type) ?? type}=${textOf(value.valueBlock)}`)
    .join(' ')
    .replace(/[\p{C}\s]+/gu, ' ')

/** A value that is not a text has no `value`, or one with other values in it. */
const textOf = ({ value }: { readonly value?: unknown }): string => (typeof value === 'string' ? value : '?')

type NameValue = BaseBlock & { readonly valueBlock: { readonly value?: unknown } }

/** Real names have less than half of it. */
const NAME_BYTES_PER_UNIT = 512

/**
 * Whether two names are equal: their types and values in their order, texts in any encoding without case from A to Z,
 * and with single spaces (RFC 5280 § 7.1). An attacker's can have any length, and be compared with many.
 */
export function isEqualName(
  one: RelativeDistinguishedNames,
  other: RelativeDistinguishedNames,
  budget: SignatureBudget,
): boolean {
  const length = one.valueBeforeDecode.byteLength + other.valueBeforeDecode.byteLength
  budget.spend(Math.floor(length / NAME_BYTES_PER_UNIT))
  return foldedName(one) === foldedName(other)
}

const foldedName = ({ typesAndValues }: RelativeDistinguishedNames): string =>
  JSON.stringify(typesAndValues.map(({ type, value }) => [type, ...foldedValue(value)]))

/** The universal types that are texts. Times are not. */
const TEXT_TAGS: ReadonlySet<number> = new Set([12, 18, 19, 20, 21, 22, 25, 26, 27, 28, 29, 30])

function foldedValue({ idBlock, valueBlock, valueBeforeDecodeView }: NameValue): readonly string[] {
  const { value } = valueBlock
  if (idBlock.tagClass !== 1 || !TEXT_TAGS.has(idBlock.tagNumber) || typeof value !== 'string')
    return ['bytes', toHex(valueBeforeDecodeView)]
  const words = value.split(' ').filter((word) => word !== '')
  return [words.join(' ').replace(/[A-Z]+/g, (letters) => letters.toLowerCase())]
}
