import type { RelativeDistinguishedNames } from 'pkijs'

/** Short names of attribute types (RFC 4519, X.520). */
const TYPES: ReadonlyMap<string, string> = new Map([
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
    .map(({ type, value }) => `${TYPES.get(type) ?? type}=${value.valueBlock.value}`)
    .join(' ')
    .replace(/[\p{C}\s]+/gu, ' ')
